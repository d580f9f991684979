"""Parameter files: the peer's `.params`, and numpy's `.npz`.

A `.params` file is, little-endian: magic `0xF7E58D4F05049CB7` and 8 reserved bytes; the number of names (uint64), then each name
behind its length (uint64); the number of tensors (uint64), then each in the form of `irtool.ir.ndarray`.
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..diagnostics import IrError
from ..ir.ndarray import decode, encode
from .arrays import read_npz

if TYPE_CHECKING:
    import numpy as np

_MAGIC = 0xF7E58D4F05049CB7
_LONGEST_NAME = 1 << 20


class ParameterFile(dict[str, "np.ndarray"]):
    """Tensors by name, and the path of the file that they were read from."""

    def __init__(self, path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__(arrays)
        self.path = os.fspath(path)


def origin(params: Mapping[str, object]) -> tuple[str, ...]:
    """What a diagnostic about one of these values adds, as notes: the file that they were read from, if they were."""
    return (f"the values are from {params.path}",) if isinstance(params, ParameterFile) else ()


def read_params(path: str | os.PathLike[str]) -> ParameterFile:
    """The tensors of a parameter file by name, in the order of the file; bfloat16 tensors as their bits (uint16).

    The format is told by the contents. Raises IrError, naming the file, where it is neither, is damaged, or holds what is no
    tensor; OSError where it cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(8)
    if head[:2] == b"PK":
        return ParameterFile(path, read_npz(path))
    if len(head) == 8 and struct.unpack("<Q", head)[0] == _MAGIC:
        try:
            return ParameterFile(path, decode_params(Path(path).read_bytes()))
        except ValueError as error:
            raise IrError(str(error), filename=os.fspath(path)) from None
    if not head:
        raise IrError("the file is empty", filename=os.fspath(path))
    if head[:6] == b"\x93NUMPY":
        raise IrError(
            "this is the .npy file of one array; arrays by name come from .npz and .params files",
            filename=os.fspath(path),
        )
    raise IrError("this is neither a .params nor an .npz file", filename=os.fspath(path))


def write_params(path: str | os.PathLike[str], params: Mapping[str, np.ndarray]) -> None:
    """Writes tensors by name: as `.npz` if the path ends so, else in the peer's form. The file appears only when it is whole."""
    target = Path(path)
    partial = target.with_name(target.name + ".part")
    try:
        if target.suffix == ".npz":
            _write_npz(partial, params)
        else:
            partial.write_bytes(encode_params(params))
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def decode_params(data: bytes) -> dict[str, np.ndarray]:
    """The tensors in the bytes of a `.params` file. Raises ValueError where they are damaged."""
    if len(data) < 24 or struct.unpack_from("<Q", data)[0] != _MAGIC:
        raise ValueError("the parameters do not start with the magic number")
    (count,) = struct.unpack_from("<Q", data, 16)
    if count > len(data):
        raise ValueError(f"the parameters cannot hold {count} names")
    at = 24
    names: list[str] = []
    for _ in range(count):
        if at + 8 > len(data):
            raise ValueError("the parameters are cut off among the names")
        (length,) = struct.unpack_from("<Q", data, at)
        at += 8
        if length > _LONGEST_NAME or at + length > len(data):
            raise ValueError("the parameters are cut off among the names")
        names.append(data[at : at + length].decode("utf-8", "surrogateescape"))
        at += length
    if at + 8 > len(data):
        raise ValueError("the parameters are cut off before the tensors")
    (tensors,) = struct.unpack_from("<Q", data, at)
    at += 8
    if tensors != count:
        raise ValueError(f"the parameters have {count} names and {tensors} tensors")
    params: dict[str, np.ndarray] = {}
    for name in names:
        try:
            array, _, at = decode(data, at)
        except ValueError as error:
            raise ValueError(f"parameter {name}: {error}") from None
        if name in params:
            raise ValueError(f"parameter {name} is there twice")
        params[name] = array if array.flags.aligned else array.copy()
    if at != len(data):
        raise ValueError(f"the parameters are followed by {len(data) - at} other bytes")
    return params


def encode_params(params: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a `.params` file, tensors in the order given. Raises IrError for a dtype that it cannot hold."""
    import numpy as np

    names = list(params)
    parts = [struct.pack("<QQQ", _MAGIC, 0, len(names))]
    for name in names:
        raw = name.encode("utf-8", "surrogateescape")
        parts += [struct.pack("<Q", len(raw)), raw]
    parts.append(struct.pack("<Q", len(names)))
    for name in names:
        try:
            parts.append(encode(np.asarray(params[name])))
        except ValueError as error:
            raise IrError(f"parameter {name}: {error}") from None
    return b"".join(parts)


def _write_npz(path: Path, params: Mapping[str, np.ndarray]) -> None:
    """An `.npz` whose bytes depend on the tensors alone: numpy itself would put the time of day into it."""
    import numpy as np

    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in params.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(entry, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
