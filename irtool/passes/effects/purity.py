"""Purity: evaluation of a pure expression cannot be told apart from its omission.

An expression is *pure* if its evaluation neither reads nor writes any state, and *call-pure* if, besides, its value is no
function whose call would. The analysis errs on the side of impurity: functions that are parameters, or come out of tuples,
references and data, are taken to be impure, as are external functions.

Whether a value is needed and whether it may be moved are two questions. The creation of a reference that nobody reads can go, but
not into a function, which would create one in each call: `Effects` counts creations among the effects, `pure_variables` does not.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

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
    post_order,
)
from ...trampoline import trampoline

DEEPEST_CALL = 25
"""Calls nested more deeply than this in one expression are not looked into and count as impure."""


@dataclass(frozen=True)
class Purity:
    """Of an expression: of its evaluation, and of a call of its value (true for a value that is no function)."""

    evaluation: bool
    call: bool


_PURE, _IMPURE = Purity(True, True), Purity(True, False)
Steps = Generator[Any, Any, Purity]


MOST_ROUNDS = 8
"""Rounds after which recursive functions that are not settled yet are taken to have effects."""


def pure_variables(module: Module) -> dict[Var, bool]:
    """Purity of the value of each variable that the analysis met."""
    return {v: p.evaluation for v, p in _settled(module, creates=False).variables.items()}


class Effects:
    """Expressions that may be moved past others, evaluated another number of times, or dropped.

    In a module without any source of effects (references, random numbers, external functions) nothing has any.
    """

    def __init__(self, module: Module | None = None) -> None:
        self._analysis = _of_module(module) if module is not None else _Analysis(Module({}), creates=True)

    def is_pure(self, e: Expr) -> bool:
        """True if the evaluation of `e` has no effect and depends on none: no state is read, written or created."""
        return trampoline(self._analysis.visit(e)).evaluation

    def only_field(self, e: Tuple, index: int) -> bool:
        """True if a field may stand for the projection of the whole tuple: no other field has an effect."""
        return all(self.is_pure(f) for i, f in enumerate(e.fields) if i != index)


_KNOWN: WeakKeyDictionary[Module, _Analysis] = WeakKeyDictionary()


def _of_module(module: Module) -> _Analysis:
    """The analysis of a module, made once: passes ask function by function."""
    known = _KNOWN.get(module)
    if known is None:
        known = _KNOWN[module] = _settled(module, creates=True)
    return known


def _settled(module: Module, creates: bool) -> _Analysis:
    """The analysis of all functions of a module, in rounds until the assumptions on recursive functions hold."""
    assumed: dict[Var | str, Purity] = {}
    for left in range(MOST_ROUNDS, -1, -1):
        analysis = _Analysis(module, creates, assumed, _PURE if left else _IMPURE)
        for name, function in module.functions.items():
            if isinstance(function, Function) and not _is_closed(function):
                trampoline(analysis.visit_global(name, function))
        if not analysis.wrong:
            break
        assumed.update(analysis.wrong)
    analysis.unless_known = _IMPURE
    return analysis


def _is_closed(function: Function) -> bool:
    return bool(function.attrs.get("Primitive") or function.attrs.get("Extern"))


def _has_sources(module: Module) -> bool:
    """True if anything in the module has an effect by itself."""
    for f in module.functions.values():
        if not isinstance(f, Function) or f.attrs.get("Extern"):
            return True
        for e in post_order(f):
            if isinstance(e, RefCreate | RefRead | RefWrite) or (isinstance(e, Op) and e.operator.stateful):
                return True
            if isinstance(e, GlobalVar) and e.name not in module.functions:
                return True
    return False


class _Analysis:
    """Purity of each expression.

    Attributes:
        functions: those of the module.
        creates: whether the creation of a reference counts as an effect.
        harmless: whether no function that is not known can have an effect, since nothing in the module has one.
        assumed: of global functions, by name, and local ones, by variable, what calls of them inside themselves are.
        unless_known: the assumption about others.
        wrong: assumptions that were used and did not come true, with the truth.
    """

    def __init__(
        self,
        module: Module,
        creates: bool,
        assumed: Mapping[Var | str, Purity] = MappingProxyType({}),
        unless_known: Purity | None = None,
    ) -> None:
        self.functions = module.functions
        self.creates = creates
        self.harmless = creates and bool(module.functions) and not _has_sources(module)
        self.assumed = assumed
        self.unless_known = unless_known or _IMPURE
        self.used: dict[Var | str, Purity] = {}
        self.wrong: dict[Var | str, Purity] = {}
        self.open: set[Var | str] = set()
        self.variables: dict[Var, Purity] = {}
        self.globals: dict[str, Purity] = {}
        self.memo: dict[Expr, Purity] = {}
        self.depth = 0

    def visit(self, e: Expr) -> Steps:
        done = self.memo.get(e)
        if done is None:
            done = self.memo[e] = yield _RULES.get(e.__class__, _Analysis.foreign)(self, e)
        return done

    def begin(self, name: Var | str) -> None:
        """Begins a value that may call itself."""
        self.open.add(name)

    def inside(self, name: Var | str) -> Purity:
        """The assumed purity of an unfinished function, for calls inside itself."""
        self.used[name] = self.assumed.get(name, self.unless_known)
        return self.used[name]

    def finish(self, name: Var | str, truth: Purity) -> None:
        """Ends a value that may have called itself."""
        self.open.discard(name)
        used = self.used.pop(name, truth)
        if (used.evaluation and not truth.evaluation) or (used.call and not truth.call):
            self.wrong[name] = truth

    def visit_global(self, name: str, function: Function) -> Steps:
        done = self.globals.get(name)
        if done is None:
            if name in self.open:
                return self.inside(name)
            self.begin(name)
            done = self.globals[name] = yield self.visit(function)
            self.finish(name, done)
        return done

    def no_function(self, e: Expr) -> bool:
        """True if the value is no function. A value without an inferred type may be one if effects are not to move."""
        t = e.checked_type or (e.type_annotation if isinstance(e, Var) else None)
        return self.harmless or (not isinstance(t, FuncType) and not (t is None and self.creates))

    def pure(self, e: Expr) -> Steps:
        return _PURE
        yield

    def foreign(self, e: Expr) -> Steps:
        """A function that is no Relay: external, or lowered to loops."""
        return Purity(True, False)
        yield

    def op(self, e: Op) -> Steps:
        return Purity(True, not e.operator.stateful)
        yield

    def global_var(self, e: GlobalVar) -> Steps:
        function = self.functions.get(e.name)
        if isinstance(function, Function) and not function.attrs.get("Extern"):
            return (yield self.visit_global(e.name, function))
        return Purity(True, False)

    def var(self, e: Var) -> Steps:
        if e in self.open:
            return Purity(True, self.inside(e).call)
        bound = self.variables.get(e)
        return Purity(True, self.harmless if bound is None else bound.call)
        yield

    def function(self, e: Function) -> Steps:
        for p in e.params:
            self.variables[p] = Purity(True, self.no_function(p))
        body = yield self.visit(e.body)
        return Purity(True, body.evaluation and body.call)

    def let(self, e: Let) -> Steps:
        pure = True
        rest: Expr = e
        while isinstance(rest, Let):
            self.begin(rest.var)
            value = self.variables[rest.var] = yield self.visit(rest.value)
            self.finish(rest.var, value)
            pure = pure and value.evaluation
            rest = rest.body
        body = yield self.visit(rest)
        return Purity(pure and body.evaluation, body.call)

    def call(self, e: Call) -> Steps:
        if self.depth >= DEEPEST_CALL and not self.creates:
            return Purity(False, self.no_function(e))
        self.depth += 1
        callee = yield self.visit(e.op)
        pure = True
        for arg in e.args:
            pure = (yield self.visit(arg)).evaluation and pure
        self.depth -= 1
        return Purity(pure and callee.evaluation and callee.call, self.no_function(e) or callee.call)

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
                self.variables[v] = Purity(True, self.no_function(v))
            body = yield self.visit(clause.body)
            evaluation, call = evaluation and body.evaluation, call and body.call
        return Purity(evaluation, call)

    def tuple(self, e: Tuple) -> Steps:
        pure = True
        for f in e.fields:
            pure = (yield self.visit(f)).evaluation and pure
        return Purity(pure, True)

    def tuple_get_item(self, e: TupleGetItem) -> Steps:
        return Purity((yield self.visit(e.tuple)).evaluation, self.no_function(e))

    def ref_create(self, e: RefCreate) -> Steps:
        value = yield self.visit(e.value)
        return Purity(value.evaluation and not self.creates, True)

    def ref_read(self, e: RefRead) -> Steps:
        yield self.visit(e.ref)
        return Purity(False, self.no_function(e))

    def ref_write(self, e: RefWrite) -> Steps:
        yield self.visit(e.ref)
        yield self.visit(e.value)
        return Purity(False, True)


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
    RefCreate: _Analysis.ref_create,
    RefRead: _Analysis.ref_read,
    RefWrite: _Analysis.ref_write,
    Tuple: _Analysis.tuple,
    TupleGetItem: _Analysis.tuple_get_item,
    Var: _Analysis.var,
}
