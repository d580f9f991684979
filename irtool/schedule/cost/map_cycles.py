"""Estimates for elementwise nests, in cycles per element. A vector of contiguous elements takes each of them a lane's share of a
cycle."""

from __future__ import annotations

import math

from ...tir.expr import Var
from ...tir.vector_target import VectorTarget
from ..core.affine import loads, simplifier, stride
from ..core.forms import Map
from .machine import GATHERED_ELEMENT, SHUFFLED_READ


def scalar_cycles(m: Map) -> float:
    """Cycles of scalar code: a load or a store, with its address, takes a cycle."""
    return len(m.stores) + len(dict.fromkeys(loads(*(s.value for s in m.stores))))


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


def square_cycles(side: int, target: VectorTarget) -> float:
    """Cycles of a square of `side` rows that is transposed in registers: each row is loaded, shuffled with others in halves, and
    stored."""
    return (1 / target.loads + math.log2(side) + 1) / side
