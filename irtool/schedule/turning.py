"""Transposed operands of element-by-element nests, a square at a time.

    for i, j: out[i, j] = f(x[j, i])

    ⇒   for squares:
          for j, i: turned[j, i] = x[j, i]        (vectors along i)
          for i, j: out[i, j] = f(turned[j, i])   (vectors along j)

Every line of memory is read and written at once, not one element of it at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from ..tir.expr import Expr, Load, Select, Var, const, post_order, rewrite
from ..tir.simplify import Simplifier
from ..tir.stmt import SERIAL, VECTORIZED, Allocate, Buffer, For, Stmt, Store, seq
from .affine import loads, simplifier, stride
from .forms import Loop, Map
from .splitting import pieces

_LEAST = 4
"""Elements along an axis that are worth a square."""

Substitute = Callable[[Map, dict[Expr, Expr], tuple[Loop, ...]], Map]


@dataclass(frozen=True)
class Axes:
    """The loop along which results are contiguous, and the one along which some operand is that moves with both."""

    written: Loop
    read: Loop


def choose_axes(m: Map) -> Axes | None:
    """The axes that change places; None if there are none, or a condition decides what is read."""
    values = [s.value for s in m.stores]
    if any(isinstance(e, Select) and e.lazy for e in post_order(*values)):
        return None
    simplify = simplifier(m.loops)
    for v, n in m.loops:
        if n < _LEAST or any(stride(simplify, s.buffer.offset(s.indices), v) != 1 for s in m.stores):
            continue
        for w, k in m.loops:
            if w is not v and k >= _LEAST and any(_is_turned(simplify, e, v, w) for e in loads(*values)):
                return Axes((v, n), (w, k))
    return None


def _is_turned(simplify: Simplifier, e: Load, written: Var, read: Var) -> bool:
    place = e.source.offset(e.indices)
    step = stride(simplify, place, written)
    return step is not None and step >= _LEAST and stride(simplify, place, read) == 1


def schedule(m: Map, axes: Axes, lanes: int, substitute: Substitute, kind: str) -> Stmt:
    """The nest in squares, its outermost loop of the given kind."""
    (v, n), (w, k) = axes.written, axes.read
    others = [(x, Var(x.name), extent) for x, extent in m.loops if x is not v and x is not w]
    outside: list[Loop] = [(y, extent) for _, y, extent in others]
    parts: list[Stmt] = []
    for (first_v, many_v, size_v), (first_w, many_w, size_w) in product(pieces(n, lanes), pieces(k, lanes)):
        block_v, in_v = Var(f"{v.name}_o"), Var(f"{v.name}_v")
        block_w, in_w = Var(f"{w.name}_o"), Var(f"{w.name}_v")
        values: dict[Expr, Expr] = {x: y for x, y, _ in others}
        values[v] = (block_v * size_v if many_v > 1 else const(0)) + in_v + first_v
        values[w] = (block_w * size_w if many_w > 1 else const(0)) + in_w + first_w
        blocks = [loop for loop in ((block_v, many_v), (block_w, many_w)) if loop[1] > 1]
        loops = (*outside, *blocks, (in_w, size_w), (in_v, size_v))
        body = _square(substitute(m, values, loops), (in_v, size_v), (in_w, size_w))
        for n_, (x, extent) in reversed(list(enumerate(blocks))):
            body = For(x, extent, body, kind if not outside and n_ == 0 else SERIAL)
        parts.append(body)
    made = seq(parts)
    for n_, (x, extent) in reversed(list(enumerate(outside))):
        made = For(x, extent, made, kind if n_ == 0 else SERIAL)
    return made


def _square(m: Map, written: Loop, read: Loop) -> Stmt:
    """One square: its operands put into arrays, and the results made from these."""
    (v, n), (w, k) = written, read
    simplify = simplifier(m.loops)
    arrays: dict[Expr, Expr] = {}
    fills: list[Stmt] = []
    buffers: list[Buffer] = []
    if n > 1 and k > 1:
        for e in dict.fromkeys(loads(*(s.value for s in m.stores))):
            if _is_turned(simplify, e, v, w):
                buffers.append(Buffer("turned", (n, k), e.dtype, "local"))
                arrays[e] = Load(buffers[-1], (v, w))
                line = For(w, k, Store(buffers[-1], (v, w), e), VECTORIZED)
                fills.append(For(v, n, line))
    row, column = Var(w.name), Var(v.name)
    own: dict[Expr, Expr] = {w: row, v: column}

    def change(e: Expr) -> Expr:
        return rewrite(rewrite(e, lambda x: arrays.get(x, x), {}), lambda x: x, dict(own))

    stores = [Store(s.buffer, [change(i) for i in s.indices], change(s.value)) for s in m.stores]
    results = For(row, k, For(column, n, seq(stores), VECTORIZED if n > 1 else SERIAL))
    made = seq([*fills, results])
    for b in buffers:
        made = Allocate(b, made)
    return made
