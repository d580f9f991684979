"""Inference over modules and expressions.

The type of a global function is what its annotations say; where they leave something open, the function is inferred
before those that call it, together with the functions it is mutually recursive with. Where its own text does not decide
its type either, it is inferred together with those that call it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import overload
from weakref import WeakKeyDictionary

from ..diagnostics import Diagnostic, IrError
from ..ir import (
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    IncompleteType,
    Module,
    Op,
    Type,
    global_names,
    post_order,
    with_function,
)
from ..ir.types import has_static_shapes
from ..ops.base import RelationError
from .attach import attach
from .constraints import Constraints
from .mistakes import TypesDiffer
from .open_types import has_unknowns, report_open
from .own_types import own_type
from .solver import Solver

_CALLEES: WeakKeyDictionary[Function, dict[str, Type | None]] = WeakKeyDictionary()
"""For typed functions: the global functions they refer to, and the types these had when they were typed."""


@overload
def infer_types(module: Module) -> Module: ...
@overload
def infer_types(module: Expr) -> Expr: ...
def infer_types(module: Module | Expr) -> Module | Expr:
    """The module, function or expression with a type on every node; the same object if it was typed already.

    Typed functions are taken as they are unless the type of a function that they call has changed. Raises IrError with
    every error found, over all functions, and, once for each function, what has a type that nothing decides.
    """
    if isinstance(module, Expr):
        return infer_expr(module)
    typed, open_types = infer_known_types(Module.of(module))
    if open_types:
        raise IrError(in_order(list(open_types.values())))
    return typed


def infer_known_types(module: Module) -> tuple[Module, dict[str, Diagnostic]]:
    """The module with every type that is decided, and for each function in which some is not, an error that says so.

    What is open has no `checked_type`, and neither has anything above it. A function without annotations takes its types
    from its callers. Raises IrError with every error found where types contradict each other.
    """
    inference = _ModuleInference(module)
    inference.run()
    if inference.diagnostics:
        raise IrError(in_order(inference.diagnostics))
    if not inference.done:
        return module, inference.open
    return module.with_functions({n: inference.done.get(n, f) for n, f in module.functions.items()}), inference.open


def infer_afresh(module: Module) -> Module:
    """The module with the types that a reader of its text finds: those that nodes carry already are not believed.

    A program that was typed piece by piece, as it was built, has narrower ones where a `?` in a later piece meets a number in an
    earlier one, and a polymorphic function a function of one type. Raises IrError as `infer_types` does.
    """
    nodes = (e for f in module.relay_functions.values() for e in post_order(f))
    if all(e.checked_type is None or _joins_to_itself(e) for e in nodes):
        return infer_types(module)
    functions = {n: with_function(f) for n, f in module.relay_functions.items()}
    inference = _ModuleInference(module.with_functions({**module.functions, **functions}), fresh=True)
    inference.run()
    if inference.diagnostics or inference.open:
        raise IrError(in_order(inference.diagnostics or list(inference.open.values())))
    return inference.module.with_functions({**module.functions, **inference.done})


def _joins_to_itself(e: Expr) -> bool:
    """True if joins leave the type of a node as it is: only numbers and functions of one type are in it."""
    t = e.checked_type
    assert t is not None
    if not has_static_shapes(t):
        return False
    return not t.binds_variables or isinstance(e, Op | Constructor | GlobalVar)


@overload
def infer_expr(expr: Function, module: Module | None = None) -> Function: ...
@overload
def infer_expr(expr: Expr, module: Module | None = None) -> Expr: ...
def infer_expr(expr: Expr, module: Module | None = None) -> Expr:
    """`expr` with a type on every node below it; the same object if it is typed already.

    Free variables have the types of their annotations. Functions of `module` have their declared types.
    """
    if expr.checked_type is not None:
        return expr

    def signature(name: str) -> Type | None:
        f = module.functions.get(name) if module is not None else None
        if isinstance(f, Function):
            return f.checked_type or _declared(f)
        return getattr(f, "checked_type", None)

    constraints = Constraints(module, signature, Solver())
    constraints.visit(expr)
    diagnostics = constraints.solver.diagnostics
    if not diagnostics and (open_ := report_open(constraints, "", constraints.order)) is not None:
        diagnostics = [open_]
    if diagnostics:
        raise IrError(in_order(diagnostics))
    return attach(constraints, expr)[0]


def in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics in the order of the text that they are about; those without a place last."""

    def place(d: Diagnostic) -> tuple[bool, int]:
        return (d.span is None, 0 if d.span is None else d.span.start)

    return sorted(diagnostics, key=place)


