"""Where a model comes from: a file, bytes, or a proto that is there already."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from ...diagnostics import IrError
from ...files import open_file
from .mistakes import DamagedModel
from .package import onnx_package

External = Callable[[Any], Any] | None


def load_model(model: str | os.PathLike[str] | bytes | Any) -> tuple[Any, str, External]:
    """The ModelProto, the name that messages call it by, and what reads tensors whose data is in other files.

    Text in the syntax of `onnx.parser` is a model, too. Raises IrError for what is neither, OSError for an unreadable path.
    """
    onnx = onnx_package()
    if isinstance(model, onnx.ModelProto):
        return model, "<model>", None
    if isinstance(model, bytes):
        return parse_model(model, "<bytes>"), "<bytes>", None
    path = os.fspath(model)
    with open_file(path) as file:
        data = file.read()
    from .external import reader_beside

    return parse_model(data, path), path, reader_beside(path)


def is_text(data: bytes) -> bool:
    """True for a model in the syntax of `onnx.parser`."""
    return re.match(rb"(\s|#[^\n]*\n)*<\s*(ir_version|opset_import)\s*:", data[:65536]) is not None


def parse_model(data: bytes, name: str) -> Any:
    """The ModelProto of a file's bytes. Raises IrError where they are none."""
    onnx = onnx_package()
    from google.protobuf.message import DecodeError

    if is_text(data):
        try:
            return onnx.parser.parse_model(data.decode("utf-8"))
        except (onnx.parser.ParseError, UnicodeDecodeError) as error:
            raise IrError(
                f"the text is no ONNX model: {_first_line(error)}", filename=name, code=DamagedModel
            ) from None
    if not data:
        raise IrError("the file is empty", filename=name, code=DamagedModel)
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise IrError(f"the file is no ONNX model: {_first_line(error)}", filename=name, code=DamagedModel) from None
    return proto


def _first_line(error: Exception) -> str:
    return " ".join(str(error).strip().splitlines()[:1]) or type(error).__name__
