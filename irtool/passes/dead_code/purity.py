"""Whether evaluating an expression can be told apart from not evaluating it.

An expression is *pure* if its evaluation neither reads nor writes any state, and *call-pure* if, besides, its value is no
function whose call would. The analysis errs on the side of impurity: functions that are parameters, or come out of tuples,
references and data, are taken to be impure, as are external functions.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from ...ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    bound_vars,
)
from ...trampoline import trampoline

DEEPEST_CALL = 25
"""Calls nested more deeply than this in one expression are not looked into and count as impure."""


@dataclass(frozen=True)
class Purity:
    """Of an expression: of its evaluation, and of a call of its value (true for a value that is no function)."""

    evaluation: bool
    call: bool


_PURE = Purity(True, True)
Steps = Generator[Any, Any, Purity]


def pure_variables(module: Module) -> dict[Var, bool]:
    """For each variable that the analysis met, whether what it is bound to is pure."""
    analysis = _Analysis(module)
    for name, function in module.functions.items():
        if isinstance(function, Function) and not (function.attrs.get("Primitive") or function.attrs.get("Extern")):
            trampoline(analysis.visit_global(name, function))
    return {v: p.evaluation for v, p in analysis.variables.items()}


class _Analysis:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.variables: dict[Var, Purity] = {}
        self.globals: dict[str, Purity] = {}
        self.memo: dict[Expr, Purity] = {}
        self.depth = 0

    def visit(self, e: Expr) -> Steps:
        done = self.memo.get(e)
        if done is None:
            done = self.memo[e] = yield _RULES[e.__class__](self, e)
        return done

    def visit_global(self, name: str, function: Function) -> Steps:
        done = self.globals.get(name)
        if done is None:
            # Inside itself a recursive function is taken to be pure; if it is not, something else in it says so.
            self.globals[name] = _PURE
            done = self.globals[name] = yield self.visit(function)
        return done

    def pure(self, e: Expr) -> Steps:
        return _PURE
        yield

    def op(self, e: Op) -> Steps:
        return Purity(True, not e.operator.stateful)
        yield

    def global_var(self, e: GlobalVar) -> Steps:
        function = self.module.functions.get(e.name)
        if isinstance(function, Function) and not function.attrs.get("Extern"):
            return (yield self.visit_global(e.name, function))
        return Purity(True, False)

    def var(self, e: Var) -> Steps:
        bound = self.variables.get(e)
        return Purity(True, bound is not None and bound.call)
        yield

    def function(self, e: Function) -> Steps:
        for p in e.params:
            self.variables[p] = Purity(True, is_first_order(p))
        body = yield self.visit(e.body)
        return Purity(True, body.evaluation and body.call)

    def let(self, e: Let) -> Steps:
        pure = True
        rest: Expr = e
        while isinstance(rest, Let):
            self.variables[rest.var] = _PURE
            value = self.variables[rest.var] = yield self.visit(rest.value)
            pure = pure and value.evaluation
            rest = rest.body
        body = yield self.visit(rest)
        return Purity(pure and body.evaluation, body.call)

    def call(self, e: Call) -> Steps:
        if self.depth >= DEEPEST_CALL:
            return Purity(False, is_first_order(e))
        self.depth += 1
        callee = yield self.visit(e.op)
        pure = True
        for arg in e.args:
            pure = (yield self.visit(arg)).evaluation and pure
        self.depth -= 1
        return Purity(pure and callee.evaluation and callee.call, is_first_order(e) or callee.call)

    def if_(self, e: If) -> Steps:
        cond = yield self.visit(e.cond)
        true = yield self.visit(e.true_branch)
        false = yield self.visit(e.false_branch)
        return Purity(cond.evaluation and true.evaluation and false.evaluation, true.call and false.call)

    def match(self, e: Match) -> Steps:
        data = yield self.visit(e.data)
        evaluation, call = data.evaluation, True
        for clause in e.clauses:
            for v in bound_vars(clause.pattern):
                self.variables[v] = Purity(True, is_first_order(v))
            body = yield self.visit(clause.body)
            evaluation, call = evaluation and body.evaluation, call and body.call
        return Purity(evaluation, call)

    def tuple(self, e: Tuple) -> Steps:
        pure = True
        for f in e.fields:
            pure = (yield self.visit(f)).evaluation and pure
        return Purity(pure, True)

    def tuple_get_item(self, e: TupleGetItem) -> Steps:
        return Purity((yield self.visit(e.tuple)).evaluation, is_first_order(e))

    def ref_read(self, e: RefRead) -> Steps:
        yield self.visit(e.ref)
        return Purity(False, is_first_order(e))

    def ref_write(self, e: RefWrite) -> Steps:
        yield self.visit(e.ref)
        yield self.visit(e.value)
        return Purity(False, True)


def is_first_order(e: Expr) -> bool:
    """Whether the value is no function."""
    return not isinstance(e.checked_type, FuncType)


_RULES: dict[type, Any] = {
    Call: _Analysis.call,
    Constant: _Analysis.pure,
    Constructor: _Analysis.pure,
    Function: _Analysis.function,
    GlobalVar: _Analysis.global_var,
    If: _Analysis.if_,
    Let: _Analysis.let,
    Match: _Analysis.match,
    Op: _Analysis.op,
    RefCreate: _Analysis.pure,
    RefRead: _Analysis.ref_read,
    RefWrite: _Analysis.ref_write,
    Tuple: _Analysis.tuple,
    TupleGetItem: _Analysis.tuple_get_item,
    Var: _Analysis.var,
}
