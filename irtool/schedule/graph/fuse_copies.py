"""Fusion of an elementwise kernel into the copy that its reader makes of the result, on processors with little memory.

    t[c, y, x] = q(in[c, y, x])                                     (a kernel)
    words[y, x] = pack4(t[0, y, x], t[1, y, x], …); …               (a kernel)      ⇒      words[y, x] = pack4(q(in[0, y, x]), …); …

The result needs no memory of its own, and where the copy is computed in bands of rows, nothing is whole in memory. The copy reads each element
once, or few of them several times.
"""

from __future__ import annotations

from math import prod

from ...symbolic_int import estimate
from ...tir.forms import Map, buffers_read
from ...tir.kernel import Kernel
from ...tir.program import Program, RunKernel
from ...tir.sharing import in_place_pairs
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import loads
from ..windows.padded_copy import compute_inline, writes_whole
from .merge_kernels import MergedStages, Merger, merge_with_readers, only_reader
from .step_lists import Mentions


def fuse_copies(program: Program, target: VectorTarget) -> None:
    """Fuses all pairs of kernels that allow it, in every function of the program."""
    if not target.has_little_memory:
        return
    merger = Merger(lambda merged, _: _with_copy(merged, target))

    def merge(a: RunKernel, b: RunKernel, mentions: Mentions) -> RunKernel | None:
        return merger.merge(a, b, [a.outputs[0].resolve()])

    merge_with_readers(program, only_reader, merge)


def _with_copy(merged: MergedStages, target: VectorTarget) -> Kernel | None:
    """The merged kernel, whose copy computes the elements; None for another first kernel, and for another reader."""
    ((result, read),) = merged.between
    if len(merged.first) != 1 or result is not read:
        return None
    (source,) = merged.first
    if not isinstance(source, Map) or not writes_whole(source):
        return None
    numbers = [n for n, form in enumerate(merged.second) if read in buffers_read(form)]
    if len(numbers) != 1:
        return None
    copy = merged.second[numbers[0]]
    if not isinstance(copy, Map) or not _is_copy(copy, read, merged.temporaries, target):
        return None
    stages = list(merged.second)
    stages[numbers[0]] = compute_inline(copy, source.stores[0])
    kernel = merged.kernel(stages, merged.temporaries)
    return kernel.replace(in_place=in_place_pairs(kernel))


@estimate
def _is_copy(form: Map, read: Buffer, temporaries: list[Buffer], target: VectorTarget) -> bool:
    """True for a stage that stores to a temporary, and reads elements of a buffer less often than makes memory for them worthwhile; borders
    count as reads."""
    if len(form.stores) != 1 or form.stores[0].buffer not in temporaries:
        return False
    count = sum(e.source is read for e in loads(form.stores[0].value))
    return bool(count * prod(n for _, n in form.loops) < target.copied_reads * prod(read.shape))
