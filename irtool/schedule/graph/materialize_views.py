"""Copies of convolution results for kernels that read them under another shape.

    c = conv2d(x, w)                              c = conv2d(x, w)
    a = batch_matmul(reshape(c), m)       ⇒       d = c
    y = c + a                                     a = batch_matmul(reshape(d), m)
                                                  y = c + a

Tensors that kernels read under several shapes stay row-major. A convolution with a row-major result has no contiguous channels,
and Winograd cannot transform it, which may cost far more than the copy.
"""

from __future__ import annotations

from itertools import count

from ...symbolic_int import bound
from ...tir.expr import Load, Var
from ...tir.forms import Map
from ...tir.kernel import Kernel
from ...tir.program import TEMP, Program, RunKernel, Slot
from ...tir.stmt import Buffer, Scope, Store
from ...tir.vector_target import VectorTarget
from ..cost.machine import SECOND_CACHE_RATE
from ..cost.winograd import better_transform
from ..strategies.winograd.find import convolutions_of
from .step_lists import Mentions, rewrite_step_lists

_NAME = "tvmgen_default_fused_copy"


def materialize_views(program: Program, target: VectorTarget) -> None:
    """Inserts a copy behind every convolution for which that is faster."""
    copies: dict[tuple[tuple[int, ...], str], Kernel] = {}
    names = {k.name for k in program.kernels}

    def insert(body: list, mentions: Mentions) -> None:
        n = 0
        while n < len(body):
            step = body[n]
            n += 1
            if not isinstance(step, RunKernel) or len(step.outputs) != 1:
                continue
            slot = step.outputs[0].resolve()
            if slot.kind != TEMP:
                continue
            others = _that_see_another_shape(slot, step, mentions.steps(slot))
            if others and _saved(step, target) > 2 * bound(slot.nbytes) / SECOND_CACHE_RATE:
                body.insert(n, _copied(step, slot, others, copies, names))
                n += 1

    rewrite_step_lists(program, insert)


def _that_see_another_shape(slot: Slot, producer: RunKernel, users: list[object]) -> list[RunKernel]:
    """The calls that read a result under another shape, if all steps that name it are calls of kernels whose layouts are not
    chosen yet."""
    other_users: dict[RunKernel, None] = {}
    for s in users:
        if not isinstance(s, RunKernel) or s.kernel.finished:
            return []
        seen = [b.shape for x, b in zip((*s.inputs, *s.outputs), s.kernel.params) if x.resolve() is slot]
        if any(shape != slot.shape for shape in seen):
            if s is producer or slot in (x.resolve() for x in s.outputs):
                return []
            other_users[s] = None
    return list(other_users)


def _saved(s: RunKernel, target: VectorTarget) -> float:
    """The cycles that Winograd saves for the convolutions of a call."""
    transforms = (better_transform(c, target, layouts=False) for c in convolutions_of(s))
    return sum(t.saved for t in transforms if t is not None)


def _copied(
    producer: RunKernel,
    slot: Slot,
    readers: list[RunKernel],
    copies: dict[tuple[tuple[int, ...], str], Kernel],
    names: set[str],
) -> RunKernel:
    """The copy of a result, which some of its readers read instead."""
    copy = Slot(f"{slot.name}_copy", slot.shape, slot.dtype, TEMP)
    for s in readers:
        views = [x.resolve() is slot and b.shape != slot.shape for x, b in zip(s.inputs, s.kernel.inputs)]
        s.inputs[:] = [copy if is_view else x for x, is_view in zip(s.inputs, views)]
    key = (slot.shape, slot.dtype)
    if key not in copies:
        numbered = (f"{_NAME}_{n}" if n else _NAME for n in count())
        copies[key] = _copy_of(slot, next(name for name in numbered if name not in names))
        names.add(copies[key].name)
    return RunKernel(copies[key], [slot], [copy], places=producer.places)


def _copy_of(slot: Slot, name: str) -> Kernel:
    """The kernel that copies a tensor."""
    source = Buffer("p0", slot.shape, slot.dtype, Scope.PARAM)
    out = source.replace(name="out")
    loops = tuple((Var(f"ax{n}", "int32"), extent) for n, extent in enumerate(slot.shape))
    indices = tuple(v for v, _ in loops)
    return Kernel(
        name,
        [source, out],
        [Map(loops, (Store(out, indices, Load(source, indices)),))],
        operators=("copy",),
        calls=(f"copy({slot.dtype}{list(slot.shape)})",),
    ).measured()
