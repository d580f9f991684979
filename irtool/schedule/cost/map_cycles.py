"""Estimates for element-by-element nests, in cycles per element. One that lies beside others takes a vector's part of a cycle."""

from __future__ import annotations

import math

from ...tir.expr import Var
from ...tir.vector_target import VectorTarget
from ..core.affine import loads, simplifier, stride
from ..core.forms import Map
from .machine import GATHERED_ELEMENT, SHUFFLED_READ


def scalar_cycles(m: Map) -> float:
    """Of elements made one by one: a load or a store, and its place, takes a cycle."""
    return len(m.stores) + len(dict.fromkeys(loads(*(s.value for s in m.stores))))


def vector_cycles(m: Map, along: Var, lanes: int, target: VectorTarget, channels: int = 0) -> float:
    """Of vectors along a loop: an operand that does not lie side by side is shuffled if it is near, and gathered if it is far apart. The
    vectors of so many `channels` side by side are loaded once for all of them."""
    simplify = simplifier(m.loops)
    cycles = 1 / lanes
    for e in dict.fromkeys(loads(*(s.value for s in m.stores))):
        step = stride(simplify, e.source.offset(e.indices), along)
        if channels and step == channels:
            cycles += (1 / target.loads + step - 1) / lanes
        elif step in (2, 3):
            # as many loads, of which each but the first is shuffled into the ones before it
            cycles += (step / target.loads + step - 1) / lanes
        elif step is None:
            cycles += SHUFFLED_READ / target.loads / lanes
        elif step not in (0, 1):
            cycles += GATHERED_ELEMENT
    return cycles


def square_cycles(side: int, target: VectorTarget) -> float:
    """Of a square of so many rows that changes them for columns: each is loaded, shuffled with others in halves, and stored."""
    return (1 / target.loads + math.log2(side) + 1) / side
