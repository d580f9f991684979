"""Fusion of consecutive kernels over the same rows: statistics of rows and their uses.

    m = mean(x)        (a kernel)
    v = variance(x, m) (a kernel)         ⇒      for i: m' = mean(x[i, :]); v' = variance(x[i, :], m');
    y = f(x, m, v)     (a kernel)                       y[i, :] = f(x[i, :], m', v')

A row is then in the L1 cache when it is read again, and intermediate results need memory for one row. Kernels are merged only if
the result is one loop over rows, in which every intermediate result is a local row.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ...tir.expr import Load, post_order
from ...tir.forms import Map, buffers_read, stores_of
from ...tir.kernel import Kernel
from ...tir.program import TEMP, Program, RunKernel
from ...tir.stmt import For
from ...tir.vector_target import VectorTarget
from ..core.affine import simplifier
from ..cost.row_choice import row_count
from .fuse_row_loops import fuse_row_loops
from .kernel import schedule_kernel
from .merge_kernels import MergedStages, Merger, merge_with_readers
from .step_lists import Mentions


def fuse_kernels(program: Program, target: VectorTarget) -> None:
    """Fuses all pairs of kernels that allow it, in every function of the program."""
    rows: dict[Kernel, int] = {}

    def rows_of(k: Kernel) -> int:
        """The number of rows that the kernel sums; -1 if it is elementwise, 0 for other kernels."""
        if k not in rows:
            rows[k] = row_count(k.stages, target)
        return rows[k]

    def in_one_loop(merged: MergedStages, _: Hashable) -> Kernel | None:
        if any(written is not read for written, read in merged.between):
            return None
        between = [b for b, _ in merged.between]
        fused = merged.kernel([*merged.first, *merged.second], [*merged.temporaries, *reversed(between)])
        fused = fused.replace(in_place=_in_place(fused))
        return fused if _is_one_loop(fuse_row_loops(schedule_kernel(fused, target), target)) else None

    merger = Merger(in_one_loop)

    def merge(a: RunKernel, b: RunKernel, mentions: Mentions) -> RunKernel | None:
        if a.kernel.finished or b.kernel.finished:
            return None
        read = {x.resolve() for x in b.inputs}
        passed = [x.resolve() for x in a.outputs if x.resolve() in read]
        count = rows_of(a.kernel)
        if not passed or count in (0, -1) or rows_of(b.kernel) not in (count, -1):
            return None
        between = [x for x in dict.fromkeys(passed) if x.kind == TEMP and mentions.are_all(x, (a, b))]
        return merger.merge(a, b, between)

    merge_with_readers(program, _next_call, merge)


def _next_call(body: Sequence, step: int, mentions: Mentions) -> int | None:
    return step + 1 if step + 1 < len(body) and isinstance(body[step + 1], RunKernel) else None


def _is_one_loop(kernel: Kernel) -> bool:
    """True if the kernel is a single loop, without buffers in the workspace."""
    return isinstance(kernel.body, For)


def _in_place(kernel: Kernel) -> list[tuple[int, int]]:
    """Pairs (input, output) that may share memory if the stages run one after the other, or row by row.

    The stage that writes the output reads the input at the same place, and later stages do not read it.
    """
    in_place = []
    for o, out in enumerate(kernel.outputs):
        writers = [n for n, form in enumerate(kernel.stages) if any(x.buffer is out for x in stores_of(form))]
        if len(writers) != 1:
            continue
        form = kernel.stages[writers[0]]
        if not isinstance(form, Map) or len(form.stores) != 1:
            continue
        store = form.stores[0]
        simplify = simplifier(form.loops)
        place = simplify(out.offset(store.indices))
        later = buffers_read(*kernel.stages[writers[0] + 1 :])
        for i, source in enumerate(kernel.inputs):
            if source.nbytes != out.nbytes or source.dtype != out.dtype or source in later:
                continue
            reads = [e for e in post_order(store.value) if isinstance(e, Load) and e.source is source]
            if reads and all(simplify(source.offset(e.indices)) is place for e in reads):
                in_place.append((i, o))
    return in_place
