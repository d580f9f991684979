"""Parameter files of the safetensors format, read and written by its own package."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..diagnostics import IrError, UsageError
from ..extras import install_line
from ..files import read_bytes
from ..ir.conversion import as_bfloat16_bits, dtype_name

if TYPE_CHECKING:
    import numpy as np

_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool", "BF16": "uint16",
}  # fmt: skip
"""numpy's dtype of each that the format has; bfloat16 as its bits."""
_LARGEST_HEADER = 100_000_000
"""Bytes, as the format's own reader reads them."""


def is_safetensors(head: bytes) -> bool:
    """True if a file that begins so may be of this format: the length of a header, and its first character."""
    return len(head) > 8 and head[8:9] == b"{" and 2 <= struct.unpack("<Q", head[:8])[0] <= _LARGEST_HEADER


def is_index(head: bytes, path: str | os.PathLike[str]) -> bool:
    """True if a file of that name, which begins so, may be an index of such files: `model.safetensors.index.json`."""
    return head[:1] == b"{" and os.fspath(path).endswith(".json")


def read_index(path: str | os.PathLike[str]) -> dict[str, set[str]]:
    """The files that an index names, beside it, each with the names of its tensors.

    Raises IrError for another file, and for names of files elsewhere; OSError if it cannot be read.
    """
    name = os.fspath(path)
    try:
        where = json.loads(read_bytes(path))["weight_map"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise IrError("this is no index of safetensors files: it has no weight_map", filename=name) from None
    if not isinstance(where, dict) or not where or not all(isinstance(f, str) for f in where.values()):
        raise IrError("weight_map is no map from names of tensors to names of files", filename=name)
    files: dict[str, set[str]] = {}
    for tensor, file in where.items():
        if file != os.path.basename(file) or not file:
            raise IrError(f"{tensor} is said to be in {file!r}; files of an index lie beside it", filename=name)
        files.setdefault(os.path.join(os.path.dirname(name), file), set()).add(tensor)
    return files


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The tensors by name, in the order of their data. Raises IrError for a damaged file and for types that Relay does not
    have, OSError where it cannot be read."""
    import numpy as np

    package = _package()
    name = os.fspath(path)
    try:
        tensors = package.deserialize(read_bytes(path))
    except package.SafetensorError as error:
        raise IrError(f"the file is damaged: {error}", filename=name) from None
    result = {}
    for key, tensor in tensors:
        dtype = _DTYPES.get(tensor["dtype"])
        if dtype is None:
            raise IrError(f"the tensor {key} is of {tensor['dtype']}, which Relay does not have", filename=name)
        stored = np.dtype(dtype).newbyteorder("<")
        array = np.frombuffer(tensor["data"], stored).astype(dtype, copy=False).reshape(tensor["shape"])
        result[key] = as_bfloat16_bits(array) if tensor["dtype"] == "BF16" else array
    return result


def write_safetensors(path: str, params: Mapping[str, np.ndarray]) -> None:
    """Writes tensors by name. Raises OSError, and IrError for tensors that the format lacks."""
    import numpy as np

    package = _package()
    tensors = {}
    for name, array in params.items():
        contiguous = np.ascontiguousarray(array).reshape(array.shape)
        tensors[name] = contiguous.view(_bfloat16()) if dtype_name(array) == "bfloat16" else contiguous
    try:
        package.numpy.save_file(tensors, path)
    except package.SafetensorError as error:
        raise IrError(f"safetensors refuses the parameters: {error}") from None


def _bfloat16() -> Any:
    try:
        from ml_dtypes import bfloat16
    except ImportError:
        raise UsageError(
            "the package ml_dtypes is missing: bfloat16 is written to safetensors with it",
            help=install_line("bfloat16"),
        ) from None
    return bfloat16


def _package() -> Any:
    try:
        import safetensors
        import safetensors.numpy
    except ImportError:
        raise UsageError(
            "the package safetensors is missing: files of its format are read and written with it",
            help=install_line("safetensors"),
        ) from None
    return safetensors
