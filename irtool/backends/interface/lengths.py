"""Lengths that the caller passes: their names in C."""

from __future__ import annotations

from collections.abc import Iterable

from ..libm import LIBM
from .names import Identifiers

_OF_RUNS = (
    "base",
    "end",
    "size",
    "arena",
    "pools",
    "room",
    "before",
    "code",
    "team",
    "own",
    "alone",
    "threads",
    "worker",
    "ws",
)
_OF_LIBC = (
    "memcpy", "memset", "memcmp", "malloc", "free", "printf", "fprintf", "isnan", "isinf", "fmin", "fmax", "fma", "rint", "lrint",
    "ldexp", "frexp", "argc", "argv", "inputs", "outputs", "next", "weights", "usage", "transfer", "i", "wrong", "state", "drawn", "seed",
    "entry", "arena_end", "below", "uniform", "differs", "run", "steps",
)  # fmt: skip
_WORDS = frozenset((*_OF_RUNS, *_OF_LIBC, *LIBM.values()))


def length_names(texts: Iterable[str]) -> dict[str, str]:
    """An identifier for each name of a length, which differ from each other and from words of C and variables of generated functions.

    Kernels and host functions take the lengths as parameters, so an identifier must not hide what their code uses.
    """
    names = Identifiers(*_WORDS, *(f"{w}f" for w in _WORDS))
    return {text: names.fresh(text) for text in dict.fromkeys(texts)}
