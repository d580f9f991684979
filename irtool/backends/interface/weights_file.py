"""Where the constants of a program are kept, and the file that they may be kept in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from ...diagnostics import UsageError
from ...tir.program import Slot
from . import weights_digest
from .memory import ALIGNMENT

INLINE, SPLIT, FILE = "inline", "split", "file"
WAYS = (INLINE, SPLIT, FILE)

INLINE_LIMIT = 1 << 16
"""Bytes of constants up to which they stand in the source unless it is said otherwise."""

SOURCE_LIMIT = 64 << 20
"""Bytes of constants that C source is refused for: a compiler takes minutes and gigabytes for them."""

INTERNAL = ("are_own", "accept", "digest", "loaded")
"""What functions and data around a weights file are called behind `NAME_`."""

_MAGIC = b"irtool weights 1"


def choose(constants: Sequence[Slot], wanted: str) -> str:
    """The way to keep these constants. `auto` picks by size. Raises UsageError for source that no compiler would bear."""
    total = sum(c.nbytes for c in constants)
    if wanted == "auto":
        return INLINE if total <= INLINE_LIMIT else FILE
    if wanted not in WAYS:
        raise UsageError(f"weights={wanted!r} is not one of auto, {', '.join(WAYS)}")
    if wanted != FILE and total > SOURCE_LIMIT:
        raise UsageError(
            f"weights of {total} bytes are too many for C source (the limit is {SOURCE_LIMIT})",
            help="use --weights=file",
        )
    return wanted if constants else INLINE


def offsets(constants: Sequence[Slot]) -> dict[Slot, int]:
    """Where each constant begins in the weights file."""
    made: dict[Slot, int] = {}
    at = ALIGNMENT
    for c in constants:
        made[c] = at
        at += -(-c.nbytes // ALIGNMENT) * ALIGNMENT
    return made


def file_parts(constants: Sequence[Slot]) -> list[Any]:
    """The weights file as a list of buffers: 64 bytes that identify it, then each constant at a multiple of 64.

    The head is 32 bytes that follow from dtypes, shapes and contents of all constants, a magic number, and the digest of
    what is behind the head (see `weights_digest`), 8 bytes in the order of the machine.
    """
    parts: list[Any] = []
    for c in constants:
        parts += [memoryview(_bytes(c)), bytes(-c.nbytes % ALIGNMENT)]
    contents = weights_digest.digest(parts).to_bytes(8, "little")
    identity = hashlib.sha256(contents)
    for c in constants:
        identity.update(f"{c.dtype}{c.shape}".encode())
    return [identity.digest() + _MAGIC.ljust(ALIGNMENT - 40, b"\0") + contents, *parts]


def stored_digest(head: bytes) -> int:
    """The digest of the contents that the head of a weights file has."""
    return int.from_bytes(head[-8:], "little")


def _bytes(c: Slot) -> Any:
    import numpy as np

    return np.ascontiguousarray(c.data).reshape(-1).view("uint8")
