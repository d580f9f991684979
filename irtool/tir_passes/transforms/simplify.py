"""Simplification of arithmetic, with the ranges of loops and conditions; decided branches are taken."""

from __future__ import annotations

from collections.abc import Iterator

from ...tir import dtypes
from ...tir.expr import Binary, Const, Expr, Var
from ...tir.simplify import Simplifier
from ...tir.stmt import For, If, Let, PrimFunc, Seq, Stmt, expressions, rebuild, seq
from ...tir.stmt import children as substatements

Ranges = dict[Expr, tuple[float, float]]


def simplify_function(f: PrimFunc) -> PrimFunc:
    """The function with its arithmetic made small."""
    return f.with_body(simplify_statement(f.body, {}))


def simplify_statement(root: Stmt, around: Ranges) -> Stmt:
    """A statement made small where the variables are within `around`."""
    done: list[Stmt] = []
    stack: list[tuple[Stmt, Simplifier, tuple[Expr, ...] | None, int]] = [(root, Simplifier(around), None, 0)]
    while stack:
        s, simplify, exprs, count = stack.pop()
        if exprs is not None:
            first = len(done) - count
            done[first:] = [_decided(rebuild(s, done[first:], exprs))]
            continue
        exprs = tuple(simplify(e) for e in expressions(s))
        if isinstance(s, If) and isinstance(exprs[0], Const):
            taken = s.then if exprs[0].value else s.other
            if taken is None:
                done.append(Seq(()))
            else:
                stack.append((taken, simplify, None, 0))
            continue
        kids = substatements(s)
        stack.append((s, simplify, exprs, len(kids)))
        inner = [_inside(s, exprs, simplify, n) for n in range(len(kids))]
        stack.extend((k, x, None, 0) for k, x in zip(reversed(kids), reversed(inner), strict=True))
    return done[0]


def _inside(s: Stmt, exprs: tuple[Expr, ...], simplify: Simplifier, branch: int) -> Simplifier:
    """The simplifier for the body of a statement."""
    more: Ranges = {}
    if isinstance(s, For) and dtypes.is_int(s.var.dtype):
        more[s.var] = (0, max(simplify.range(exprs[0])[1] - 1, 0))
    elif isinstance(s, Let) and dtypes.is_int(s.var.dtype):
        more[s.var] = simplify.range(exprs[0])
    elif isinstance(s, If):
        for v, low, high in _implied_bounds(exprs[0], simplify, branch == 0):
            a, b = more.get(v, simplify.range(v))
            more[v] = (max(a, low), min(b, high))
        more = {v: r for v, r in more.items() if r[0] <= r[1]}
    return Simplifier({**simplify.bounds, **more}) if more else simplify


def _implied_bounds(cond: Expr, simplify: Simplifier, holds: bool) -> Iterator[tuple[Var, float, float]]:
    """Bounds of single variables from a condition that holds or does not."""
    stack = [cond]
    while stack:
        e = stack.pop()
        if not isinstance(e, Binary):
            continue
        if e.op == ("and" if holds else "or"):
            stack += [e.a, e.b]
        elif e.op in ("<", "<=") and dtypes.is_int(e.a.dtype):
            # terms + offset <= 0 where it holds
            a, b = (e.a, e.b) if holds else (e.b, e.a)
            strict = (e.op == "<") == holds
            terms, offset = simplify.linear(a - b)
            if len(terms) != 1:
                continue
            ((v, k),) = terms.items()
            if isinstance(v, Var) and k in (1, -1):
                limit = -(offset + strict)
                yield (v, float("-inf"), limit) if k == 1 else (v, -limit, float("inf"))


def _decided(s: Stmt) -> Stmt:
    """A statement whose parts are simple: loops of no step are nothing."""
    if isinstance(s, For) and isinstance(s.extent, Const) and s.extent.value <= 0:
        return Seq(())
    return seq(s.stmts) if isinstance(s, Seq) else s
