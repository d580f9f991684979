"""Putting a function's body in the place of a call of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from ...ir import Call, Expr, Function, binders, children, post_order, rebuild, refresh, substitute, use_counts
from ...ir.spans import spread_place
from .instantiation import instantiate, types_of_call


class BetaReducer:
    """Replaces calls by bodies. The second time that a body is used, it gets bound variables of its own."""

    def __init__(self) -> None:
        self._used: set[Function] = set()

    def body(self, function: Function, args: Sequence[Expr], call: Call) -> Expr:
        """The body with `args` for the parameters, and with the types that `call` gives a polymorphic function."""
        if function.type_params:
            function = instantiate(function, types_of_call(function, call))
        return substitute(self._own(function).body, dict(zip(function.params, args, strict=True)))

    def copy(self, function: Function) -> Function:
        """The function itself the first time, a copy with variables of its own after that."""
        if function not in self._used:
            self._used.add(function)
            return function
        return refresh(function)

    def _own(self, function: Function) -> Function:
        if function not in self._used:
            self._used.add(function)
            return function
        if not any(binders(e) for e in post_order(function.body)):
            return function
        return Function(
            function.params, refresh(function.body), function.ret_type, function.type_params, function.attrs
        )


@overload
def reduce_literals(root: Function) -> Function: ...
@overload
def reduce_literals(root: Expr) -> Expr: ...
def reduce_literals(root: Expr) -> Expr:
    """`root` with the bodies of function literals in the place of calls of them, where a literal is nothing but called, once.

    One walk does it, the arguments before the body: of calls inside the bodies of others each body is looked at once.
    """
    counts = use_counts(root)
    literals: dict[Expr, Function] = {
        e: e.op
        for e in counts
        if isinstance(e, Call) and isinstance(e.op, Function) and counts[e.op] == 1 and not e.op.type_params
    }
    if not literals:
        return root
    memo: dict[Expr, Expr] = {}
    stack: list[tuple[str, Expr]] = [("look", root)]
    while stack:
        step, e = stack.pop()
        f = literals.get(e)
        if step == "look":
            if e not in memo:
                kids = e.args if f is not None and isinstance(e, Call) else children(e)
                stack.append(("build" if f is None else "bind", e))
                stack.extend(("look", k) for k in reversed(kids))
        elif f is None:
            reduced = memo[e] = rebuild(e, [memo[k] for k in children(e)])
            if reduced.span is None and e.span is not None:
                spread_place(reduced, e.span)
        elif step == "bind":
            assert isinstance(e, Call)
            memo.update((p, memo[a]) for p, a in zip(f.params, e.args, strict=True))
            stack += [("take", e), ("look", f.body)]
        else:
            memo[e] = memo[f.body]
    return memo[root]
