"""Images that a kernel reads under another shape, stored in the shape of their source.

    for g, k, y, x: out[g, k, y, x] = float32(p[g * 4 + k, y, x])  ⇒  for c, y, x: out[c, y, x] = float32(p[c, y, x])

All readers use that shape, if each of them can (see `canonical_views`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.expr import Const, Expr, Var, const, substitute
from ...tir.forms import Map, buffers_read, rewrite_form, stores_of
from ...tir.kernel import Kernel
from ...tir.program import TEMP, Program, RunKernel, Slot
from ...tir.stmt import Buffer, Store
from ...tir.vector_target import VectorTarget
from ..core.affine import simplifier
from ..core.program_rewriter import ProgramRewriter
from .canonical_views import IMAGE_AXES, Shape, reading_own_shape, reshaped

Readers = dict[Slot, list[tuple[Kernel, int]]]
"""The kernels that read a slot, each with the number of the input."""


def store_canonical_views(program: Program, target: VectorTarget) -> None:
    """Makes kernels store images in the shape of their source image, if all readers can follow."""
    readers: Readers = {}
    with ProgramRewriter(program) as rewriter:
        for k, steps in rewriter.calls.items():
            for s in steps:
                for n, slot in enumerate(s.inputs):
                    readers.setdefault(slot.resolve(), []).append((k, n))
        for k, steps in rewriter.open_kernels():
            for n in range(len(k.outputs)):
                _store_own_shape(n, steps, rewriter, readers)


def _store_own_shape(n: int, steps: Sequence[RunKernel], rewriter: ProgramRewriter, readers: Readers) -> None:
    """Changes the shape of a kernel's output, in all steps that run it, if all readers can follow."""
    k = steps[0].kernel
    out = k.outputs[n]
    slots = [s.outputs[n].resolve() for s in steps]
    if any(s.kind != TEMP or s.shape != out.shape for s in slots):
        return
    shape = _shape_of_image(k, out, steps)
    rewritten = _stored(k, out, shape) if shape is not None else None
    if shape is None or rewritten is None:
        return
    for slot in slots:
        for reader, operand in readers.get(slot, ()):
            others = {s.inputs[operand].resolve() for s in rewriter.calls[reader]}
            if reader.finished or not others <= set(slots) or reading_own_shape(reader, operand, shape) is None:
                return
    for slot in slots:
        slot.shape = shape
    rewriter.replace(steps, rewritten)


def _shape_of_image(k: Kernel, out: Buffer, steps: Sequence[RunKernel]) -> Shape | None:
    """The shape of the image from which an output with more axes is computed element by element."""
    for n, b in enumerate(k.inputs):
        if IMAGE_AXES <= b.ndim < out.ndim and b.size == out.size:
            if all(s.inputs[n].resolve().shape == b.shape for s in steps):
                return b.shape
    return None


def _stored(k: Kernel, out: Buffer, shape: Shape) -> Kernel | None:
    """The kernel with an output of another shape; None if it reads the output, or does not store it in a single map."""
    writers = [f for f in k.stages if any(s.buffer is out for s in stores_of(f))]
    form = writers[0] if len(writers) == 1 else None
    if not isinstance(form, Map) or len(form.stores) != 1 or out in buffers_read(*k.stages):
        return None
    own = out.replace(shape=shape)
    changed = _in_shape(form, own)
    if changed is None:
        return None
    params = [own if p is out else p for p in k.params]
    return k.with_stages([changed if f is form else f for f in k.stages], params=params)


def _in_shape(form: Map, own: Buffer) -> Map | None:
    """The stores of a map in another shape, with loops over its axes."""
    (store,) = form.stores
    extents: dict[Expr, int] = dict(form.loops)
    indices = [i for i in store.indices if not (isinstance(i, Const) and i.value == 0)]
    if len(indices) != len(form.loops) or {*indices} != {*extents}:
        return None
    loops = tuple((Var(f"ax{n}"), size) for n, size in enumerate(own.shape) if size > 1)
    free = iter(loops)
    place: list[Expr] = [next(free)[0] if size > 1 else const(0) for size in own.shape]
    simplify = simplifier(loops)
    old = reshaped(place, own.shape, store.buffer.shape, simplify)
    if old is None:
        return None
    values: dict[Expr, Expr] = {i: index for i, index in zip(store.indices, old, strict=True) if i in extents}
    value = substitute(store.value, values)
    return rewrite_form(Map(loops, (Store(own, place, value),)), simplify)  # type: ignore[return-value]  # a map stays one
