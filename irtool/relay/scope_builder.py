"""ScopeBuilder: a program written statement by statement, as nested `let`s."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..ir import Expr, If, Let, Type, Var
from .literals import as_expr


class ScopeBuilder:
    """Statements in order: `let` binds, `if_scope` and `else_scope` branch, `ret` gives the result, `get` the whole expression::

    sb = ScopeBuilder()
    y = sb.let("y", relay.log(x))
    with sb.if_scope(cond):
        sb.ret(y)
    with sb.else_scope():
        sb.ret(x)
    body = sb.get()
    """

    def __init__(self) -> None:
        self._bindings: list[list[tuple[Var, Expr]]] = [[]]
        self._results: list[Any] = [None]
        self._branch: tuple[Expr, Expr] | None = None

    def let(self, var: Var | str | tuple[str, Type], value: Any) -> Var:
        """Binds a value to a variable: one that is given, or a new one of a name and perhaps a type."""
        if isinstance(var, str):
            var = Var(var)
        elif isinstance(var, tuple):
            var = Var(*var)
        self._bindings[-1].append((var, as_expr(value, f"the value of %{var.name}")))
        return var

    @contextmanager
    def if_scope(self, cond: Any) -> Iterator[None]:
        """The statements of the branch that is taken where `cond` holds; `else_scope` comes next."""
        with self._scope():
            yield
            self._branch = (as_expr(cond, "the condition"), self._whole())

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """The statements of the other branch. Raises ValueError if no `if_scope` stands before it."""
        if self._branch is None:
            raise ValueError("else_scope follows if_scope")
        cond, taken = self._branch
        with self._scope():
            yield
            other = self._whole()
        self._branch = None
        self._give(If(cond, taken, other))

    def ret(self, value: Any) -> None:
        """The result of this scope. Raises ValueError if it has one."""
        self._give(as_expr(value, "the result"))

    def get(self) -> Expr:
        """The whole expression. Raises ValueError if no result was given."""
        return self._whole()

    @contextmanager
    def _scope(self) -> Iterator[None]:
        self._bindings.append([])
        self._results.append(None)
        try:
            yield
        finally:
            self._bindings.pop()
            self._results.pop()

    def _give(self, value: Expr) -> None:
        if self._results[-1] is not None:
            raise ValueError("the scope has a result")
        self._results[-1] = value

    def _whole(self) -> Expr:
        body = self._results[-1]
        if body is None:
            raise ValueError("no result was given: call ret")
        for var, value in reversed(self._bindings[-1]):
            body = Let(var, value, body)
        return body