@dataclass(frozen=True, eq=False)
class _Failure:
    """Why functions that were inferred together are refused."""

    names: tuple[str, ...]
    fresh: bool
    diagnostics: tuple[Diagnostic, ...]


class _ModuleInference:
    def __init__(self, module: Module, fresh: bool = False) -> None:
        self.module = module
        self.fresh = fresh
        """True: types that nodes carry already are not believed."""
        self.functions = module.relay_functions
        self.signatures: dict[str, Type] = {}
        self.done: dict[str, Function] = {}
        self.open: dict[str, Diagnostic] = {}
        self.deferred: dict[str, None] = {}
        """Functions whose own text leaves their type open, and their callers, which may determine it."""
        self.diagnostics: list[Diagnostic] = []
        self.wider: dict[str, None] = {}
        """Functions that were found to have another type than their annotations say, or any after they were refused."""
        self.failed: dict[str, _Failure] = {}
        """Functions that are refused, as things stand."""

    def signature(self, name: str) -> Type | None:
        known = self.signatures.get(name)
        if known is None and name in self.module.functions:
            known = getattr(self.module.functions[name], "checked_type", None)
        return known

    def run(self) -> None:
        functions = self.functions
        for name, f in functions.items():
            if f.checked_type is not None:
                self.signatures[name] = f.checked_type
            elif (declared := _declared(f)) is not None:
                self.signatures[name] = declared
        for component in _groups(sorted(functions), functions):
            self._infer_component(sorted(component))
        if self.deferred:
            callers = [n for n, f in functions.items() if f.checked_type is None and self._calls_deferred([n])]
            names = {*self.deferred, *callers}
            self.infer(sorted(names), with_callers=True)
            self._repeat_for_wider_types(list(functions))
        for failure in dict.fromkeys(self.failed.values()):
            self.diagnostics += failure.diagnostics

    def _infer_component(self, names: list[str]) -> None:
        """Infers functions that call each other, directly or not; their other callees are inferred already.

        In the order of their names, wherever they stand: where `?` meets a number, the first one that says so decides.
        """
        functions = self.functions
        undeclared = [n for n in names if n not in self.signatures]
        for group in _groups(undeclared, functions) if undeclared else ():
            if self.deferred and self._calls_deferred(group):
                self.deferred.update(dict.fromkeys(group))
            else:
                self.infer(sorted(group))
        tried = set(undeclared)
        for name in names:
            f = functions[name]
            if f.checked_type is None:
                if name not in tried and not (self.deferred and self._calls_deferred([name])):
                    self.infer([name])
            elif self.is_stale(f):
                self.infer([name], fresh=True)
        self._repeat_for_wider_types(names)

    def _repeat_for_wider_types(self, names: list[str]) -> None:
        """Infers those again, of functions that call each other, that were inferred before one whose type came out wider than
        declared.

        `-> Tensor[(n, 2), float32]` of a body of type `Tensor[(?, 2), float32]` gives `?`, which agrees with `m` where `n` does
        not. Neither what callers see nor whether they are refused must hang on the order of the functions, which is another
        where the printed text is read again: what is refused is tried again, too. Types only get wider, so this ends.
        """
        waiting, self.wider = list(self.wider), {}
        if not waiting:
            return
        callers: dict[str, list[str]] = {}
        for name in names:
            for callee in global_names(self.functions[name]):
                callers.setdefault(callee, []).append(name)
        while waiting:
            for name in callers.get(waiting.pop(), ()):
                if name in self.failed:
                    self.infer(list(self.failed[name].names), self.failed[name].fresh)
                elif name in self.done and self.is_stale(self.done[name]):
                    self.infer([name], fresh=True)
                waiting += self.wider
                self.wider = {}

    def _calls_deferred(self, names: list[str]) -> bool:
        return any(c in self.deferred for n in names for c in global_names(self.functions[n]))

    def infer(self, names: list[str], fresh: bool = False, with_callers: bool = False) -> None:
        """Infers these functions together: one of them may need types from another.

        A function whose type stays open is put off, to be inferred with those that call it; `with_callers`, this is that.
        """
        functions = self.functions
        refused = {n for n in names if self.failed.pop(n, None) is not None}
        solver = Solver()
        constraints = Constraints(self.module, self.signature, solver, fresh or self.fresh)
        if with_callers:
            constraints.typed_by_callers = frozenset(self.deferred)
        for name in names:
            if name not in self.signatures:
                self.signatures[name] = partly_declared(functions[name])
        parts: dict[str, list[Expr]] = {}
        for name in names:
            f = functions[name]
            start = len(constraints.order)
            t = constraints.visit(f)
            parts[name] = constraints.order[start:]
            if self.signatures[name].is_open:
                try:
                    solver.unify(self.signatures[name], t)
                    solver.run()
                except RelationError as error:
                    solver.diagnostics.append(
                        Diagnostic(f"@{name} is called as something else than it is: {error}", f.span, code=TypesDiffer)
                    )
        if solver.diagnostics:
            # What hangs on an error is poisoned; what else is unknown may do so by ways not followed here.
            self.failed.update(dict.fromkeys(names, _Failure(tuple(names), fresh, tuple(solver.diagnostics))))
            return
        reports = {n: d for n, part in parts.items() if (d := report_open(constraints, n, part)) is not None}
        unsettled = [n for n in names if has_unknowns(solver.resolve(constraints.types[functions[n]]))]
        if unsettled and not with_callers:
            self.deferred.update(dict.fromkeys(names))
            for name in names:
                if _declared(functions[name]) is None:
                    del self.signatures[name]
            return
        self.open = {n: d for n, d in self.open.items() if n not in names} if self.open else {}
        self.open.update(reports)
        made_all = attach(constraints, *[functions[n] for n in names], keep_unknown=not (reports or unsettled))
        for name, function in zip(names, made_all, strict=True):
            assert isinstance(function, Function)
            self.done[name] = function
            inferred = function.checked_type or solver.resolve(constraints.types[functions[name]])
            if name in refused or (not self.signatures[name].is_open and inferred != self.signatures[name]):
                self.wider[name] = None
            self.signatures[name] = inferred
        callees = {e.name: e for e in constraints.types if isinstance(e, GlobalVar)}
        types = {n: solver.resolve(constraints.types[e]) for n, e in callees.items()}
        for name in names:
            called = global_names(functions[name])
            _CALLEES[self.done[name]] = {n: types[n] for n in called if n in types}

    def is_stale(self, f: Function) -> bool:
        """True if a function that `f` refers to does not have the type it had when `f` was typed."""
        callees = _CALLEES.get(f)
        if callees is None:
            callees = {e.name: e.checked_type for e in post_order(f) if isinstance(e, GlobalVar)}
            _CALLEES[f] = callees
        return any(n in self.signatures and t is not None and t != self.signatures[n] for n, t in callees.items())


