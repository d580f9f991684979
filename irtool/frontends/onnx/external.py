"""Tensors whose data is in another file, beside the model and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from .mistakes import DamagedModel
from .tensors import dtype_of, read_tensor


def reader_beside(path: str) -> Callable[[Any], np.ndarray]:
    """What reads the external data of the tensors of the model at `path`."""
    folder = os.path.dirname(os.path.abspath(path))
    return lambda proto: read_external(proto, folder, path)


def read_external(proto: Any, folder: str, filename: str) -> np.ndarray:
    """The elements of a tensor that are in a file of `folder`.

    Raises IrError for a location that is absolute or leads out of the folder, by `..` or by a link, and for a file that is
    missing or too short.
    """
    entries = {e.key: e.value for e in proto.external_data}
    location = entries.get("location", "")
    what = f"the initializer {proto.name}"
    path = _inside(folder, location, what, filename)
    try:
        offset, length = int(entries.get("offset", 0) or 0), int(entries.get("length", 0) or 0)
    except ValueError:
        raise IrError(
            f"{what} has an offset or a length that is no number", filename=filename, code=DamagedModel
        ) from None
    dtype = dtype_of(proto.data_type, what)
    count = 1
    for d in proto.dims:
        count *= d
    size = count * np.dtype("uint16" if dtype == "bfloat16" else dtype).itemsize
    if offset < 0 or length < 0 or (length and length != size):
        raise IrError(f"{what} needs {size} bytes, not {length} at {offset}", filename=filename, code=DamagedModel)
    try:
        if os.path.getsize(path) < offset + size:
            raise IrError(
                f"{what} needs {size} bytes at {offset} of {location}, which ends before",
                filename=filename,
                code=DamagedModel,
            )
        with open(path, "rb") as file:
            file.seek(offset)
            data = file.read(size)
    except OSError as error:
        raise IrError(
            f"cannot read {location}, which has {what}: {error.strerror}", filename=filename, code=DamagedModel
        ) from None
    held = type(proto)(name=proto.name, data_type=proto.data_type, dims=proto.dims, raw_data=data)
    return read_tensor(held, what)


def _inside(folder: str, location: str, what: str, filename: str) -> str:
    """The path of a file of the folder. Raises IrError for any other."""
    real = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(real, location))
    if not location or os.path.isabs(location) or os.path.commonpath([real, path]) != real or path == real:
        raise IrError(
            f"{what} is said to be in {location or 'a file without name'}: only files in the model's folder are read",
            filename=filename,
            code=DamagedModel,
        )
    return path
