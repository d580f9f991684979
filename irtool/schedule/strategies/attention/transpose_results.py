"""Attention whose values come first, as for images with planes of channels.

    out[n, d, q] += v[n, d, k] * p[n, q, k]             or t[n, k, q], if the kernel before stores p transposed

⇒   rows[n, q, d] += v[n, d, k] * p[n, q, k]            the last product of an attention
    out[n, d, q] = rows[n, q, d]                        a kernel of its own

The copy has the size of the values; the scores have all queries times all keys as elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....tir.expr import Expr, Load, Var, rewrite
from ....tir.forms import Map, Reduction, stores_of
from ....tir.kernel import Kernel
from ....tir.stmt import Buffer, Store
from ...core.affine import depends, loads, operands


@dataclass(frozen=True, eq=False)
class TransposedResults:
    """The kernels of such an attention with results row by row, and the kernel that transposes these."""

    kernels: list[Kernel]
    transposition: Kernel


def transpose_results(kernels: Sequence[Kernel], wiring: Sequence[Sequence[int]]) -> TransposedResults | None:
    """The kernels with values second; None if they come second already, or the summed axis is not that of the rows. `wiring`: as
    for `Chain`."""
    last = kernels[-1]
    (r,) = last.stages
    if not isinstance(r, Reduction) or len(r.loops) < 2 or len(r.stores) != 1:
        return None
    ((d, _), (q, _)), ((k, _),) = r.loops[-2:], r.inner
    scores = [b for b, n in zip(last.inputs, wiring[-1]) if n < 0]
    read = [e for e in operands(r) if e.source in scores]
    others = [e for e in operands(r) if e.source not in scores]
    if len(read) != 1 or len(others) != 1 or depends(read[0], d) or depends(others[0], q) or len(read[0].indices) < 2:
        return None
    if any(e.source in scores for e in loads(r.stores[0].value)):
        return None
    transposed_kernels = list(kernels)
    b = read[0].source
    assert isinstance(b, Buffer)
    own = b
    if _end_with(read[0].indices, k, q):
        before = _with_rows(kernels[-2], b)
        if before is None:
            return None
        transposed_kernels[-2] = before
        own = _exchange_last_axes(b)
    elif not _end_with(read[0].indices, q, k):
        return None
    loops = (*r.loops[:-2], r.loops[-1], r.loops[-2])
    indices = tuple(v for v, _ in loops)
    (store,) = r.stores
    rows = store.buffer.replace(shape=[n for _, n in loops])
    transposed = Load(own, (*read[0].indices[:-2], q, k))
    update = rewrite(r.update, lambda e: transposed if e is read[0] else e)
    product = replace(r, loops=loops, update=update, stores=(Store(rows, indices, store.value),))
    transposed_kernels[-1] = last.with_stages(
        [product], params=[own if x is b else rows if x is store.buffer else x for x in last.params]
    )
    source = rows.replace(name="p0")
    out = store.buffer.replace(name="out")
    copy = Map(r.loops, (Store(out, store.indices, Load(source, indices)),))
    call = f"transpose({rows.dtype}{list(rows.shape)}) -> {out.dtype}{list(out.shape)}"
    name = f"{last.name}_transpose"
    return TransposedResults(
        transposed_kernels, Kernel(name, [source, out], [copy], operators=("transpose",), calls=(call,)).measured()
    )


def _with_rows(kernel: Kernel, b: Buffer) -> Kernel | None:
    """The kernel that stores the buffer which is read as `b` with its last two axes exchanged; None if it stores anything
    else."""
    out, form = kernel.outputs[0], kernel.stages[-1]
    if len(kernel.outputs) != 1 or out.shape != b.shape or not isinstance(form, Map) or len(form.loops) < 2:
        return None
    if [s.buffer for s in form.stores] != [out] or any(
        s.buffer is out for f in kernel.stages[:-1] for s in stores_of(f)
    ):
        return None
    (store,) = form.stores
    k, q = store.indices[-2:]
    extents = dict(form.loops)
    if not isinstance(k, Var) or not isinstance(q, Var) or k not in extents or q not in extents:
        return None
    rows = _exchange_last_axes(out)
    loops = (*(x for x in form.loops if x[0] is not k and x[0] is not q), (q, extents[q]), (k, extents[k]))
    transposed = Map(loops, (Store(rows, (*store.indices[:-2], q, k), store.value),))
    return kernel.with_stages(
        [*kernel.stages[:-1], transposed], params=[rows if x is out else x for x in kernel.params]
    )


def _exchange_last_axes(b: Buffer) -> Buffer:
    return b.replace(shape=(*b.shape[:-2], b.shape[-1], b.shape[-2]))


def _end_with(indices: Sequence[Expr], *last: Var) -> bool:
    return all(a is b for a, b in zip(indices[-len(last) :], last, strict=True))