def _declared(f: Function) -> FuncType | None:
    """The type that the annotations alone say, if they leave nothing open."""
    if f.ret_type is None or f.ret_type.is_open:
        return None
    for p in f.params:
        if p.type_annotation is None or p.type_annotation.is_open:
            return None
    return f.func_type


def partly_declared(f: Function) -> FuncType:
    """The type that the annotations say, with unknowns where they say nothing."""
    params = tuple(_apart(p.type_annotation) for p in f.params)
    return FuncType(params, _apart(f.ret_type), f.type_params)


def _apart(t: Type | None) -> Type:
    """The annotation of a parameter as an object of its own, or an unknown."""
    return IncompleteType() if t is None else own_type(t)


def _groups(names: Iterable[str], functions: dict[str, Function]) -> list[list[str]]:
    """The names in groups of mutual recursion, callees before callers (Tarjan's algorithm, with its own stack)."""
    chosen = dict.fromkeys(names)
    edges = {n: [c for c in global_names(functions[n]) if c in chosen] for n in chosen}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: dict[str, None] = {}
    groups: list[list[str]] = []
    for start in chosen:
        stack = [(start, 0)] if start not in index else []
        while stack:
            name, edge = stack.pop()
            if edge == 0:
                index[name] = low[name] = len(index)
                open_[name] = None
            descended = False
            for i in range(edge, len(edges[name])):
                callee = edges[name][i]
                if callee not in index:
                    stack += [(name, i + 1), (callee, 0)]
                    descended = True
                    break
                if callee in open_:
                    low[name] = min(low[name], low[callee] if i < edge else index[callee])
            if descended:
                continue
            for callee in edges[name]:
                if callee in open_:
                    low[name] = min(low[name], low[callee])
            if low[name] == index[name]:
                group = []
                while True:
                    member, _ = open_.popitem()
                    group.append(member)
                    if member == name:
                        break
                groups.append(group[::-1])
    return groups


__all__ = ["infer_afresh", "infer_expr", "infer_known_types", "infer_types"]
