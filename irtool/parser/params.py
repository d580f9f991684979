"""Parameter files: TVM's `.params`, numpy's `.npz`, `.safetensors`, and `.gguf`.

A `.params` file is, little-endian: magic `0xF7E58D4F05049CB7` and 8 reserved bytes; the number of names (uint64), then each name
behind its length (uint64); the number of tensors (uint64), then each in the form of `irtool.ir.ndarray`.
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..diagnostics import IrError
from ..files import Draft, open_file, read_bytes
from ..ir.conversion import dtype_name, marked
from ..ir.ndarray import decode, encode
from .arrays import read_npz
from .gguf import MAGIC as GGUF
from .gguf import read_gguf
from .safetensors import is_index, is_safetensors, read_index, read_safetensors, write_safetensors

if TYPE_CHECKING:
    import numpy as np

_MAGIC = 0xF7E58D4F05049CB7
_LONGEST_NAME = 1 << 20


class ParameterFile(dict[str, Any]):
    """Tensors by name, arrays or tensors in blocks (`ir.block_tensor`); `origins` says of each which file it was read from."""

    def __init__(self, path: str | os.PathLike[str] = "", arrays: Mapping[str, Any] | None = None) -> None:
        super().__init__(arrays or {})
        self.origins = dict.fromkeys(self, os.fspath(path))

    @classmethod
    def merged(cls, files: Iterable[ParameterFile]) -> ParameterFile:
        """The tensors of all the files. Raises IrError, naming both files, for a name that two of them have."""
        result = cls()
        for file in files:
            result.join(file)
        return result

    def join(self, other: ParameterFile) -> None:
        """Adds the tensors of another file. Raises IrError, naming both files, if one has a name that is there already."""
        twice = [n for n in other if n in self]
        if twice:
            more = f", and {len(twice) - 1} more" if len(twice) > 1 else ""
            name = twice[0]
            raise IrError(f"%{name}{more} is given twice: by {self.origins[name]} and by {other.origins[name]}")
        self.update(other)
        self.origins.update(other.origins)

    def renamed(self, names: Mapping[str, str]) -> ParameterFile:
        """The same tensors, those that `names` has under the names that it gives them. Raises IrError for two of one name."""
        return ParameterFile.merged(ParameterFile(self.origins[n], {names.get(n, n): a}) for n, a in self.items())


def origin(params: Mapping[str, object], name: str) -> tuple[str, ...]:
    """Notes for a diagnostic about one of these values: the file that it was read from, if any."""
    path = params.origins.get(name) if isinstance(params, ParameterFile) else None
    return (f"the value of %{name} is from {path}",) if path is not None else ()


def read_params(path: str | os.PathLike[str]) -> ParameterFile:
    """The tensors of a parameter file by name, in the order of the file; bfloat16 tensors as their bits (uint16).

    The format is told by the contents. Raises IrError, naming the file, if it is neither, is damaged, or holds what is no
    tensor; OSError where it cannot be read.
    """
    with open_file(path) as file:
        head = file.read(9)
    if head[:2] == b"PK":
        return ParameterFile(path, read_npz(path))
    if head[:4] == GGUF:
        return ParameterFile(path, read_gguf(path))
    if head[:8] == struct.pack("<Q", _MAGIC):
        try:
            return ParameterFile(path, decode_params(read_bytes(path)))
        except ValueError as error:
            raise IrError(str(error), filename=os.fspath(path)) from None
    if is_safetensors(head):
        return ParameterFile(path, read_safetensors(path))
    if is_index(head, path):
        return ParameterFile.merged(_shards(path))
    if not head:
        raise IrError("the file is empty", filename=os.fspath(path))
    if head[:6] == b"\x93NUMPY":
        raise IrError(
            "this is the .npy file of one array; arrays by name come from .npz and .params files",
            filename=os.fspath(path),
        )
    raise IrError("this is no .params, .npz or .safetensors file", filename=os.fspath(path))


def _shards(path: str | os.PathLike[str]) -> Iterator[ParameterFile]:
    """The files of an index, each with the tensors that the index says to be in it. Raises IrError if they are others."""
    for shard, names in read_index(path).items():
        try:
            tensors = read_safetensors(shard)
        except OSError as error:
            raise IrError(
                f"cannot read {shard}, which the index names: {error.strerror or error}", filename=os.fspath(path)
            ) from None
        for differing, verb in ((names - tensors.keys(), "lacks"), (tensors.keys() - names, "has, unlike the index,")):
            if differing:
                more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
                raise IrError(f"{shard} {verb} {min(differing)}{more}", filename=os.fspath(path))
        yield ParameterFile(shard, tensors)


def holds_names(path: str | os.PathLike[str]) -> bool:
    """True if the file begins as one with tensors by name does. Raises OSError if it cannot be read."""
    with open_file(path) as file:
        head = file.read(9)
    return (
        head[:2] == b"PK"
        or head[:8] == struct.pack("<Q", _MAGIC)
        or head[:4] == GGUF
        or is_safetensors(head)
        or is_index(head, path)
    )


def write_params(path: str | os.PathLike[str], params: Mapping[str, np.ndarray], follow: bool = True) -> None:
    """Writes tensors by name: as `.npz` or `.safetensors` if the path ends so, else in TVM's form. The file appears only when
    it is whole. `follow`: whether a link there is followed, or replaced."""
    with Draft(path, follow) as draft:
        write_draft(draft, params, Path(path).suffix)


def write_draft(draft: Draft, params: Mapping[str, np.ndarray], ending: str) -> None:
    """Writes tensors by name to a file that is still to be published, in the form of files that end so."""
    if ending == ".npz":
        write_npz(draft.out, params)
    elif ending == ".safetensors":
        write_safetensors(draft.unfinished, params)
    else:
        draft.out.writelines(_encoded(params))


def decode_params(data: bytes) -> dict[str, np.ndarray]:
    """The tensors in the bytes of a `.params` file. Raises ValueError if they are damaged."""
    if len(data) < 24 or struct.unpack_from("<Q", data)[0] != _MAGIC:
        raise ValueError("the parameters do not start with the magic number")
    (count,) = struct.unpack_from("<Q", data, 16)
    if count > len(data):
        raise ValueError(f"the parameters cannot hold {count} names")
    offset = 24
    names: list[str] = []
    for _ in range(count):
        if offset + 8 > len(data):
            raise ValueError("the parameters are cut off among the names")
        (length,) = struct.unpack_from("<Q", data, offset)
        offset += 8
        if length > _LONGEST_NAME or offset + length > len(data):
            raise ValueError("the parameters are cut off among the names")
        names.append(data[offset : offset + length].decode("utf-8", "surrogateescape"))
        offset += length
    if offset + 8 > len(data):
        raise ValueError("the parameters are cut off before the tensors")
    (tensors,) = struct.unpack_from("<Q", data, offset)
    offset += 8
    if tensors != count:
        raise ValueError(f"the parameters have {count} names and {tensors} tensors")
    params: dict[str, np.ndarray] = {}
    for name in names:
        try:
            array, dtype, offset = decode(data, offset)
        except ValueError as error:
            raise ValueError(f"parameter {name}: {error}") from None
        if name in params:
            raise ValueError(f"parameter {name} is there twice")
        array = array if array.flags.aligned else array.copy()
        params[name] = marked(array, dtype)
    if offset != len(data):
        raise ValueError(f"the parameters are followed by {len(data) - offset} other bytes")
    return params


def encode_params(params: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a `.params` file, tensors in the order given. Raises IrError for a dtype that it cannot hold."""
    return b"".join(_encoded(params))


def _encoded(params: Mapping[str, np.ndarray]) -> Iterator[bytes]:
    """The same in parts: a part is a tensor at most."""
    import numpy as np

    names = list(params)
    yield struct.pack("<QQQ", _MAGIC, 0, len(names))
    for name in names:
        raw = name.encode("utf-8", "surrogateescape")
        yield struct.pack("<Q", len(raw))
        yield raw
    yield struct.pack("<Q", len(names))
    for name in names:
        try:
            array = np.asarray(params[name])
            yield encode(array, dtype_name(array))
        except ValueError as error:
            raise IrError(f"parameter {name}: {error}") from None


def write_npz(out: BinaryIO, params: Mapping[str, np.ndarray]) -> None:
    """An `.npz` whose bytes depend on the tensors alone: numpy itself would put the time of day into it."""
    import numpy as np

    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in params.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(entry, "w", force_zip64=True) as member:
                plain = np.asarray(array)
                plain = (
                    plain.view(plain.dtype.str) if plain.dtype.metadata else plain
                )  # numpy warns that it is not written
                np.lib.format.write_array(member, plain, allow_pickle=False)
