"""Putting a function's body in the place of a call of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Call, Expr, Function, binders, post_order, refresh, substitute
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
        return refresh(function)  # type: ignore[return-value]

    def _own(self, function: Function) -> Function:
        if function not in self._used:
            self._used.add(function)
            return function
        if not any(binders(e) for e in post_order(function.body)):
            return function
        return Function(
            function.params, refresh(function.body), function.ret_type, function.type_params, function.attrs
        )
