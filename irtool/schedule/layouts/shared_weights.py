"""Weights that one kernel reads in blocks, and others a few elements of: all kernels use the blocks, so that the weights are
stored once.

A language model multiplies by the table from which it gathers the rows of its tokens. The product prefers the table in blocks; a
gathered row is spread over many cache lines then, but few rows are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...symbolic_int import bound
from ...tir.forms import Map
from ...tir.kernel import Kernel
from ...tir.memory import CACHE_LINE
from ...tir.program import CONSTANT, RunKernel, Slot
from ...tir.stmt import Buffer
from ..core.affine import loads
from ..cost.machine import FLOAT32_BYTES
from .preference import LayoutPreference


def shared_weights(
    calls: Sequence[RunKernel], preferences: Mapping[RunKernel, Mapping[Buffer, LayoutPreference]], plain: set[Slot]
) -> dict[Slot, LayoutPreference]:
    """The blocks of the constants that all calls can read in blocks: each call prefers them, or reads few elements.

    `preferences`: the blocks of each call; `plain`: the slots that must stay row-major.
    """
    blocks: dict[Slot, LayoutPreference] = {}
    refused = set(plain)
    for s in calls:
        for slot, b in zip(s.inputs, s.kernel.inputs):
            slot = slot.resolve()
            if slot.kind == CONSTANT and b in preferences[s]:
                blocks.setdefault(slot, preferences[s][b])
            elif slot.kind == CONSTANT and not reads_little(s.kernel, b):
                refused.add(slot)
    return {slot: layout for slot, layout in blocks.items() if slot not in refused}


def reads_little(kernel: Kernel, b: Buffer) -> bool:
    """True if the elements that an elementwise kernel reads of a buffer, a cache line for each, are fewer than the buffer's."""
    count = 0
    for form in kernel.stages:
        if not isinstance(form, Map):
            return False
        read = [e for s in form.stores for e in loads(s.value, *s.indices) if e.source is b]
        count += len(read) * math.prod(n for _, n in form.loops)
    return bound(count) * (CACHE_LINE // FLOAT32_BYTES) <= math.prod(b.shape)
