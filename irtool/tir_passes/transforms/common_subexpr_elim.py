"""Common subexpressions of a statement, computed once before it."""

from __future__ import annotations

from collections import Counter

from ...tir.expr import (
    Binary,
    Call,
    Cast,
    Expr,
    Load,
    Select,
    Var,
    always_evaluated,
    children,
    post_order,
    rewrite,
    substitute,
)
from ...tir.interning import Interner
from ...tir.simplify import Simplifier
from ...tir.stmt import For, If, Let, PrimFunc, Stmt, Store, expressions, rebuild, rewrite_stmt
from ...tir.stmt import children as substatements


def eliminate_common_subexpressions(f: PrimFunc, identify_equiv_terms: bool = False) -> PrimFunc:
    """The function in which arithmetic that one statement has twice is a `let` before it.

    What reads memory is left alone, and so is what stands under a condition only. `identify_equiv_terms`: terms are equal
    if they are so when simplified, not only as they are written.
    """

    def change(s: Stmt) -> Stmt:
        if not isinstance(s, Store | If | For | Let):
            return s
        same = Interner()
        small = Simplifier() if identify_equiv_terms else same
        exprs = [same(small(e)) for e in expressions(s)]
        bound: list[tuple[Var, Expr]] = []
        while True:
            chosen = _repeated(exprs)
            if chosen is None:
                break
            v = Var("cse_var", chosen.dtype)
            exprs = [same(substitute(e, {chosen: v})) for e in exprs]
            bound.append((v, chosen))
        if not bound:
            return s
        stmt: Stmt = rebuild(s, substatements(s), exprs)
        for v, e in reversed(_in_order(bound)):
            stmt = Let(v, e, stmt)
        return stmt

    return f.with_body(rewrite_stmt(f.body, change))


def _repeated(exprs: list[Expr]) -> Expr | None:
    """The largest expression that stands at several places, and is worth a variable."""
    counts: Counter[Expr] = Counter(exprs)
    always: set[Expr] = set()
    reads: set[Expr] = set()
    sizes: dict[Expr, int] = {}
    for e in post_order(*exprs):
        kids = children(e)
        counts.update(kids)
        sizes[e] = min(1 + sum(sizes[k] for k in kids), 1 << 30)
        if isinstance(e, Load) or any(k in reads for k in kids):
            reads.add(e)
    for e in exprs:
        always |= always_evaluated(e)
    repeated = [
        e
        for e, n in counts.items()
        if n > 1 and e in always and e not in reads and isinstance(e, Binary | Call | Cast | Select)
    ]
    return max(repeated, key=lambda e: sizes[e], default=None)


def _in_order(bound: list[tuple[Var, Expr]]) -> list[tuple[Var, Expr]]:
    """Operands first: they were found later, being smaller."""
    variables: dict[Expr, Expr] = {e: v for v, e in bound}
    out: list[tuple[Var, Expr]] = []
    for v, e in reversed(bound):
        memo: dict[Expr, Expr] = {x: y for x, y in variables.items() if x is not e}
        out.append((v, rewrite(e, lambda x: x, memo)))
    return out
