"""The choice between tensors of a graph that get memory and tensors that are computed where they are read.

An element-by-element tensor is inlined into its readers unless that would compute it much more often than it has
elements, or make the readers' inner loops expensive (padding read by a convolution, a softmax's exponentials read by a
sum and a division). What is left are the stages: loop nests that run one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..symbolic_int import estimate
from ..te import Compute, Operation, Placeholder, Tensor
from ..te.tensor import UNPACKED, Extern
from ..tir import dtypes
from ..tir.expr import Binary, Call, Cast, Const, Expr, Load, Reduce, Select, post_order
from ..tir.vector_target import USUAL, VectorTarget
from .inlining import inlined_bodies


@dataclass(frozen=True)
class TensorStage:
    """One operation that is stored, with the operations inlined into it."""

    op: Operation
    bodies: tuple[Expr, ...]

    @property
    def reads(self) -> list[Tensor]:
        """Tensors it reads from memory, in order of first use."""
        if isinstance(self.op, Extern):
            return list(dict.fromkeys(self.op.inputs))
        return list(dict.fromkeys(e.source for e in post_order(*self.bodies) if isinstance(e, Load)))


def operations(outputs: Sequence[Tensor]) -> list[Operation]:
    """All operations behind the outputs, producers first."""
    seen: set[Operation] = set()
    order: list[Operation] = []
    stack: list[tuple[Operation, bool]] = [(t.op, False) for t in reversed(outputs)]
    while stack:
        op, ready = stack.pop()
        if ready:
            order.append(op)
            continue
        if op in seen:
            continue
        seen.add(op)
        stack.append((op, True))
        stack.extend((t.op, False) for t in reversed(op.inputs))
    return order


def _domain(op: Compute) -> int:
    n = 1
    for a in (*op.axes, *op.reduce_axes):
        n *= a.extent
    return n


def _cost(bodies: Sequence[Expr]) -> int:
    """Rough work per element: 0 for moving data, 1 for arithmetic, more for division, guards, functions, and reads of places
    that are data themselves."""
    total = 0
    for e in post_order(*bodies):
        if isinstance(e, Call):
            total += 3 if e.name in ("floor", "ceil", "trunc", "fabs", "sqrt") else 15
        elif isinstance(e, Binary):
            if not dtypes.is_float(e.a.dtype) and e.op in ("floordiv", "floormod", "truncdiv", "truncmod"):
                total += 2
            elif dtypes.is_float(e.a.dtype):
                total += 4 if e.op == "/" else 1
        elif isinstance(e, Select):
            total += 3 if e.lazy else 1
        elif isinstance(e, Cast):
            total += 1
        elif isinstance(e, Load) and any(isinstance(x, Load) for i in e.indices for x in post_order(i)):
            total += 3
    return total


@estimate
def choose_stages(outputs: Sequence[Tensor], target: VectorTarget = USUAL) -> list[TensorStage]:
    """The stored operations in order of execution, on this processor."""
    order = operations(outputs)
    results = {t.op for t in outputs}
    readers: dict[Operation, list[Compute]] = {op: [] for op in order}
    pinned: set[Operation] = set(results)
    for op in order:
        for t in op.inputs:
            if isinstance(op, Compute):
                readers[t.op].append(op)
            else:
                pinned.add(t.op)
    sites = {
        op: Counter(e.source.op for e in post_order(*op.bodies) if isinstance(e, Load))
        for op in order
        if isinstance(op, Compute)
    }
    """How many reads of each tensor's operation a formula has."""
    evaluations: dict[Operation, float] = {}
    stored: set[Operation] = set()
    for op in reversed(order):
        if not isinstance(op, Compute):
            stored.add(op)
            continue
        size = max(1, _domain(op))
        evaluation_count = 0.0
        for reader in readers[op]:
            evaluation_count += max(1, evaluations[reader]) * sites[reader][op]
        if op in pinned or not _inlines(op, readers[op], evaluation_count, size, target):
            stored.add(op)
            evaluations[op] = _domain(op)
        else:
            evaluations[op] = evaluation_count
    bodies = inlined_bodies(order, stored)
    return [TensorStage(op, bodies.get(op, ())) for op in order if op in stored and not isinstance(op, Placeholder)]


def _inlines(op: Compute, readers: Sequence[Compute], evaluation_count: float, size: int, target: VectorTarget) -> bool:
    if op.reduce_axes or len(op.bodies) > 1:
        return False
    if evaluation_count <= size or size == 1 or op.tag == UNPACKED:
        return True
    cost = _cost(op.bodies)
    if cost == 0:
        return True
    ratio = evaluation_count / size
    if _is_padding(op.bodies[0]):
        # A guard per element read costs less than another pass over memory, unless the element is read very often, or the guard
        # cannot become a bound of the loops that read it.
        return ratio <= target.guarded_reads and all(_skips_padding(reader, op) for reader in readers)
    if _rounds(op.bodies[0]) and not any(reader.reduce_axes for reader in readers):
        cost = _ROUNDING
    return cost <= 2 or cost * (ratio - 1) <= target.recomputed_cost


_ROUNDING = 6
"""Operations to round a number to 16 bits and widen it again, which an enlarged image would do for each of its points."""


def _rounds(body: Expr) -> bool:
    """True for a number of 32 bits or more that is rounded to 16 bits."""
    return isinstance(body, Cast) and dtypes.is_half(body.dtype) and not dtypes.is_half(body.value.dtype)


def _is_padding(body: Expr) -> bool:
    """True for an element or a constant, as a guard decides."""
    if not isinstance(body, Select) or not body.lazy:
        return False
    return isinstance(body.then, Load) and isinstance(body.other, Const)


def _skips_padding(reader: Compute, padding: Compute) -> bool:
    """False for a reduction whose steps compare padded elements, or choose by a condition: there, padding is no neutral value, and
    no step can be left out."""
    reductions = [body for body in reader.bodies if isinstance(body, Reduce)]
    choices = [e for r in reductions for e in post_order(*r.sources) if isinstance(e, Select)]
    return not any(isinstance(e, Load) and e.source.op is padding for e in post_order(*choices))
