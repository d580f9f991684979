"""Data affinity: the share of a tensor that each of two threads wrote, by the position at which the second share begins.

    blocks of channels, rows, columns:  [6][56][56][16] floats
    threads share the rows              the second one's begin at row 28 of each block: 100352 bytes
    threads share the channels          the second one's begin at block 3: 602112 bytes
    threads share rows of 56 x 56       in a kernel that has one loop over both: 1568 of these, 100352 bytes again

If the shares of two kernels begin at the same position, each thread reads what it wrote itself. Otherwise it reads data of
another thread. Between processors without a common cache this costs twice: some two nanoseconds for each cache line read, and ten
times as much when a thread other than the last reader writes that line again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from ...symbolic_int import bound
from ...tir.expr import Var
from ...tir.program import RunKernel, Slot
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..cost.machine import HANDED_BYTE, SHARED_CONSTANT_BYTE

ALONE = 0
"""The position for a tensor that one thread wrote."""


class Owners:
    """The positions, in bytes, at which the share of the second of two threads begins in the tensors of a program; `ALONE`: one
    thread wrote it."""

    def __init__(self) -> None:
        self._begin: dict[Slot, int] = {}

    def of_inputs(self, runs: Sequence[RunKernel]) -> dict[Buffer, tuple[int, ...]]:
        """The known positions for the tensors that a kernel reads, over the calls that run it."""
        if not runs:
            return {}
        known = [
            [self._begin[s] for r in runs if (s := r.inputs[n].resolve()) in self._begin]
            for n in range(len(runs[0].inputs))
        ]
        return {b: tuple(threads) for b, threads in zip(runs[0].kernel.inputs, known, strict=True) if threads}

    def note(self, runs: Sequence[RunKernel], written: Mapping[Buffer, int]) -> None:
        """Records the positions for the tensors that a kernel writes; tensors that are not in `written` come from one thread."""
        for r in runs:
            for b, slot in zip(r.kernel.outputs, r.outputs, strict=True):
                self._begin[slot.resolve()] = written.get(b, ALONE)


def shares_inside(read: Mapping[Buffer, Set[Var]], outer: Set[Var], inner: Set[Var], target: VectorTarget) -> bool:
    """True if threads should share inner loops rather than the loops around them.

    Threads that share inner loops all read the tensors that depend on the outer loops only, such as weights of channels, and each
    reads them once more for the rows that fill no tile. Threads that share outer loops all read the tensors that depend on the
    inner loops only, such as an image, part of which other threads wrote.

    Args:
        read: for each tensor that is read, the variables in its indices.
    """
    again = sum(bound(b.nbytes) for b, variables in read.items() if variables & outer and not variables & inner)
    handed = sum(bound(b.nbytes) for b, variables in read.items() if variables & inner and not variables & outer)
    return again <= target.l2_cache_bytes // 2 and again * 3 * SHARED_CONSTANT_BYTE < handed * HANDED_BYTE


def is_same(a: int, b: int) -> bool:
    """True if the share of the second thread begins at about the same position, up to a row or a tile."""
    return abs(a - b) * 8 <= max(a, b)
