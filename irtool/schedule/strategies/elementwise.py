"""Formulas, element by element: loops fused where memory allows, the contiguous one in vectors.

    for i, j: out[i, j] = f(x[i, j])    ⇒    for ij_o: out[ij_o*8 : ij_o*8 + 8] = f(x[…]), and the elements that are left

Where conditions on that loop choose what is read (padding, concatenation), it is cut into loops without them.
"""

from __future__ import annotations

import math
from itertools import pairwise

from ...tir import dtypes
from ...tir.expr import Expr, Load, Var, children
from ...tir.stmt import Stmt
from ..affine import loads, simplifier, stride
from ..axes import fuse_axes, split_blocks
from ..block import Block
from ..forms import Map
from ..guards import changes
from ..machine import Machine
from ..nest import lower, lower_all
from ..primitives import loop_partition, parallel, reorder, split, vectorize
from ..splitting import pieces
from . import tiled_transpose

_PARALLEL_ELEMENTS = 1 << 15


def schedule(m: Map, machine: Machine, rows: int = 0) -> Stmt:
    """Vectors along the loop in which the first store is contiguous; other loops outside, the outermost in parallel.

    `rows`: if there are so many elements, they are made one by one, each with the row that it belongs to.
    """
    m = fuse_axes(split_blocks(m))
    elements = math.prod(n for _, n in m.loops)
    shared = elements >= _PARALLEL_ELEMENTS
    lanes = machine.lanes(_widest(m))
    axes = tiled_transpose.choose_axes(m) if lanes > 1 and elements != rows else None
    if axes is not None:
        return tiled_transpose.schedule(m, axes, lanes, shared)
    chosen = _vector_loop(m) if lanes > 1 and elements != rows else None
    block = Block.of(m)
    if chosen is None:
        return lower(parallel(block, m.loops[0][0]) if shared and m.loops else block)
    v, cuts = chosen
    block = reorder(block, [*(x for x, _ in m.loops if x is not v), v])
    parts = []
    for part in loop_partition(block, v, list(pairwise(cuts))):
        loop, extent = part.loops[-1]
        for first, count, width in pieces(extent, lanes):
            (b,) = loop_partition(part, loop, [(first, first + count * width)])
            names = [f"{v.name}_o", f"{v.name}_v"]
            b = split(b, b.loops[-1][0], [count, width] if count > 1 else [width], names if count > 1 else names[1:])
            b = vectorize(b, b.loops[-1][0]) if width > 1 else b
            parts.append(parallel(b, b.loops[0][0]) if shared and len(b.loops) > 1 else b)
    return lower_all(parts)


def _widest(m: Map) -> int:
    """Bytes of the widest numbers that are computed with, at least 4: what is narrower fills a part of a register."""
    widest = 4
    seen: set[Expr] = set()
    stack: list[Expr] = [s.value for s in m.stores]
    while stack:
        e = stack.pop()
        if e not in seen:
            seen.add(e)
            widest = max(widest, dtypes.itemsize(e.dtype))
            stack.extend(() if isinstance(e, Load) else children(e))
    return widest


def _vector_loop(m: Map) -> tuple[Var, list[int]] | None:
    """The loop along which every store is contiguous and every read contiguous or constant (or in even steps), and the steps
    from which on other conditions hold, its beginning and end among them."""
    best: tuple[int, Var, list[int]] | None = None
    simplify = simplifier(m.loops)
    for v, extent in m.loops:
        if extent < 4 or any(stride(simplify, s.buffer.offset(s.indices), v) != 1 for s in m.stores):
            continue
        strides = [stride(simplify, e.source.offset(e.indices), v) for e in loads(*(s.value for s in m.stores))]
        cuts = changes(simplify, [s.value for s in m.stores], v, extent)
        if cuts is None or any(s is None for s in strides):
            continue
        cost = sum(1 for s in strides if s not in (0, 1))
        if best is None or cost < best[0]:
            best = (cost, v, cuts)
    return best[1:] if best is not None else None
