"""Loops of a reduction fused and split so that what remains is as long as it can be and stands in no division.

for h, w: … x[h, w] …                              ⇒   for hw: … x[hw] …
for c: … x[c // 16, c % 16] …  (blocks)            ⇒   for c_b, c_i: … x[c_b, c_i] …
"""

from __future__ import annotations

from ..tir.expr import Expr, Var, rewrite
from ..tir.stmt import Store
from .affine import coefficients, depends, loads, simplifier
from .forms import Loop, Reduction
from .splitting import divided_by


def flatten_loops(r: Reduction) -> Reduction:
    """Fuses neighbouring spatial loops through which every place moves as through one loop (height and width of a 1x1
    convolution)."""
    loops = list(r.loops)
    at = len(loops) - 1
    while at > 0:
        (outer, n), (inner, m) = loops[at - 1], loops[at]
        simplify = simplifier(loops, r.inner)
        guarded = any(depends(g, v) for g in r.guards for v in (outer, inner))
        if not guarded and all(
            a is not None and b is not None and a == b * m
            for a, b in (coefficients(simplify, i, (outer, inner)) for i in _places(r))
        ):
            fused = Var(f"{outer.name}{inner.name}")
            # Everywhere `outer * m + inner` is the fused variable: outer alone may stand for none of it.
            values: dict[Expr, Expr] = {outer: fused // m, inner: fused % m}
            r = substituted(r, values, (*loops[: at - 1], (fused, n * m), *loops[at + 1 :]))
            loops = list(r.loops)
        at -= 1
    return r


def flatten_sums(r: Reduction) -> Reduction:
    """Fuses neighbouring loops of the sum through which every place moves as through one loop (height and width of an image of
    which the mean is taken)."""
    at = len(r.inner) - 1
    while at > 0:
        (outer, n), (inner, m) = r.inner[at - 1], r.inner[at]
        simplify = simplifier(r.loops, r.inner)
        guarded = any(depends(g, v) for g in r.guards for v in (outer, inner))
        places = [e.source.offset(e.indices) for e in loads(r.update) if e.source is not r.acc]
        moved = [coefficients(simplify, i, (outer, inner)) for i in places]
        if not guarded and all(a is not None and b is not None and a == b * m for a, b in moved):
            fused = Var(f"{outer.name}{inner.name}")
            inside = (*r.inner[: at - 1], (fused, n * m), *r.inner[at + 1 :])
            joined = Reduction(r.loops, r.acc, r.init, inside, r.update, r.stores, r.guards)
            r = substituted(joined, {outer: fused // m, inner: fused % m}, r.loops)
        at -= 1
    return r


def split_loops(r: Reduction) -> Reduction:
    """Loops split where operands lie in blocks: `for c: x[c // 16, …, c % 16]  ⇒  for c_b, …, c_i`."""
    for v, extent in r.inner:
        simplify = simplifier(r.loops, r.inner)
        factor = divided_by(simplify, _places(r), v, extent)
        if factor:
            outer, inner = Var(f"{v.name}_b"), Var(f"{v.name}_i")
            at = next(n for n, (x, _) in enumerate(r.inner) if x is v)
            loops = (*r.inner[:at], (outer, extent // factor), *r.inner[at + 1 :], (inner, factor))
            r = Reduction(r.loops, r.acc, r.init, loops, r.update, r.stores, r.guards)
            r = substituted(r, {v: outer * factor + inner}, r.loops)
    return r


def split_groups(r: Reduction) -> Reduction:
    """Loops over results split where an operand's index divides them: groups of channels and the channels of one."""
    for v, extent in r.loops:
        simplify = simplifier(r.loops, r.inner)
        indices = [i for e in loads(r.update) if e.source is not r.acc for i in e.indices]
        factor = divided_by(simplify, indices, v, extent)
        if factor:
            outer, inner = Var(f"{v.name}_g"), Var(v.name)
            at = next(n for n, (x, _) in enumerate(r.loops) if x is v)
            loops = (*r.loops[:at], (outer, extent // factor), (inner, factor), *r.loops[at + 1 :])
            r = substituted(r, {v: outer * factor + inner}, loops)
    return r


def _places(r: Reduction) -> list[Expr]:
    found = [e.source.offset(e.indices) for e in loads(r.update, *(s.value for s in r.stores)) if e.source is not r.acc]
    return found + [s.buffer.offset(s.indices) for s in r.stores]


def substituted(r: Reduction, values: dict[Expr, Expr], loops: tuple[Loop, ...]) -> Reduction:
    simplify = simplifier(loops, r.inner)
    memo = dict(values)

    def change(e: Expr) -> Expr:
        return simplify(rewrite(e, lambda x: x, memo))

    stores = tuple(Store(s.buffer, [change(i) for i in s.indices], change(s.value)) for s in r.stores)
    guards = tuple(change(g) for g in r.guards)
    return Reduction(loops, r.acc, change(r.init), r.inner, change(r.update), stores, guards)
