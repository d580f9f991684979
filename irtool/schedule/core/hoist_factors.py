"""Factors that all terms of a part of a sum share, multiplied once for the part: the scales of blocks of weights.

    for b in 128:                                         for b in 128:
      for k in 32: acc[n] += x[b, k] * w[n, b, k] * s[n, b]  ⇒   part[n] = 0
                                                                 for k in 32: part[n] += x[b, k] * w[n, b, k]
                                                                 acc[n] += part[n] * s[n, b]

The part has registers of its own: where accumulators fill the registers, as in tiles of many rows, each factor is read and multiplied for many
results anyway, and stays where it is. The rewrite applies to the loops of every strategy. Rounding differs: products of a term are not rounded with the
factor.

Terms that are converted sums of products of bytes have a part in integers, however many registers that takes: it is exact, and converted once.
What the first term alone has is the first value of the part:

    acc[n] += float(dot4(x[b, j], w[n, b, j]) + (-c[b] if j == 0 else 0)) * s[n, b]  ⇒   part[n] = -c[b]
                                                                                       for j: part[n] += dot4(x[b, j], w[n, b, j])
                                                                                       acc[n] += float(part[n]) * s[n, b]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...symbolic_int import bound
from ...tir.dtypes import itemsize
from ...tir.expr import Binary, Call, Cast, Const, Expr, Load, Select, Var, const, post_order, substitute
from ...tir.int8_dot import ALL_DOTS, LARGEST
from ...tir.int16_dot import DOT_WIDE
from ...tir.interning import Interner
from ...tir.kernel import Kernel
from ...tir.stmt import (
    SERIAL,
    TILED,
    Allocate,
    Buffer,
    For,
    Seq,
    Stmt,
    Store,
    children,
    pre_order,
    rewrite_stmt,
)
from ...tir.vector_target import VectorTarget
from ..cost.machine import TOGETHER
from .affine import product_factors
from .block_sums import added_to, is_accumulator, only_summed, with_parts


def hoist_factors(k: Kernel, target: VectorTarget) -> Kernel:
    """The kernel with factors of parts of sums outside of the parts; itself if it has none."""
    if not k.stages:
        return k
    nests = [rewrite_stmt(n, lambda s: _changed(s, target)) for n in k.nests]
    return k.replace(nests=nests) if any(a is not b for a, b in zip(nests, k.nests)) else k


@dataclass
class _Sum:
    """The terms that one step of a loop adds to an accumulator.

    Attributes:
        terms: the number of terms that each element gets.
        factor: the factor that all of them share, in terms of `place`.
        place: variables that stand for the indices of an element.
        stores: the updates with the terms that remain.
        is_whole: the terms are integers, of which the sum is converted.
        first: the value with which the part begins, in terms of `place`.
    """

    terms: int
    factor: Expr
    place: tuple[Expr, ...]
    stores: dict[Store, Expr]
    is_whole: bool
    first: Expr

    def at(self, indices: Sequence[Expr], e: Expr) -> Expr:
        """An expression in terms of `place` at the indices of an element."""
        values: dict[Expr, Expr] = {v: i for v, i in zip(self.place, indices, strict=True) if isinstance(v, Var)}
        return substitute(e, values)


def _changed(s: Stmt, target: VectorTarget) -> Stmt:
    """A loop around parts of sums with their factors behind them; other statements stay. The statements inside are rewritten already."""
    if (
        not isinstance(s, For)
        or s.kind != SERIAL
        or any(isinstance(x, For) and x.kind == TILED for x in pre_order(s.body))
    ):
        return s
    sums = _sums(s)
    is_whole = any(one.is_whole for one in sums.values())
    if not sums or (not is_whole and _registers(sums, target) + TOGETHER > target.registers):
        return s
    remaining = {store: rest for one in sums.values() for store, rest in one.stores.items()}

    parts = {b: b.replace(name=f"{b.name}_part", dtype="int32" if one.is_whole else b.dtype) for b, one in sums.items()}

    def without_factor(x: Stmt) -> Stmt:
        if not isinstance(x, Store) or x not in remaining:
            return x
        part = parts[x.buffer]
        return Store(part, x.indices, Load(part, x.indices) + remaining[x])

    def scaled(b: Buffer, part: Load) -> Expr:
        one = sums[b]
        value = Cast(part, b.dtype) if one.is_whole else part
        return value * one.at(part.indices, one.factor)

    body = with_parts(
        rewrite_stmt(s.body, without_factor), parts, scaled, lambda b, indices: sums[b].at(indices, sums[b].first)
    )
    return For(s.var, s.extent, body, s.kind)


def _registers(sums: dict[Buffer, _Sum], target: VectorTarget) -> int:
    """The registers of the accumulators and of their parts."""
    return 2 * sum(-(-bound(math.prod(b.shape)) // target.lanes(itemsize(b.dtype))) for b in sums)


def _sums(loop: For) -> dict[Buffer, _Sum]:
    """The accumulators to which a step of the loop adds terms with a factor that changes with the loop alone."""
    stores: dict[Buffer, list[tuple[Store, tuple[tuple[Var, int], ...]]]] = {}
    inside = {x.buffer for x in pre_order(loop.body) if isinstance(x, Allocate)}
    stack: list[tuple[Stmt, tuple[tuple[Var, int], ...]]] = [(loop.body, ())]
    while stack:
        s, loops = stack.pop()
        if isinstance(s, Store):
            if s.buffer not in inside and is_accumulator(s.buffer) and added_to(s) is not None:
                stores.setdefault(s.buffer, []).append((s, loops))
            continue
        if isinstance(s, For):
            if not isinstance(s.extent, Const):
                return {}
            loops = (*loops, (s.var, s.extent.int_value))
        elif not isinstance(s, Seq) and any(isinstance(x, Store) for x in pre_order(s)):
            return {}  # a condition: not every step adds a term
        stack.extend((c, loops) for c in children(s))
    summed = only_summed(loop, stores)
    sums = {b: one for b in summed if (one := _sum(b, stores[b], loop.var)) is not None}
    return sums if len(sums) == len(stores) else {}


def _sum(b: Buffer, stores: Sequence[tuple[Store, tuple[tuple[Var, int], ...]]], outer: Var) -> _Sum | None:
    place: tuple[Expr, ...] = tuple(
        Var(f"{b.name}_{n}", "int32") if d != 1 else const(0) for n, d in enumerate(b.shape)
    )
    intern = Interner()
    common: list[Expr] | None = None
    terms = 0
    each: dict[Store, tuple[list[Expr], dict[Expr, Expr]]] = {}
    for s, loops in stores:
        if not all(
            isinstance(i, Var) or (isinstance(i, Const) and d == 1) for i, d in zip(s.indices, b.shape, strict=True)
        ):
            return None
        added = added_to(s)
        assert added is not None
        moving = {v for v, _ in loops} - {i for i in s.indices if isinstance(i, Var)}
        terms += math.prod(bound(n) for v, n in loops if v in moving)
        values: dict[Expr, Expr] = {i: p for i, p in zip(s.indices, place, strict=True) if isinstance(i, Var)}
        factors = product_factors(added)
        each[s] = factors, values
        shared = {intern(substitute(f, values)): None for f in factors if _is_shared(f, moving, outer)}
        common = list(shared) if common is None else [f for f in common if f in shared]
    remaining: dict[Store, Expr] = {}
    whole: list[_Whole | None] = []
    for s, (factors, values) in each.items():
        left = set(common or ())
        rest: list[Expr] = []
        for f in factors:
            named = intern(substitute(f, values))
            if named in left:
                left.remove(named)
            else:
                rest.append(f)
        if not rest:
            return None
        remaining[s] = _product(rest)
        whole.append(_whole(rest, outer) if len(rest) == 1 else None)
    firsts = {
        intern(substitute(x.first, values)): None
        for x, (_, values) in zip(whole, each.values(), strict=True)
        if x is not None and x.first is not None
    }
    if not common:
        return None
    if whole and all(x is not None and terms * x.most < 1 << 31 for x in whole) and len(firsts) <= 1:
        terms_of = {s: x.term for s, x in zip(each, whole, strict=True) if x is not None}
        return _Sum(terms, _product(common), place, terms_of, True, next(iter(firsts), const(0)))
    if terms < 2 * TOGETHER or b.dtype not in ("float32", "float64"):
        return None
    return _Sum(terms, _product(common), place, remaining, False, const(0.0, b.dtype))


@dataclass(frozen=True)
class _Whole:
    """A converted sum of products of bytes.

    Attributes:
        term: the sum.
        most: its largest magnitude.
        first: what the first term of a block has besides; None for another term.
    """

    term: Expr
    most: int
    first: Expr | None


def _whole(factors: Sequence[Expr], outer: Var) -> _Whole | None:
    """The sum of products of bytes that the only factor converts; None for another factor."""
    (e,) = factors
    if not isinstance(e, Cast) or e.value.dtype != "int32":
        return None
    value: Expr = e.value
    first: Expr | None = None
    if isinstance(value, Binary) and value.op == "+" and isinstance(value.b, Select):
        once = value.b
        if not isinstance(once.other, Const) or once.other.value != 0 or outer not in set(post_order(once.then)):
            return None
        value, first = value.a, once.then
    most = largest_product(value)
    return _Whole(value, most, first) if most else None


def largest_product(e: Expr) -> int:
    """The largest magnitude of a product of two bytes; 1 for a sum of products that an instruction computes, and 0 for other expressions.

    Only sums of integers have such instructions: in floats, they are parts of such sums (`MergeBlockSums`), and wrap at 32 bits as these did.
    """
    if isinstance(e, Call) and (e.name in ALL_DOTS or e.name == DOT_WIDE):
        return 1
    is_product = isinstance(e, Binary) and e.op == "*" and e.dtype == "int32"
    return LARGEST * LARGEST if is_product and _is_byte(e.a) and _is_byte(e.b) else 0  # type: ignore[attr-defined]  # a product's


def _is_byte(e: Expr) -> bool:
    """True for a byte that is widened, and for a part of its bits."""
    if isinstance(e, Binary) and e.op == "&":
        return isinstance(e.b, Const) and 0 <= e.b.value <= LARGEST
    if isinstance(e, Binary) and e.op == ">>":
        e = e.a
    return isinstance(e, Cast) and e.value.dtype in ("int8", "uint8")


def _is_shared(f: Expr, moving: set[Var], outer: Var) -> bool:
    """True for a factor that changes with the loop outside, and not with those of the part."""
    used = set(post_order(f))
    return outer in used and not used & moving


def _product(factors: Sequence[Expr]) -> Expr:
    result = factors[0]
    for f in factors[1:]:
        result = result * f
    return result
