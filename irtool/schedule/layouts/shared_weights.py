"""Weights that one kernel reads in blocks and others a little of: the blocks serve all, so that the weight is stored once.

A language model multiplies by the table out of which it gathers the rows of its tokens. The table in blocks is what the product
wants; a gathered row lies in many cache lines there, but few rows are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

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
    """The blocks of those constants that all calls can read in blocks: each wants them, or reads a little only.

    `preferences` has the blocks of each call, `plain` the slots whose order somebody else relies on.
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
    return count * (CACHE_LINE // FLOAT32_BYTES) <= math.prod(b.shape)
