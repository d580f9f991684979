"""Padding of tensors that are summed along vectors, clamped at the border instead of copied.

    for y, x, c: pad[y, x, c] = inside ? data[…] : 0                  ⇒   for y, x: acc = 0; for k, c: acc += data[…] * w[k, c]
    for y, x: acc = 0; for k, c: acc += pad[y + k, x, c] * w[k, c]        for y, x at a border: … for those k that are inside …

Where there are few results beside each other, an image of three channels made of many, each window sums vectors of channels. Results are
parted into those with the same steps inside of the data (see `partition_padded_windows`), strided transposed convolutions into their phases
before that (see `subpixel`). The padded copy would be the largest buffer of such a network's end.
"""

from __future__ import annotations

from itertools import pairwise

from ...tir.forms import AnyForm, Map, Reduction, buffers_read
from ...tir.kernel import Kernel
from ...tir.vector_target import VectorTarget
from ..core.guards import extract_predicates
from ..cost.machine import WRITTEN_OUT
from ..strategies.base import Stage
from ..strategies.row_reduction.strategy import is_preferred
from .partition_padded_windows import parts_of
from .subpixel import inline_padding, phases


def inline_row_padding(kernel: Kernel, target: VectorTarget) -> Kernel:
    """The kernel without a padded copy that one reduction reads, in rows of vectors; itself if it has none."""
    forms = kernel.stages
    for n, (copy, r) in enumerate(pairwise(forms)):
        if not isinstance(copy, Map) or not isinstance(r, Reduction) or len(copy.stores) != 1:
            continue
        b = copy.stores[0].buffer
        if b.nbytes < target.stack_bytes or b in buffers_read(*forms[:n], *forms[n + 2 :]):
            continue
        if is_preferred(Stage(r, target)) and (parts := _parts(r, copy)):
            return kernel.with_stages([*forms[:n], *parts, *forms[n + 2 :]])
    return kernel


def _parts(r: Reduction, copy: Map) -> list[AnyForm]:
    """The reduction in parts that read what the copy is made of; none where there are too many."""
    opened = inline_padding(r, copy)
    found: list[AnyForm] = []
    for phase in (phases(opened, {}) or [opened]) if opened is not None else []:
        guarded = extract_predicates(phase)
        parts = parts_of(guarded, WRITTEN_OUT - len(found)) if guarded.guards and not guarded.formed else None
        if parts is None:
            return []
        found += parts
    return found
