"""Rewriting that removes `let`s: the value of a variable goes to the uses of the variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from ...ir import Expr, Function, Let, Var, post_order, rewrite

Replace = Callable[[Var, Expr], "Expr | None"]
Leave = Callable[[Expr, Expr], Expr]
Enter = Callable[[Expr], "Expr | None"]


@overload
def rewrite_lets(
    root: Function, replace: Replace, leave: Leave | None = None, enter: Enter | None = None
) -> Function: ...
@overload
def rewrite_lets(root: Expr, replace: Replace, leave: Leave | None = None, enter: Enter | None = None) -> Expr: ...
def rewrite_lets(root: Expr, replace: Replace, leave: Leave | None = None, enter: Enter | None = None) -> Expr:
    """`ir.rewrite`, with `let`s whose variable is replaced by something else.

    `replace(var, value)` is asked once for each `let`, when its value has been rewritten and before its body is; what it
    returns stands in the place of the variable, and the `let` goes. None keeps the `let`. Inside the value (of a recursive
    function) the variable stays itself.
    """
    bound_to: dict[Expr, list[Var]] = {}
    for e in post_order(root):
        if isinstance(e, Let):
            bound_to.setdefault(e.value, []).append(e.var)
    if not bound_to:
        return rewrite(root, leave, enter) if leave else root
    memo: dict[Expr, Expr] = {}
    inlined: set[Var] = set()

    def settle(value: Expr, result: Expr) -> None:
        waiting = [(value, result)]
        while waiting:
            e, now = waiting.pop()
            for var in bound_to.get(e, ()):
                stands_for = replace(var, now)
                if stands_for is not None:
                    memo[var] = stands_for
                    inlined.add(var)
                    waiting.append((var, stands_for))

    def on_leave(old: Expr, new: Expr) -> Expr:
        if isinstance(old, Let) and old.var in inlined:
            assert isinstance(new, Let)
            result = new.body
        else:
            result = leave(old, new) if leave else new
        if old in bound_to:
            settle(old, result)
        return result

    def on_enter(old: Expr) -> Expr | None:
        result = enter(old) if enter else None
        if result is not None and old in bound_to:
            settle(old, result)
        return result

    return rewrite(root, on_leave, on_enter if enter else None, memo)
