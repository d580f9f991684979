"""16-bit floats that products read, stored as rounded float32, so that each is widened once.

    x[c, h, w] = bfloat16(…)                                        x bfloat16
    acc += float32(x[c, h, w]) * float32(weights[o, c])             for each of 64 results o

⇒   x'[c, h, w] = float32(bfloat16(…))                              x' float32
    acc += x'[c, h, w] * float32(weights[o, c])

Reading a vector of 16-bit floats takes one or two instructions more than one of float32, and broadcasting a single one takes
three or four. Operands of products that will be packed into words (see `tensorize`) stay as they are, as they are never widened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod

from ...symbolic_int import estimate
from ...tir import dtypes
from ...tir.bf16_dot import DTYPE
from ...tir.elements import numbers
from ...tir.expr import Binary, Cast, Const, Expr, Load, Select, cast, const, post_order
from ...tir.forms import LoopForm, Reduction, Steps, TupleReduction, rewrite_form
from ...tir.kernel import Kernel
from ...tir.native_halves import HALF
from ...tir.program import CONSTANT, Program, RunKernel, Slot
from ...tir.sharing import copied_input
from ...tir.stmt import Buffer, Store
from ...tir.vector_target import VectorTarget
from ..core.program_rewriter import ProgramRewriter
from ..cost.machine import FEWEST_RESULTS
from ..instructions.tensorize import find_product
from .fixed_slots import fixed_slots

_WIDE = "float32"
_EXACT = ("max", "min", "maximum", "minimum")
"""Operations that return one of their operands, and need no rounding."""


def widen_float16(program: Program, target: VectorTarget) -> None:
    """Widens temporaries of 16-bit floats that some kernel reads often and none packs into words; and weights, if widening takes
    long."""
    with ProgramRewriter(program) as rewriter:
        for k, widened_buffers in _buffers_to_widen(rewriter, target).items():
            if widened_buffers:
                rewriter.replace(rewriter.calls[k], _widened(k, widened_buffers))


def _buffers_to_widen(rewriter: ProgramRewriter, target: VectorTarget) -> dict[Kernel, set[Buffer]]:
    """The buffers of each kernel that become float32. The slots of all parameters that share them become float32, too."""
    runs = rewriter.calls
    fixed = fixed_slots(rewriter.program)
    to_widen: dict[Kernel, set[Buffer]] = {}
    for k in runs:
        often = set() if _is_fixed(k) else _read_often(k, target)
        to_widen[k] = {b for b in k.temporaries if b in often}
        to_widen[k].update(often & {*k.params})
    for group in _groups(runs):
        buffers = [(k, k.params[n]) for k, n in group]
        slots = {_slots(s)[n].resolve() for k, n in group for s in runs[k]}
        weights = all(slot.kind == CONSTANT for slot in slots)
        stays = weights and not any(_takes_long(b.dtype, target) for _, b in buffers)
        if any(_is_fixed(k) or b in _words_of(k, target) for k, b in buffers) or stays or slots & fixed:
            for k, b in buffers:
                to_widen[k].discard(b)
        elif any(b in to_widen[k] for k, b in buffers):
            for k, b in buffers:
                to_widen[k].add(b)
            if weights:
                for k, n in group:
                    for s in runs[k]:
                        s.inputs[n] = _wide_weights(rewriter, s.inputs[n].resolve())
            else:
                for slot in slots:
                    slot.dtype = _WIDE
    return to_widen


def _takes_long(dtype: str, target: VectorTarget) -> bool:
    """True if the build should widen weights.

    With 16-byte vectors and few registers, each vector is multiplied a few times only; float16 takes some ten instructions
    without a conversion instruction.
    """
    return target.vector_bytes <= 16 and (target.registers <= 16 or dtype == "float16")


def _wide_weights(rewriter: ProgramRewriter, c: Slot) -> Slot:
    return rewriter.derive(c, "wide", lambda data: numbers(data, c.dtype).astype(_WIDE), dtype=_WIDE)


def _slots(s: RunKernel) -> list[Slot]:
    return [*s.inputs, *s.outputs]


def _is_fixed(k: Kernel) -> bool:
    return k.finished or any(isinstance(f, Steps) for f in k.stages)


def _groups(runs: Mapping[Kernel, list[RunKernel]]) -> list[list[tuple[Kernel, int]]]:
    """Parameters of 16-bit floats of kernels, by number, in groups that share slots and have one dtype."""
    leader: dict[Slot | tuple[Kernel, int], Slot | tuple[Kernel, int]] = {}

    def find(x: Slot | tuple[Kernel, int]) -> Slot | tuple[Kernel, int]:
        while leader.setdefault(x, x) is not x:
            leader[x] = leader[leader[x]]
            x = leader[x]
        return x

    members = [(k, n) for k in runs for n, b in enumerate(k.params) if dtypes.is_half(b.dtype)]
    for k, n in members:
        for s in runs[k]:
            leader[find(_slots(s)[n].resolve())] = find((k, n))
    groups: dict[Slot | tuple[Kernel, int], list[tuple[Kernel, int]]] = {}
    for m in members:
        groups.setdefault(find(m), []).append(m)
    return list(groups.values())


def _words_of(k: Kernel, target: VectorTarget) -> set[Buffer]:
    """The buffers that may be packed into words."""
    if target.paired_products == 1 and target.pair_tiles == 1:
        return set()
    products = (find_product(f) for f in k.stages if isinstance(f, Reduction))
    return {e.source for p in products if p is not None for e in (p.a, p.b) if e.dtype == DTYPE}  # type: ignore[misc]  # what products read are buffers


@estimate
def _read_often(k: Kernel, target: VectorTarget) -> set[Buffer]:
    """The buffers of 16-bit floats whose elements some stage reads several times as float32, and does not pack into words."""
    often_read: set[Buffer] = set()
    for f in k.stages:
        assert not isinstance(f, Steps)
        inside = [s.value for s in f.stores]
        if isinstance(f, Reduction | TupleReduction):
            inside = [f.update] if isinstance(f, Reduction) else [*f.updates]
        count = prod(n for _, n in (*f.loops, *f.inner))
        reads: dict[Buffer, int] = {}
        nodes = post_order(*inside)
        widened = {e.value for e in nodes if isinstance(e, Cast)}
        for e in nodes:
            if isinstance(e, Load) and isinstance(e.source, Buffer) and dtypes.is_half(e.dtype):
                is_read_wide = target.native_halves == 1 or e.dtype != HALF or e in widened
                reads[e.source] = reads.get(e.source, 0) + count * is_read_wide
        often_read.update(b for b, n in reads.items() if b.size and n > FEWEST_RESULTS * b.size)
    return often_read - _words_of(k, target)


def _widened(k: Kernel, buffers: Iterable[Buffer]) -> Kernel:
    """The kernel with float32 buffers in place of some 16-bit ones."""
    wide = {b: b.replace(dtype=_WIDE) for b in buffers}
    stages = [_with_wide(f, wide) for f in k.stages if not isinstance(f, Steps)]
    widened = k.with_stages(
        stages, params=[wide.get(b, b) for b in k.params], temporaries=[wide.get(b, b) for b in k.temporaries]
    )
    return widened.replace(copies=copied_input(widened))


def _with_wide(form: LoopForm, wide: Mapping[Buffer, Buffer]) -> LoopForm:
    """A stage over wide buffers, without conversions of the numbers that it reads; it rounds the numbers that it stores."""
    own = dict(wide)
    if isinstance(form, Reduction) and dtypes.is_half(form.acc.dtype):
        u = form.update
        if isinstance(u, Binary) and u.op in _EXACT and isinstance(form.init, Const):
            own[form.acc] = form.acc.replace(dtype=_WIDE)
    numbers: dict[Expr, Expr] = {}
    """The float32 value of each 16-bit node for which it is known."""

    def known(e: Expr) -> Expr | None:
        return const(e.value, _WIDE) if isinstance(e, Const) else numbers.get(e)

    def narrow(e: Expr, dtype: str) -> Expr:
        narrowed = Cast(e, dtype)
        numbers[narrowed] = e
        return narrowed

    def change(e: Expr) -> Expr:
        if isinstance(e, Load) and e.source in own:
            assert isinstance(e.source, Buffer)
            return narrow(Load(own[e.source], e.indices), e.dtype)
        if isinstance(e, Cast) and e.value in numbers:
            return cast(numbers[e.value], e.dtype)
        if not dtypes.is_half(e.dtype):
            return e
        if isinstance(e, Select):
            then, other = known(e.then), known(e.other)
            if then is not None and other is not None:
                return narrow(Select(e.cond, then, other, e.lazy), e.dtype)
        if isinstance(e, Binary) and e.op in _EXACT:
            a, b = known(e.a), known(e.b)
            if a is not None and b is not None:
                return narrow(Binary(e.op, a, b, _WIDE), e.dtype)
        return e

    def widened(e: Expr) -> Expr:
        wide_value = known(e)
        return cast(e, _WIDE) if wide_value is None else wide_value

    widened_form = rewrite_form(form, change)
    stores = tuple(
        Store(own[s.buffer], s.indices, widened(s.value)) if s.buffer in own else s for s in widened_form.stores
    )
    if isinstance(widened_form, Reduction) and widened_form.acc in own:
        return replace(
            widened_form,
            acc=own[widened_form.acc],
            init=widened(widened_form.init),
            update=widened(widened_form.update),
            stores=stores,
        )
    return replace(widened_form, stores=stores)
