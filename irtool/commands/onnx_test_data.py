"""Folders of test data as models of ONNX have them beside them: `input_0.pb`, `input_1.pb`, …, and `output_0.pb`, …

Each file is a TensorProto. Inputs go by the names in them, outputs by their numbers, as `out0`, `out1`, …
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

from ..diagnostics import IrError
from ..files import read_bytes
from .mistakes import UnreadableFile

INPUT, OUTPUT = "input", "output"
_FILE = re.compile(r"(input|output)_(\d+)\.pb")


def read_test_data(folder: str, role: str) -> dict[str, Any]:
    """The inputs or the outputs in a folder of test data, in the order of their numbers.

    Raises IrError if there are none, if one is no tensor, or if an input has no name; OSError for a folder that cannot be read.
    """
    matches = [match for name in os.listdir(folder) if (match := _FILE.fullmatch(name)) and match[1] == role]
    if not matches:
        raise IrError(
            f"the directory has no {role}_0.pb",
            filename=folder,
            help="folders of test data of ONNX models have tensors in such files",
        )
    result: dict[str, Any] = {}
    for match in sorted(matches, key=lambda m: int(m[2])):
        path = os.path.join(folder, match[0])
        name, array = _read(path)
        if role == OUTPUT:
            name = f"out{int(match[2])}"
        elif not name or name in result:
            why = "has no name" if not name else f"is called {name}, as one before it"
            raise IrError(f"the tensor {why}", filename=path, help="--input NAME=FILE.npy names one")
        result[name] = array
    return result


def _read(path: str) -> tuple[str, Any]:
    """The name and the elements of a TensorProto."""
    from ..frontends.onnx.package import onnx_package
    from ..frontends.onnx.tensors import read_tensor

    proto = onnx_package().TensorProto()
    from google.protobuf.message import DecodeError  # a package that onnx brings along

    try:
        proto.ParseFromString(read_bytes(path))
    except DecodeError as error:
        raise IrError(f"the file is no tensor of ONNX: {error}", filename=path, code=UnreadableFile) from None
    try:
        return proto.name, read_tensor(proto, "the tensor")
    except IrError as error:
        raise IrError(replace(d, filename=path) for d in error.diagnostics) from None
