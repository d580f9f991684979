"""Data affinity: the share of a tensor that each of two threads wrote, by the position at which the second share begins.

    blocks of channels, rows, columns:  [6][56][56][16] floats
    threads share the rows              the second one's begin at row 28 of each block: 100352 bytes
    threads share the channels          the second one's begin at block 3: 602112 bytes
    threads share rows of 56 x 56       in a kernel that has one loop over both: 1568 of these, 100352 bytes again

Two kernels whose parts begin at the same place give each thread what it wrote itself. Otherwise a thread reads what another one
wrote, and between processors that have no cache in common this is paid for twice: some two nanoseconds a cache line when it is read,
and ten times as much when that line is written the next time by anybody but its last reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from ...tir.expr import Var
from ...tir.program import RunKernel, Slot
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..cost.machine import HANDED_BYTE, SHARED_CONSTANT_BYTE

ALONE = 0
"""Where one thread wrote all."""


class Owners:
    """Where the parts of the second of two threads begin, in bytes, in the tensors of a program; `ALONE`: it has none."""

    def __init__(self) -> None:
        self._begin: dict[Slot, int] = {}

    def of_inputs(self, runs: Sequence[RunKernel]) -> dict[Buffer, tuple[int, ...]]:
        """What is known of the tensors that a kernel reads, for the steps that run it."""
        if not runs:
            return {}
        known = [
            [self._begin[s] for r in runs if (s := r.inputs[n].resolve()) in self._begin]
            for n in range(len(runs[0].inputs))
        ]
        return {b: tuple(threads) for b, threads in zip(runs[0].kernel.inputs, known, strict=True) if threads}

    def note(self, runs: Sequence[RunKernel], written: Mapping[Buffer, int]) -> None:
        """Says where the parts begin in what a kernel writes; what is not in `written` is made by one thread."""
        for r in runs:
            for b, slot in zip(r.kernel.outputs, r.outputs, strict=True):
                self._begin[slot.resolve()] = written.get(b, ALONE)


def shares_inside(read: Mapping[Buffer, Set[Var]], outer: Set[Var], inner: Set[Var], target: VectorTarget) -> bool:
    """True if threads should share inner loops rather than those around these. They then all read what only depends on the outer ones,
    such as weights of channels, and each does so once more for the rows that fill no tile; otherwise they all read what only depends on
    the inner ones, such as an image, part of which other threads wrote.

    Args:
        read: the variables that the places in what is read depend on.
    """
    again = sum(b.nbytes for b, variables in read.items() if variables & outer and not variables & inner)
    handed = sum(b.nbytes for b, variables in read.items() if variables & inner and not variables & outer)
    return again <= target.l2_cache_bytes // 2 and again * 3 * SHARED_CONSTANT_BYTE < handed * HANDED_BYTE


def is_same(a: int, b: int) -> bool:
    """True if the parts of the second thread begin at about the same place, up to a row or a tile of some."""
    return abs(a - b) * 8 <= max(a, b)
