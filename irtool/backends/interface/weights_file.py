"""The storage of a program's constants, in the code or in a weights file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ...diagnostics import IrError, UsageError
from ...steps import counted
from ...tir.program import Slot
from . import weights_digest
from .memory import ALIGNMENT

INLINE, SPLIT, FILE = "inline", "split", "file"
WAYS = (INLINE, SPLIT, FILE)

INLINE_LIMIT = 1 << 16
"""The most bytes of constants that are in the source by default."""

SOURCE_LIMIT = 64 << 20
"""The bytes of constants from which on C source is refused: a compiler takes minutes and gigabytes for them."""

INTERNAL = (
    *("are_own", "accept", "keep", "digest", "loaded"),
    *("expanded", "room", "combine", "expand", "factors", "expansions", "reserve", "release", "expand_once"),
)
"""The names, behind `NAME_`, of functions and data around a weights file."""

_MAGIC = b"irtool weights 1"


def choose(constants: Sequence[Slot], way: str) -> str:
    """The way to store these constants. `auto` picks by size. Raises UsageError for more source than compilers bear."""
    total = sum(c.nbytes for c in constants)
    if way == "auto":
        return INLINE if total <= INLINE_LIMIT else FILE
    if way not in WAYS:
        raise UsageError(f"weights={way!r} is not one of auto, {', '.join(WAYS)}")
    if way != FILE and total > SOURCE_LIMIT:
        raise UsageError(
            f"weights of {total} bytes are too many for C source (the limit is {SOURCE_LIMIT})",
            help="use --weights=file",
        )
    return way if constants else INLINE


def offsets(constants: Sequence[Slot], begin: int = ALIGNMENT) -> dict[Slot, int]:
    """The offset of each constant in the weights file; `begin`: that of the first one."""
    offsets: dict[Slot, int] = {}
    offset = begin
    for c in constants:
        offsets[c] = offset
        offset += padded_bytes([c])
    return offsets


def padded_bytes(constants: Sequence[Slot]) -> int:
    """The bytes of constants of which each begins at a multiple of 64."""
    return sum(c.nbytes + -c.nbytes % ALIGNMENT for c in constants)


class WeightsFile:
    """The weights file of some constants: 64 bytes that identify it, then each constant at a multiple of 64.

    The head is 32 bytes that follow from dtypes, shapes and contents of all constants, a magic number, and the digest of the
    contents behind the head (see `weights_digest`), 8 bytes in the order of the machine.

    Attributes:
        head: those 64 bytes.
        size: the size of the file, in bytes.
        content: its buffers, or its path if it is written already.
    """

    def __init__(self, constants: Sequence[Slot], path: Path | None = None) -> None:
        """With a path, writes the file there, block by block: a derived constant (`Slot.derivation`) is in memory only meanwhile.

        Raises IrError if the file cannot be written.
        """
        self.size = ALIGNMENT + padded_bytes(constants)
        self.content: list[Any] | Path
        if path is None:
            parts = [b for c in constants for b in _buffers(c)]
            self.head = _head(constants, parts)
            self.content = [self.head, *parts]
            return
        try:
            with open(path, "wb") as out:
                out.write(bytes(ALIGNMENT))
                self.head = _head(
                    constants, (_written(b, out) for c in counted("weights", constants) for b in _buffers(c))
                )
                out.seek(0)
                out.write(self.head)
        except OSError as error:
            raise IrError(f"cannot write {path}: {error.strerror or error}") from None
        self.content = path


def _buffers(c: Slot) -> Iterator[Any]:
    """The bytes of a constant, and zeros up to the next one."""
    for block in c.data_blocks():
        yield memoryview(block.reshape(-1).view("uint8"))
    yield bytes(-c.nbytes % ALIGNMENT)


def _written(buffer: Any, out: BinaryIO) -> Any:
    out.write(buffer)
    return buffer


def _head(constants: Sequence[Slot], parts: Iterable[Any]) -> bytes:
    """The bytes that identify the constants in these buffers."""
    digest = weights_digest.Digest()
    for part in parts:
        digest.add(part)
    contents = digest.value().to_bytes(8, "little")
    identity = hashlib.sha256(contents)
    for c in constants:
        identity.update(f"{c.dtype}{c.shape}".encode())
    return identity.digest() + _MAGIC.ljust(ALIGNMENT - 40, b"\0") + contents


def stored_digest(head: bytes) -> int:
    """The digest of the contents in the head of a weights file."""
    return int.from_bytes(head[-8:], "little")
