"""Quotients of sums and remainders in the form that loops which are split have: as `src/tir/transforms/renormalize_split_pattern.cc`
in TVM 0.10 has it."""

from __future__ import annotations

import math

from ...tir.expr import Binary, Const, Expr, const, rewrite
from ...tir.stmt import PrimFunc, rewrite_stmt

_DEPTH = 5
"""So many rules apply in each other at most, as in TVM."""

_INDEX = ("int32", "int64")


def renormalize_splits(f: PrimFunc) -> PrimFunc:
    """The function in which the remainder of a quotient stands for the quotient of a remainder.

    ::

        (x floormod c*d) floordiv d       ⇒  (x floordiv d) floormod c
        (x*c*e + y) floordiv d*e          ⇒  (x*c + y floordiv e) floordiv d
        x < c                             ⇒  x floordiv c < 1

    for constants of which none is below 1; integers of 32 and 64 bits only.
    """
    memo: dict[Expr, Expr] = {}
    return f.with_body(rewrite_stmt(f.body, lambda s: s, lambda e: rewrite(e, _change, memo)))


def _change(e: Expr) -> Expr:
    if not isinstance(e, Binary) or e.a.dtype not in _INDEX:
        return e
    if e.op == "floordiv" and _above(e.b, 0):
        quotient = _divided(e.a, e.b, _DEPTH)
        return quotient if quotient is not None else e
    if e.op == "<" and _above(e.b, 1):
        return _quotient(e.a, e.b, _DEPTH) < const(1, e.a.dtype)
    if e.op == "<=" and _above(e.a, 1):
        return const(1, e.b.dtype) <= _quotient(e.b, e.a, _DEPTH)
    return e


def _above(e: Expr, limit: int) -> bool:
    return isinstance(e, Const) and e.value > limit


def _quotient(x: Expr, c: Expr, depth: int) -> Expr:
    """`x floordiv c`, of a constant above 0, with the rules applied."""
    quotient = _divided(x, c, depth)
    return x // c if quotient is None else quotient


def _divided(x: Expr, c: Expr, depth: int) -> Expr | None:
    """`x floordiv c` by the first rule that fits; None if none does."""
    assert isinstance(c, Const)
    divisor = int(c.value)
    if not depth or divisor == 1 or not isinstance(x, Binary):
        return None
    if x.op == "floormod" and isinstance(x.b, Const) and x.b.value > 0 and x.b.value % divisor == 0:
        return _quotient(x.a, c, depth - 1) % const(int(x.b.value) // divisor, x.dtype)
    if x.op != "+":
        return None
    terms = _terms(x)
    for n, term in enumerate(terms):
        if not isinstance(term, Binary) or term.op != "*" or not _above(term.b, 0):
            continue
        assert isinstance(term.b, Const)
        common = math.gcd(int(term.b.value), divisor)
        if common == 1:
            continue
        rest = terms[:n] + terms[n + 1 :]
        total = rest[0]
        for other in rest[1:]:
            total = total + other
        inner = _quotient(total, const(common, x.dtype), depth - 1)
        whole = term.a * const(int(term.b.value) // common, x.dtype) + inner
        return _quotient(whole, const(divisor // common, x.dtype), depth - 1)
    return None


def _terms(e: Expr) -> list[Expr]:
    """The terms of a sum, in order."""
    terms: list[Expr] = []
    stack = [e]
    while stack:
        x = stack.pop()
        if isinstance(x, Binary) and x.op == "+":
            stack += [x.b, x.a]
        else:
            terms.append(x)
    return terms
