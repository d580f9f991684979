"""The places where a function that calls itself ends: calls of itself, results, and the branches and `let`s around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...ir import Call, Expr, Function, GlobalVar, If, Let, post_order


@dataclass(frozen=True)
class Tails:
    """The end of a body.

    Attributes:
        around: branches and `let`s, outer ones first.
        again: calls of the function itself.
        results: other expressions that the body ends with.
    """

    around: Sequence[Expr]
    again: Sequence[Call]
    results: Sequence[Expr]

    @property
    def frame(self) -> set[Expr]:
        """The expressions whose types are those of the function's result."""
        return {*self.around, *self.again}


def tails_of(body: Expr, name: str) -> Tails:
    """The end of the body of the function of that name."""
    around: dict[Expr, None] = {}
    again: dict[Call, None] = {}
    results: dict[Expr, None] = {}
    stack = [body]
    while stack:
        e = stack.pop()
        if isinstance(e, If | Let):
            if e not in around:
                around[e] = None
                stack += [*_ends(e)]
        elif calls_itself(e, name):
            assert isinstance(e, Call)
            again[e] = None
        else:
            results[e] = None
    return Tails(list(around), list(again), list(results))


def ends_with_its_calls(f: Function, name: str) -> bool:
    """True if the function calls itself, and has nothing to do after any of these calls."""
    calls = {e for e in post_order(f.body) if calls_itself(e, name)}
    return bool(calls) and calls == {*tails_of(f.body, name).again}


def calls_itself(e: Expr, name: str) -> bool:
    """True for a call of the function of that name."""
    return isinstance(e, Call) and isinstance(e.op, GlobalVar) and e.op.name == name


def with_ends(body: Expr, tails: Tails, change: Callable[[Expr], Expr]) -> Expr:
    """The body, of these tails, with other ends."""
    changed: dict[Expr, Expr] = {e: change(e) for e in (*tails.again, *tails.results)}
    waiting = [body]
    while waiting:
        e = waiting[-1]
        if e in changed:
            waiting.pop()
            continue
        missing = [x for x in _ends(e) if x not in changed]
        waiting += missing
        if not missing:
            changed[e] = _rebuilt(e, [changed[x] for x in _ends(e)])
    return changed[body]


def _ends(e: Expr) -> tuple[Expr, ...]:
    if isinstance(e, If):
        return e.true_branch, e.false_branch
    assert isinstance(e, Let)
    return (e.value,) if e.body is e.var else (e.body,)


def _rebuilt(e: Expr, ends: Sequence[Expr]) -> Expr:
    if isinstance(e, If):
        return If(e.cond, ends[0], ends[1], e.span)
    assert isinstance(e, Let)
    return ends[0] if e.body is e.var else Let(e.var, e.value, ends[0], e.span)
