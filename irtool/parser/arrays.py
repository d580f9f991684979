"""numpy's files: `.npy` with one array, `.npz` with several by name.

The data is checked against the header before memory is asked for, so that a damaged file is refused with what is wrong
with it, whatever its header claims. Arrays come out in C order and in the machine's own byte order. bfloat16, which
numpy has no name for and writes as two opaque bytes, comes out as its bits (uint16).
"""

from __future__ import annotations

import errno
import math
import os
import zipfile
from typing import IO, TYPE_CHECKING, Any

from ..diagnostics import IrError
from ..files import open_file
from ..ir.conversion import as_bfloat16_bits

if TYPE_CHECKING:
    import numpy as np

_MAGIC = b"\x93NUMPY"
_ZIP = b"PK"
_CHUNK = 1 << 24
"""Bytes that are read at a time."""


def read_npy(path: str | os.PathLike[str]) -> np.ndarray:
    """The array of a `.npy` file. Raises IrError, naming the file, for any other; OSError where it cannot be read."""
    name = os.fspath(path)
    with open_file(path) as file:
        head = file.read(len(_MAGIC))
        if head.startswith(_ZIP):
            raise IrError("this is an .npz file with arrays by name, not the .npy file of one array", filename=name)
        if head and not _MAGIC.startswith(head) and head != _MAGIC:
            raise IrError("this is not an .npy file", filename=name)
        file.seek(0)
        try:
            return _read_array(file, os.fstat(file.fileno()).st_size)
        except ValueError as error:
            raise IrError(f"the .npy file cannot be used: {error}", filename=name) from None


def read_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file by name, in its order.

    Raises IrError, naming the file, if it is damaged or holds anything but arrays of numbers; OSError where it cannot
    be read.
    """
    import zlib

    result: dict[str, np.ndarray] = {}
    member = ""
    try:
        with open_file(path) as whole, zipfile.ZipFile(whole) as archive:
            for entry in archive.infolist():
                member = entry.filename
                if not member.endswith(".npy"):
                    raise ValueError("it is no array (its name does not end in .npy)")
                if member[:-4] in result:
                    raise ValueError("it is there twice")
                with archive.open(entry) as file:
                    result[member[:-4]] = _read_array(file, entry.file_size)
    except (ValueError, zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
        raise _unusable(path, member, error) from None
    except OSError as error:
        if error.errno != errno.EINVAL:  # which is what looking for a place before the beginning of the file gives
            raise
        raise _unusable(path, member, "it says that parts of it lie outside") from None
    return result


def _unusable(path: str | os.PathLike[str], member: str, why: object) -> IrError:
    where = f", in {member}" if member else ""
    return IrError(f"the .npz file cannot be used{where}: {why}", filename=os.fspath(path))


def _read_array(file: IO[bytes], size: int) -> np.ndarray:
    """The array in a stream of `size` bytes. Raises ValueError, with a sentence, for another content."""
    import numpy as np

    if size == 0:
        raise ValueError("it is empty")
    shape, in_columns, dtype = _read_header(file)
    _check_dtype(dtype)
    if any(d < 0 for d in shape):
        raise ValueError(f"its shape is {shape}")
    nbytes, left = math.prod(shape) * dtype.itemsize, size - file.tell()
    what = f"{dtype.newbyteorder('=')}{list(shape)} takes {nbytes} bytes"
    if left < nbytes:
        raise ValueError(f"it is cut off: {what}, and {left} are there")
    if left > nbytes:
        raise ValueError(f"{what}, and {left - nbytes} more follow")
    data = np.empty(nbytes, np.uint8)
    offset = 0
    while offset < nbytes:
        part = file.read(min(_CHUNK, nbytes - offset))
        if not part:
            raise ValueError(f"it is cut off: {what}, and {offset} are there")
        data[offset : offset + len(part)] = np.frombuffer(part, np.uint8)
        offset += len(part)
    array = data.view("uint16" if dtype.kind == "V" else dtype).reshape(shape, order="F" if in_columns else "C")
    array = array.astype(array.dtype.newbyteorder("="), order="C", copy=False)
    return as_bfloat16_bits(array) if dtype.kind == "V" else array


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, dtype. Raises ValueError if there is no such header."""
    from numpy.lib import format as npy

    try:
        version = npy.read_magic(file)
        if version == (1, 0):
            return npy.read_array_header_1_0(file)
        if version == (2, 0):
            return npy.read_array_header_2_0(file)
    except Exception as error:  # noqa: BLE001  # numpy reads the header as Python: any exception is about the header
        first = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(f"its header is damaged ({first})") from None
    if version == (3, 0):
        raise ValueError("it holds records with names in Unicode, not numbers")
    raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")


def _check_dtype(dtype: np.dtype[Any]) -> None:
    """Raises ValueError for elements that Relay does not have."""
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not read; save an array of numbers")
    if dtype.names is not None or dtype.subdtype is not None:
        raise ValueError(f"it holds records of type {dtype}, not numbers")
    is_number = dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize <= 8)
    if not is_number and not (dtype.kind == "V" and dtype.itemsize == 2):
        raise ValueError(f"it holds values of type {dtype}, which Relay does not have")
