"""TVM's ExprVisitor and ExprMutator: a method for each kind of node.

They are for programs that have them already, whose methods call each other: their depth is limited by Python's recursion. New code is
shorter, and has no limit, with `irtool.ir.post_order` and `irtool.ir.rewrite`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..diagnostics import UsageError
from ..ir import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    children,
    with_function,
)
from ..ir.expr import rebuild

_KINDS: tuple[type[Expr], ...] = (
    *(Var, GlobalVar, Constant, Op, Constructor, Tuple, TupleGetItem, Call),
    *(Function, Let, If, Match, RefCreate, RefRead, RefWrite),
)
_METHODS: dict[type[Expr], str] = {
    k: "visit_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", k.__name__).lower() for k in _KINDS
}
_METHODS[TupleGetItem] = "visit_tuple_getitem"


class ExprFunctor:
    """Base of both: `visit(e)` calls the method for the kind of `e` once, and remembers its result."""

    def __init__(self) -> None:
        self.memo_map: dict[Expr, Any] = {}

    def visit(self, expr: Expr) -> Any:
        """The result for an expression. Raises UsageError if methods call each other too deep for Python."""
        if expr not in self.memo_map:
            method: Callable[[Any], Any] = getattr(self, _METHODS[type(expr)])
            try:
                self.memo_map[expr] = method(expr)
            except RecursionError:
                raise UsageError(
                    f"{type(self).__name__} calls itself deeper than Python allows",
                    help="irtool.ir.rewrite and irtool.ir.post_order have no such limit",
                ) from None
        return self.memo_map[expr]


class ExprVisitor(ExprFunctor):
    """Visits each node of an expression once. An overriding method visits the children by calling `visit`, or `super()`."""

    def _below(self, e: Expr) -> None:
        for child in children(e):
            self.visit(child)

    def visit_function(self, f: Function) -> None:
        """Parameters, then the body."""
        for param in f.params:
            self.visit(param)
        self.visit(f.body)

    def visit_let(self, let: Let) -> None:
        """The variable, its value, the body."""
        self.visit(let.var)
        self._below(let)

    visit_var = visit_global_var = visit_constant = visit_op = visit_constructor = _below
    visit_tuple = visit_tuple_getitem = visit_call = visit_if = visit_match = _below
    visit_ref_create = visit_ref_read = visit_ref_write = _below


class ExprMutator(ExprFunctor):
    """Makes a new expression: a method returns the replacement of its node."""

    def _rebuilt(self, e: Expr) -> Expr:
        return rebuild(e, [self.visit(c) for c in children(e)])

    def visit_function(self, fn: Function) -> Expr:
        """The function with its parameters and its body visited."""
        params = tuple(self.visit(p) for p in fn.params)
        body = self.visit(fn.body)
        if body is fn.body and all(a is b for a, b in zip(params, fn.params, strict=True)):
            return fn
        return with_function(fn, params=params, body=body)

    def visit_let(self, let: Let) -> Expr:
        """The binding with its variable, value and body visited."""
        var, value, body = self.visit(let.var), self.visit(let.value), self.visit(let.body)
        if var is let.var and value is let.value and body is let.body:
            return let
        return Let(var, value, body, let.span)

    def visit_match(self, m: Match) -> Expr:
        """The match with its data and the bodies of its clauses visited."""
        data = self.visit(m.data)
        clauses: list[Clause] = [c.with_body(self.visit(c.body)) for c in m.clauses]
        return Match(data, tuple(clauses), m.complete, m.span)

    visit_var = visit_global_var = visit_constant = visit_op = visit_constructor = _rebuilt
    visit_tuple = visit_tuple_getitem = visit_call = visit_if = _rebuilt
    visit_ref_create = visit_ref_read = visit_ref_write = _rebuilt
