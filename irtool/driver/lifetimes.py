"""The buffers of a function's frame, with their lifetimes, and the bytes in use at one time as formulas of lengths."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..symbolic_int import SymbolicInt, at_typical, holds, is_known, nominal, upper
from ..tir.kernel import part_bytes
from ..tir.program import CONSTANT, TEMP, Fork, Loop, RunKernel, Slot, steps
from ..tir.stmt import Buffer, Scope

_MOST_FORMULAS = 4
"""The formulas of a maximum that are written out."""


@dataclass(frozen=True)
class LiveBuffer:
    """A buffer in the frame: `size` bytes, a formula of lengths, from step `first` to step `last`; `shape` has formulas too."""

    name: str
    dtype: str
    shape: Sequence[int]
    offset: int
    size: int
    first: int
    last: int

    @property
    def nbytes(self) -> int:
        """The bytes at the upper bounds of lengths, and at usual lengths without bounds."""
        return nominal(self.size)


@dataclass(frozen=True)
class Peak:
    """The step of a function with the most bytes in use.

    Attributes:
        step: its number.
        nbytes: the bytes in use then, at the upper bounds of lengths.
        formulas: the bytes in use in those steps that have the most for some lengths, the step of the peak first.
        largest: the largest buffer then.
    """

    step: int
    nbytes: int
    formulas: tuple[int, ...]
    largest: LiveBuffer

    @property
    def text(self) -> str:
        """The most bytes in use, as a formula."""
        texts = [_without_parentheses(f) for f in self.formulas]
        shown = [*texts[:_MOST_FORMULAS], *(["…"] if len(texts) > _MOST_FORMULAS else [])]
        return texts[0] if len(texts) == 1 else f"max({', '.join(shown)})"


def _without_parentheses(formula: int) -> str:
    """The text of a formula; a sum as a whole has parentheses, which a line of its own does not need."""
    is_sum = isinstance(formula, SymbolicInt) and len(formula.terms) > 1
    return str(formula)[1:-1] if is_sum else str(formula)


def live_buffers(body: Any) -> list[LiveBuffer]:
    """Each temporary with its place in the frame, and the steps between which it is alive: values, then scratch memory of
    kernels, by `kernel.buffer`. What a loop carries is alive in all its steps; its next value may be made in its place."""
    lifetimes: dict[Slot, list[int]] = {}
    scratch: list[LiveBuffer] = []
    for step_index, s in enumerate(steps(body)):
        if isinstance(s, Loop):
            end = step_index + len(steps([s])) - 1
            for c in s.state:
                lifetimes.setdefault(c, [step_index, step_index])[1] = end
        if isinstance(s, RunKernel):
            scratch += _scratch(s, step_index)
        for slot in s.reads if isinstance(s, Fork) else (*s.reads, *s.writes):
            slot = slot.resolve()
            if slot.kind == TEMP:
                span = lifetimes.setdefault(slot, [step_index, step_index])
                span[1] = max(span[1], step_index)
    assert all(s.kind != CONSTANT for s in lifetimes)
    values = [
        LiveBuffer(s.name, s.dtype, s.shape, s.offset or 0, s.nbytes, first, last)
        for s, (first, last) in lifetimes.items()
    ]
    return values + scratch


def _scratch(s: RunKernel, step: int) -> Iterator[LiveBuffer]:
    """The buffers in the workspace of a call; one for all threads, if each has a part."""
    assert s.kernel.placement is not None
    for b, offset in s.kernel.placement.offsets.items():
        yield LiveBuffer(f"{s.kernel.name}.{b.name}", b.dtype, b.shape, s.workspace + offset, _size(s, b), step, step)


def _size(s: RunKernel, b: Buffer) -> int:
    assert s.kernel.placement is not None
    return part_bytes(b) * s.kernel.placement.threads if b.scope == Scope.THREAD else b.nbytes


def peak_of(buffers: Sequence[LiveBuffer]) -> Peak | None:
    """The step with the most bytes in use; None without buffers of any size."""
    count = 1 + max((b.last for b in buffers), default=-1)
    alive = [[b for b in buffers if b.first <= s <= b.last and b.nbytes] for s in range(count)]
    used = {s: _in_use(of) for s, of in enumerate(alive) if of}
    if not used:
        return None
    order = sorted(used, key=lambda s: (-nominal(used[s]), s))
    formulas: list[int] = []
    for s in order:
        if not any(holds(operator.ge, f, used[s]) for f in formulas):
            formulas.append(used[s])
    largest = max(alive[order[0]], key=lambda b: b.nbytes)
    return Peak(order[0], nominal(used[order[0]]), tuple(formulas), largest)


def _in_use(alive: Sequence[LiveBuffer]) -> int:
    """The bytes of the buffers, those in one place, one after the other, counted once."""
    total = end = size = 0
    for b in sorted(alive, key=lambda b: at_typical(b.offset)):
        begin = at_typical(b.offset)
        if begin < end:
            larger = upper(size, b.size)
            total, size = total - size + larger, larger
        else:
            total, size = total + b.size, b.size
        end = max(end, begin + b.nbytes)
    return total


def has_lengths(buffers: Sequence[LiveBuffer]) -> bool:
    """True if some size is a formula of lengths."""
    return not all(is_known(b.size) for b in buffers)
