"""Estimates for nests outside of tiles of registers: elementwise ones in cycles per element, windows in cycles per update and vector."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...symbolic_int import estimate
from ...tir.expr import Var
from ...tir.vector_target import VectorTarget
from ..core.affine import loads, simplifier, stride
from ..core.forms import Loop, Map
from .machine import GATHERED_ELEMENT, SHUFFLED_READ


@estimate
def scalar_cycles(m: Map) -> float:
    """Cycles of scalar code: a load or a store, with its address, takes a cycle."""
    return len(m.stores) + len(dict.fromkeys(loads(*(s.value for s in m.stores))))


@estimate
def vector_cycles(m: Map, along: Var, lanes: int, target: VectorTarget, channels: int = 0) -> float:
    """Cycles of vectors along a loop: operands with a stride of 2 or 3 are shuffled, and those with larger strides are gathered.

    `channels`: the number of interleaved channels, whose vectors are loaded once for all of them.
    """
    simplify = simplifier(m.loops)
    cycles = 1 / lanes
    for e in dict.fromkeys(loads(*(s.value for s in m.stores))):
        step = stride(simplify, e.source.offset(e.indices), along)
        if channels and step == channels:
            cycles += (1 / target.loads + step - 1) / lanes
        elif step in (2, 3):
            # as many loads, and a shuffle for each but the first
            cycles += (step / target.loads + step - 1) / lanes
        elif step is None:
            cycles += SHUFFLED_READ / target.loads / lanes
        elif step not in (0, 1):
            cycles += GATHERED_ELEMENT
    return cycles


@estimate
def square_cycles(side: int, target: VectorTarget) -> float:
    """Cycles of a square of `side` rows that is transposed in registers: each row is loaded, shuffled with others in halves, and
    stored."""
    return (1 / target.loads + math.log2(side) + 1) / side


@estimate
def two_step_cycles(
    rows: Sequence[Loop], columns: Sequence[Loop], width: float, is_apart: bool, target: VectorTarget
) -> float:
    """Cycles per update and vector of windows whose rows are combined before their columns.

    `width`: columns of a row for each result; `is_apart`: true if neighbouring results do not have neighbouring columns. A vector
    is stored in each step while others are loaded.
    """
    high, wide = (math.prod(n for _, n in loops) for loops in (rows, columns))
    read = SHUFFLED_READ if is_apart else 1
    return (width * max(1, high / target.loads) + max(1, wide * read / target.loads)) / (high * wide)
