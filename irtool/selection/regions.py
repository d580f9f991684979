"""Loops that are parallel regions of their own, in programs that no team runs (see `teams`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..tir.kernel import Kernel
from ..tir.stmt import PARALLEL, Allocate, Buffer, For, Scope, pre_order

LOOP_WORK = 1 << 18
"""Multiply-adds of a kernel from which on each shared loop is a parallel region of its own: several microseconds, the time of a
region with threads awake."""


@dataclass(frozen=True)
class Regions:
    """The regions of one kernel. `has_team`: a team runs the program, whose kernels have no regions."""

    kernel: Kernel
    has_team: bool

    @property
    def are_there(self) -> bool:
        """True if parallel loops of the kernel may be regions. A kernel without multiply-adds may be any size."""
        return not self.has_team and not 0 < self.kernel.macs < LOOP_WORK

    @property
    def most_threads(self) -> int:
        """The threads that have a part of the workspace."""
        return self.kernel.placement.threads if self.kernel.placement else 1

    def is_region(self, s: For) -> bool:
        """True for a loop that may be a region; false if it fills private memory of threads and the workspace has a single
        part."""
        return s.kind == PARALLEL and self.are_there and (self.most_threads > 1 or not self.fills_own(s))

    def fills_own(self, s: For) -> bool:
        """True for a loop around buffers with a part for each thread."""
        return bool(self._own) and any(isinstance(x, Allocate) and x.buffer in self._own for x in pre_order(s.body))

    @cached_property
    def _own(self) -> set[Buffer]:
        nodes = pre_order(self.kernel.body)
        return {s.buffer for s in nodes if isinstance(s, Allocate) and s.buffer.scope == Scope.THREAD}
