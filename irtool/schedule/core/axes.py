"""Axes fused and split before a strategy is chosen, so that the remaining axes are long and no index divides them.

for h, w: … x[h, w] …                              ⇒   for hw: … x[hw] …
for c: … x[c // 16, c % 16] …  (blocks)            ⇒   for c_b, c_i: … x[c_b, c_i] …
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import chain
from math import gcd

from ...symbolic_int import holds
from ...tir.expr import Binary, Const, Expr, Load, Var, children, post_order
from ...tir.simplify import Simplifier
from ..cost.machine import FEWEST_LANES, SHORTEST_PERIOD
from ..primitives import fuse, reorder, split
from .affine import coefficients, depends, loads, offsets, operands, simplifier
from .block import Block
from .forms import Form, Loop, Map, Reduction


def fuse_axes(form: Form) -> Form:
    """Fuses neighbouring axes of the results (height and width of a 1x1 convolution).

    The axes are fused if every index moves along both as along one long axis, and if they occur in indices only.
    """
    depth = len(form.loops) - 1
    while depth > 0:
        (outer, _), (inner, m) = form.loops[depth - 1], form.loops[depth]
        if _moves_as_one(form, form.loops, outer, inner, m, _places(form)):
            form = fuse(Block.of(form), outer, inner).result()
        depth -= 1
    return form


def fuse_sums(r: Reduction) -> Reduction:
    """Fuses neighbouring axes of the reduction likewise (height and width of an image whose mean is taken)."""
    depth = len(r.inner) - 1
    while depth > 0:
        (outer, _), (inner, m) = r.inner[depth - 1], r.inner[depth]
        if _moves_as_one(r, r.inner, outer, inner, m, offsets(r)):
            r = fuse(Block.of(r), outer, inner).result()
        depth -= 1
    return r


def _moves_as_one(
    form: Map | Reduction, loops: Sequence[Loop], outer: Var, inner: Var, m: int, indices: Sequence[Expr]
) -> bool:
    simplify = simplifier(form.loops, form.inner)
    if isinstance(form, Reduction) and any(depends(g, v) for g in form.guards for v in (outer, inner)):
        return False
    moved = (coefficients(simplify, i, (outer, inner)) for i in indices)
    if not all(a is not None and b is not None and a == b * m for a, b in moved):
        return False
    return isinstance(form, Reduction) or not _used_elsewhere(form, (outer, inner))


def _used_elsewhere(m: Map, variables: tuple[Var, ...]) -> bool:
    """True if a variable occurs outside of indices."""
    seen: set[Expr] = set()
    stack: list[Expr] = [s.value for s in m.stores]
    while stack:
        e = stack.pop()
        if e in seen or isinstance(e, Load):
            continue
        seen.add(e)
        if any(e is v for v in variables):
            return True
        stack.extend(children(e))
    return False


def split_blocks(m: Map) -> Map:
    """Splits every axis that an index divides by the size of a layout's blocks; the elements of a block become the inner axis.

    If layouts have several block sizes, the axis is split by their greatest common divisor. If a tensor begins or ends within a
    block (a quarter of 208 channels in blocks of 16), the inner axis is the part of a block that divides it.
    """
    for v, extent in m.loops:
        simplify = simplifier(m.loops)
        read = [e for e in loads(*(s.value for s in m.stores)) if e.source.layout is not None]
        positions = [e.source.offset(e.indices) for e in read]
        positions += [s.buffer.offset(s.indices) for s in m.stores if s.buffer.layout is not None]
        layouts = [b.layout or () for b in (*(e.source for e in read), *(s.buffer for s in m.stores))]
        sizes = {divisor for layout in layouts for _, divisor, _ in layout if divisor > 1}
        factors = {n: None for c in sorted(sizes) if (n := _divisor(simplify, positions, v, extent, c))}
        common = gcd(*factors)
        factor = common if common >= FEWEST_LANES else next(iter(factors), 0)
        if factor:
            m = split(Block.of(m), v, [extent // factor, factor], [f"{v.name}_b", f"{v.name}_i"]).result()
    return m


def split_sums(r: Reduction) -> Reduction:
    """Splits axes of the reduction whose operands have blocked layouts; the elements of a block become the innermost axis."""
    for v, extent in r.inner:
        factor = _divisor(simplifier(r.loops, r.inner), _places(r), v, extent)
        if factor:
            b = split(Block.of(r), v, [extent // factor, factor], [f"{v.name}_b", f"{v.name}_i"])
            elements = b.over(v)[1]
            r = reorder(b, [*(x for x, _ in b.inner if x is not elements), elements]).result()
    return r


def split_groups(r: Reduction) -> Reduction:
    """Splits axes of the results that an operand's index divides: into groups of channels, and the channels of one group."""
    for v, extent in r.loops:
        indices = chain.from_iterable(e.indices for e in operands(r))
        factor = _divisor(simplifier(r.loops, r.inner), list(indices), v, extent)
        if factor:
            r = split(Block.of(r), v, [extent // factor, factor], [f"{v.name}_g", v.name]).result()
    return r


def split_periods(m: Map) -> Map:
    """Splits axes along which an operand repeats (several copies of it one behind the other), if a period fills vectors."""
    for v, extent in m.loops:
        indices = chain.from_iterable(e.indices for e in loads(*(s.value for s in m.stores)))
        factor = _divisor(simplifier(m.loops), list(indices), v, extent)
        if holds(operator.ge, factor, SHORTEST_PERIOD):
            m = split(Block.of(m), v, [extent // factor, factor], [f"{v.name}_p", v.name]).result()
    return m


def _divisor(simplify: Simplifier, positions: Sequence[Expr], v: Var, extent: int, block: int = 0) -> int:
    """The number by which offsets divide the axis `v`, if it also divides the extent of the axis; 0 if there is no such number.

    `block`: the only divisor to look for. If the axis begins or ends within such a block, the result is the greatest common
    divisor of the block, the extent and the beginning, or 0 if that is less than a vector.
    """
    for p in positions:
        for e in post_order(simplify(p)):
            if (
                isinstance(e, Binary)
                and e.op in ("floordiv", "floormod")
                and isinstance(e.b, Const)
                and any(x is v for x in post_order(e.a))
            ):
                c = e.b.int_value
                if block and c != block:
                    continue
                terms, first = simplify.linear(e.a)
                if terms.get(v) != 1:
                    continue
                if block and (extent % c or first % c):
                    c = gcd(c, extent, first, *(n for x, n in terms.items() if x is not v))
                    c = c if c >= FEWEST_LANES else 0
                if c and extent % c == 0 and extent != c:
                    return c
    return 0


def _places(form: Map | Reduction) -> list[Expr]:
    """The offsets of all elements that the form reads and writes."""
    roots = [s.value for s in form.stores]
    if isinstance(form, Reduction):
        roots = [form.update, *roots]
    acc = form.acc if isinstance(form, Reduction) else None
    positions = [e.source.offset(e.indices) for e in loads(*roots) if e.source is not acc]
    return positions + [s.buffer.offset(s.indices) for s in form.stores]
