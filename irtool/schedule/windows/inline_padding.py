"""Padding of tensors that are summed along vectors: windows are clamped at the border, and no padded copy is made.

    for y, x, c: pad[y, x, c] = inside ? data[…] : 0                  ⇒   for y, x: acc = 0; for k, c: acc += data[…] * w[k, c]
    for y, x: acc = 0; for k, c: acc += pad[y + k, x, c] * w[k, c]        for y, x at a border: … for those k that are inside …

If few results are contiguous, as in an image of three channels computed from many, each window sums vectors of channels. Results
are partitioned by the steps that are inside of the data (see `partition_padded_windows`), strided transposed convolutions first
into their phases (see `phases`). The padded copy would be the largest buffer at the end of such a network.
"""

from __future__ import annotations

from itertools import pairwise

from ...tir.forms import AnyForm, Reduction, stores_of
from ...tir.kernel import Kernel
from ...tir.vector_target import VectorTarget
from ..core.guards import extract_predicates
from ..cost.machine import WRITTEN_OUT
from ..strategies.base import Stage
from ..strategies.row_reduction.strategy import is_preferred
from .padded_copy import without_padded_copy
from .partition_padded_windows import parts_of
from .phases import phases


def inline_row_padding(kernel: Kernel, target: VectorTarget) -> Kernel:
    """The kernel without a padded copy that one reduction reads in rows of vectors; itself if it has none."""
    forms = kernel.stages
    for n, (copy, r) in enumerate(pairwise(forms)):
        opened = without_padded_copy(forms, n + 1)
        if opened is None or stores_of(copy)[0].buffer.nbytes < target.stack_bytes:
            continue
        if is_preferred(Stage(r, target)) and (parts := _parts(opened)):
            return kernel.with_stages([*forms[:n], *parts, *forms[n + 2 :]])
    return kernel


def _parts(r: Reduction) -> list[AnyForm]:
    """The reduction of guarded data in parts without guards; an empty list if there are too many parts."""
    clamped: list[AnyForm] = []
    for phase in phases(r):
        guarded = extract_predicates(phase)
        parts = parts_of(guarded, WRITTEN_OUT - len(clamped)) if guarded.guards and not guarded.formed else None
        if parts is None:
            return []
        clamped += parts
    return clamped
