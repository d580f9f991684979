"""Conditions and `let`s that are the same in every step of a loop, taken out of it, wherever in its body they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from enum import IntFlag

from ...tir.expr import Binary, Const, Expr, Load, Select, const, post_order
from ...tir.interning import Interner
from ...tir.renaming import fresh_copy
from ...tir.sharing import loop_bounds
from ...tir.stmt import For, If, Let, PrimFunc, Seq, Stmt, While, expressions, pre_order, rewrite_stmt, substitute_stmt
from ...tir.stmt import children as substatements
from .simplify import Ranges, simplify_statement


class Conditionals(IntFlag):
    """The kinds of conditions to hoist; the numbers are TVM's."""

    IF_ELSE_STMT = 1
    IF_ELSE_EXPR = 2
    BOOLEAN_EXPRESSION = 4
    USING_BLOCK_VAR = 8


class LetBindings(IntFlag):
    """The kinds of `let`s to hoist; the numbers are TVM's."""

    REQUIRED_BY_CONDITION = 1
    LET_STMT = 2
    LET_EXPR = 4


_MOST = 4
"""Conditions that are taken out of one loop, which doubles it each time."""


def hoist_expressions(f: PrimFunc, conditionals: Conditionals, lets: LetBindings) -> PrimFunc:
    """The function whose conditions and `let`s stand around the outermost loop in which they do not change.

    Where a condition holds, a copy of the loop runs in which it is true, else one in which it is false. Only what comes with every
    step is considered, not what is one of several statements, and nothing that reads memory.
    """
    return f.with_body(_Hoister(f, conditionals, lets).run())


class _Hoister:
    def __init__(self, f: PrimFunc, conditionals: Conditionals, lets: LetBindings) -> None:
        self.body = f.body
        self.conditionals = conditionals
        self.lets = lets
        self.bounds: Ranges = dict(loop_bounds(f))
        self.same = Interner()
        self.moved: set[Expr] = set()
        """Conditions that were taken out of an inner loop, and may move on."""

    def run(self) -> Stmt:
        return rewrite_stmt(self.body, lambda s: self.hoisted(s, _MOST) if isinstance(s, For) else s, self.same)

    def hoisted(self, loop: For, most: int) -> Stmt:
        """A loop below the conditions, `most` at most, and `let`s that were in it."""
        invariant = _invariant_lets(loop)
        fixed = {s.var for s in pre_order(loop) if isinstance(s, For | Let)} - invariant.keys()
        uses_lets = bool(self.lets & (LetBindings.LET_STMT | LetBindings.REQUIRED_BY_CONDITION))
        barred = fixed if uses_lets else fixed | invariant.keys()
        cond = next((c for c in self.conditions(loop) if _is_invariant(c, barred)), None) if most else None
        moving = invariant if LetBindings.LET_STMT in self.lets else _required(cond, invariant) if uses_lets else {}
        stmt: Stmt = loop
        if moving:
            stmt = rewrite_stmt(loop, lambda s: s.body if isinstance(s, Let) and s.var in moving else s)
        if cond is not None:
            self.moved.add(cond)
            then, other = self.decided(stmt, cond, True), fresh_copy(self.decided(stmt, cond, False))
            stmt = If(cond, *(self.hoisted(x, most - 1) if isinstance(x, For) else x for x in (then, other)))
        for s in reversed(moving.values()):
            stmt = Let(s.var, s.value, stmt)
        return stmt

    def conditions(self, loop: For) -> Iterator[Expr]:
        """The conditions that may be taken out of a loop if they are the same in every step, larger ones first."""
        for s in _every_step(loop):
            if isinstance(s, If) and (Conditionals.IF_ELSE_STMT in self.conditionals or s.cond in self.moved):
                yield s.cond
            for e in reversed(post_order(*expressions(s))):
                if isinstance(e, Select) and e.lazy and Conditionals.IF_ELSE_EXPR in self.conditionals:
                    yield e.cond
                elif isinstance(e, Binary) and e.op in ("and", "or"):
                    yield from (e.a, e.b) if Conditionals.BOOLEAN_EXPRESSION in self.conditionals else ()

    def decided(self, s: Stmt, cond: Expr, value: bool) -> Stmt:
        """A statement where a condition holds, or does not."""
        branch = simplify_statement(substitute_stmt(s, {cond: const(value)}), self.bounds)
        return rewrite_stmt(branch, lambda s: s, self.same)


def _every_step(loop: For) -> Iterator[Stmt]:
    """The statements that are the whole body of a loop, or of a branch that is."""
    stack = [loop.body]
    while stack:
        s = stack.pop()
        if not isinstance(s, Seq | For | While):
            yield s
            stack.extend(reversed(substatements(s)))


def _invariant_lets(loop: For) -> dict[Expr, Let]:
    """The `let`s whose values are the same in every step, by their variables."""
    bound: set[Expr] = {s.var for s in pre_order(loop) if isinstance(s, For | Let)}
    result: dict[Expr, Let] = {}
    for s in _every_step(loop):
        if isinstance(s, Let) and _is_invariant(s.value, bound):
            result[s.var] = s
            bound.discard(s.var)
    return result


def _is_invariant(e: Expr, bound: Set[Expr]) -> bool:
    return not isinstance(e, Const) and not any(x in bound or isinstance(x, Load) for x in post_order(e))


def _required(cond: Expr | None, lets: Mapping[Expr, Let]) -> dict[Expr, Let]:
    """The `let`s that a condition depends on, in the same order."""
    needed: set[Expr] = set() if cond is None else set(post_order(cond))
    for v, s in reversed(list(lets.items())):
        if v in needed:
            needed.update(post_order(s.value))
    return {v: s for v, s in lets.items() if v in needed}
