"""Temporaries stored before they are widened, on processors with little memory.

    t[c, h, w] = q(int32(uint8(…)))                                 t int32
    acc += t[c, h, w]                                               one read of each element

⇒   t'[c, h, w] = uint8(…)                                          t' uint8
    acc += q(int32(t'[c, h, w]))

The operators behind a value of few bits stay with its producer when operators are fused, and so their result would be stored. A reader computes
them as often as it reads: once at most for each element, or, without vectors, any number of times if they are conversions, which loads do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ...symbolic_int import estimate
from ...tir import dtypes
from ...tir.expr import Binary, Cast, Const, Expr, Load, post_order
from ...tir.forms import AnyForm, Map, Reduction, buffers_read, rewrite_form, rewrite_loads
from ...tir.kernel import Kernel
from ...tir.program import TEMP, Program, RunKernel, Slot
from ...tir.sharing import copied_input
from ...tir.stmt import Buffer, Store
from ...tir.vector_target import VectorTarget
from ..core.program_rewriter import ProgramRewriter
from ..core.scalar_constants import scalar_constants
from .fixed_slots import fixed_slots
from .widen_first import widen_first

Widening = Callable[[Expr], Expr]


@dataclass(frozen=True)
class _Narrow:
    """The type of the narrow value, and the operators behind it."""

    dtype: str
    widen: Widening
    converts_only: bool


def store_narrow(program: Program, target: VectorTarget) -> None:
    """Stores temporaries of one producer in the narrowest type that the last operators of the producer begin with."""
    if not target.has_little_memory:
        return
    with ProgramRewriter(program) as rewriter:
        every = [s for calls in rewriter.calls.values() for s in calls]
        fixed = fixed_slots(program)
        writers_of, readers_of = _by_slot(every, lambda s: s.outputs), _by_slot(every, lambda s: s.inputs)
        for slot, writers in writers_of.items():
            if slot.kind != TEMP or slot in fixed:
                continue
            readers = readers_of.get(slot, [])
            narrow = _narrow_value(writers, slot)
            if narrow is None or not readers or not all(_can_read(s, slot) for s in readers):
                continue
            if not _reads_pay(readers, slot, narrow, target):
                continue
            for s in writers:
                rewriter.replace([s], _storing(s, slot, narrow))
            for s in readers:
                rewriter.replace([s], _reading(s, slot, narrow))
            slot.dtype = narrow.dtype


def _resolved(slots: Sequence[Slot]) -> list[Slot]:
    return [s.resolve() for s in slots]


def _by_slot(calls: Sequence[RunKernel], slots: Callable[[RunKernel], Sequence[Slot]]) -> dict[Slot, list[RunKernel]]:
    """For each slot among those of some calls the calls that have it, each once."""
    result: dict[Slot, list[RunKernel]] = {}
    for s in calls:
        for slot in dict.fromkeys(_resolved(slots(s))):
            result.setdefault(slot, []).append(s)
    return result


def _params(s: RunKernel, slots: Sequence[Slot], params: Sequence[Buffer], slot: Slot) -> list[Buffer]:
    return [b for b, x in zip(params, slots, strict=True) if x.resolve() is slot]


def _narrow_value(writers: Sequence[RunKernel], slot: Slot) -> _Narrow | None:
    """The narrow value of the only producer of a temporary; None for other temporaries."""
    if len(writers) != 1 or not _is_open(writers[0].kernel):
        return None
    (s,) = writers
    buffers = _params(s, s.outputs, s.kernel.outputs, slot)
    if len(buffers) != 1 or buffers[0] in buffers_read(*s.kernel.stages):
        return None
    stores = [x for f in s.kernel.stages for x in _stores(f) if x.buffer is buffers[0]]
    return _narrowest(stores[0].value, scalar_constants(s))[1] if len(stores) == 1 else None


def _is_open(k: Kernel) -> bool:
    return not k.finished and all(isinstance(f, Map | Reduction) for f in k.stages)


def _stores(f: AnyForm) -> tuple[Store, ...]:
    assert isinstance(f, Map | Reduction)
    return f.stores


def _narrowest(value: Expr, numbers: Mapping[Buffer, Const]) -> tuple[Expr, _Narrow | None]:
    """The value with the fewest bytes on the way from an expression down to operators of several operands, and the operators behind it; `numbers`
    are the values of reads."""
    steps: list[Widening] = []
    converts, smallest = True, dtypes.itemsize(value.dtype)
    e = value
    best: tuple[Expr, _Narrow | None] = value, None
    while (inner := _operand(e, numbers)) is not None:
        below, step = inner
        converts = converts and isinstance(e, Cast)
        steps.append(step)
        e = below
        if e.dtype != "bool" and dtypes.itemsize(e.dtype) < smallest:
            smallest = dtypes.itemsize(e.dtype)
            best = e, _Narrow(e.dtype, _composed(tuple(steps)), converts)
    return best


def _operand(e: Expr, numbers: Mapping[Buffer, Const]) -> tuple[Expr, Widening] | None:
    """The only operand of an operator that is no number, and the operator as a function of it."""
    if isinstance(e, Cast):
        return e.value, lambda x: Cast(x, e.dtype)
    if isinstance(e, Binary) and dtypes.is_int(e.dtype):
        a, b = _number(e.a, numbers), _number(e.b, numbers)
        if b is not None:
            return e.a, lambda x: Binary(e.op, x, b, e.dtype)
        if a is not None:
            return e.b, lambda x: Binary(e.op, a, x, e.dtype)
    return None


def _number(e: Expr, numbers: Mapping[Buffer, Const]) -> Const | None:
    if isinstance(e, Load):
        return numbers.get(e.source)  # type: ignore[call-overload, no-any-return]  # a buffer or a producer
    return e if isinstance(e, Const) else None


def _composed(steps: tuple[Widening, ...]) -> Widening:
    """The operators one after the other, the innermost first."""

    def widen(x: Expr) -> Expr:
        for step in reversed(steps):
            x = step(x)
        return x

    return widen


def _can_read(s: RunKernel, slot: Slot) -> bool:
    """True for a call whose kernel can compute the operators as it reads."""
    return _is_open(s.kernel) and slot not in _resolved(s.outputs)


@estimate
def _reads_pay(readers: Sequence[RunKernel], slot: Slot, narrow: _Narrow, target: VectorTarget) -> bool:
    """True if each element is read once at most, or if a conversion comes with the load. Vectors convert and subtract a zero point from four
    elements, for several results of a tile."""
    if narrow.converts_only or target.vector_bytes:
        return True
    reads = 0
    for s in readers:
        buffers = _params(s, s.inputs, s.kernel.inputs, slot)
        for f in s.kernel.stages:
            assert isinstance(f, Map | Reduction)
            steps = prod(n for _, n in f.loops)
            reads += steps * _loads([x.value for x in f.stores], buffers)
            if isinstance(f, Reduction):
                reads += steps * (_loads([f.init], buffers) + prod(n for _, n in f.inner) * _loads([f.update], buffers))
    return bool(reads <= prod(slot.shape))


def _loads(expressions: Sequence[Expr], buffers: Sequence[Buffer]) -> int:
    """The number of different reads of some buffers."""
    return sum(isinstance(e, Load) and e.source in buffers for e in post_order(*expressions))


def _storing(s: RunKernel, slot: Slot, narrow: _Narrow) -> Kernel:
    """The kernel of a producer, which stores the narrow value."""
    k = s.kernel
    (b,) = _params(s, s.outputs, k.outputs, slot)
    own = b.replace(dtype=narrow.dtype)

    def stored(x: Store) -> Store:
        return Store(own, x.indices, _narrowest(x.value, scalar_constants(s))[0]) if x.buffer is b else x

    stages = [replace(f, stores=tuple(map(stored, _stores(f)))) for f in k.stages if isinstance(f, Map | Reduction)]
    return _with(k, stages, {b: own})


def _reading(s: RunKernel, slot: Slot, narrow: _Narrow) -> Kernel:
    """The kernel of a reader, which computes the operators behind the narrow value."""
    k = s.kernel
    own = {b: b.replace(dtype=narrow.dtype) for b in _params(s, s.inputs, k.inputs, slot)}

    def read(e: Load) -> Expr:
        return narrow.widen(Load(own[e.source], e.indices)) if e.source in own else e  # type: ignore[index]  # a buffer

    stages = [rewrite_form(rewrite_loads(f, read), widen_first) for f in k.stages if isinstance(f, Map | Reduction)]
    return _with(k, stages, own)


def _with(k: Kernel, stages: Sequence[AnyForm], own: dict[Buffer, Buffer]) -> Kernel:
    """The kernel with these stages over other parameters."""
    changed = k.with_stages(stages, params=[own.get(b, b) for b in k.params])
    return changed.replace(copies=copied_input(changed))
