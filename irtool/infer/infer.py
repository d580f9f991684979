"""Inference over modules and expressions.

The type of a global function is what its annotations say; where they leave something open, the function is inferred
before those that call it, together with the functions it is mutually recursive with.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from ..diagnostics import Diagnostic, IrError
from ..ir import (
    Expr,
    Function,
    FuncType,
    GlobalVar,
    IncompleteType,
    Module,
    Type,
    global_names,
    post_order,
)
from ..ir.show import show_expr
from ..ops.base import RelationError
from .attach import attach
from .constraints import Constraints
from .solver import Solver

_CALLEES: WeakKeyDictionary[Function, dict[str, Type | None]] = WeakKeyDictionary()
"""For typed functions: the global functions they refer to, and the types these had when they were typed."""


def infer_types(module: Module) -> Module:
    """The module with a type on every node; the same module if it was typed already.

    Typed functions are taken as they are unless the type of a function that they call has changed. Raises IrError with
    every error found, over all functions.
    """
    functions = module.relay_functions
    inference = _ModuleInference(module)
    for name, f in functions.items():
        if f.checked_type is not None:
            inference.signatures[name] = f.checked_type
        elif (declared := _declared(f)) is not None:
            inference.signatures[name] = declared
    undeclared = [n for n in functions if n not in inference.signatures]
    for group in _groups(undeclared, functions):
        inference.infer(group)
    tried = set(undeclared)
    for name, f in functions.items():
        if f.checked_type is None:
            if name not in tried:
                inference.infer([name])
        elif inference.is_stale(f):
            inference.infer([name], fresh=True)
    if inference.diagnostics:
        raise IrError(in_order(inference.diagnostics))
    if not inference.done:
        return module
    return module.with_functions({n: inference.done.get(n, f) for n, f in module.functions.items()})


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

    found = Constraints(module, signature, Solver())
    found.visit(expr)
    finish(found)
    if found.solver.diagnostics:
        raise IrError(in_order(found.solver.diagnostics))
    return attach(found, expr)[0]


def in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics in the order of the text that they are about; those without a place last."""

    def place(d: Diagnostic) -> tuple[bool, int]:
        return (d.span is None, 0 if d.span is None else d.span.start)

    return sorted(diagnostics, key=place)


class _ModuleInference:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.signatures: dict[str, Type] = {}
        self.done: dict[str, Function] = {}
        self.diagnostics: list[Diagnostic] = []

    def signature(self, name: str) -> Type | None:
        known = self.signatures.get(name)
        if known is None and name in self.module.functions:
            known = getattr(self.module.functions[name], "checked_type", None)
        return known

    def infer(self, names: list[str], fresh: bool = False) -> None:
        """Infers these functions together: one of them may need what another makes known."""
        functions = self.module.functions
        solver = Solver()
        found = Constraints(self.module, self.signature, solver, fresh)
        for name in names:
            if name not in self.signatures:
                self.signatures[name] = partly_declared(functions[name])
        for name in names:
            f = functions[name]
            t = found.visit(f)
            if self.signatures[name].is_open:
                try:
                    solver.unify(self.signatures[name], t)
                    solver.run()
                except RelationError as error:
                    solver.diagnostics.append(
                        Diagnostic(f"@{name} is called as something else than it is: {error}", f.span)
                    )
        finish(found)
        self.diagnostics += solver.diagnostics
        if solver.diagnostics:
            return
        for name, made in zip(names, attach(found, *[functions[n] for n in names]), strict=True):
            assert isinstance(made, Function)
            self.done[name] = made
            if made.checked_type is not None:
                self.signatures[name] = made.checked_type
        for name in names:
            callees = {e.name: e for e in found.types if isinstance(e, GlobalVar)}
            _CALLEES[self.done[name]] = {n: solver.resolve(found.types[e]) for n, e in callees.items()}

    def is_stale(self, f: Function) -> bool:
        """True if a function that `f` refers to does not have the type it had when `f` was typed."""
        callees = _CALLEES.get(f)
        if callees is None:
            callees = {e.name: e.checked_type for e in post_order(f) if isinstance(e, GlobalVar)}
            _CALLEES[f] = callees
        return any(n in self.signatures and t is not None and t != self.signatures[n] for n, t in callees.items())


def finish(found: Constraints) -> None:
    """Reports the expressions whose types nothing decides, unless an error already reported is to blame."""
    solver = found.solver
    if solver.diagnostics:
        # What hangs on an error is poisoned; what else is unknown may do so by ways not followed here.
        return
    reported: set[Type] = set()
    for e in found.order:
        t = solver.resolve(found.types[e])
        if t.__class__ is not IncompleteType or t in solver.poisoned or t in reported:
            continue
        reported.add(t)
        rule = next((r for r in solver.pending if r.out is not None and solver.find(r.out) is t), None)
        if rule is None:
            message = f"the type of {show_expr(e)} cannot be inferred: annotate it"
        elif any(solver.resolve(a) in reported for a in rule.types):
            continue
        else:
            shown = ", ".join(str(solver.resolve(a)) for a in rule.types)
            message = f"the type of {show_expr(e)} cannot be inferred from its arguments ({shown})"
        solver.diagnostics.append(Diagnostic(message, e.span))


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
    params = tuple(p.type_annotation or IncompleteType() for p in f.params)
    return FuncType(params, f.ret_type or IncompleteType(), f.type_params)


def _groups(names: Iterable[str], functions: dict[str, Function]) -> list[list[str]]:
    """The names in groups of mutual recursion, callees before callers (Tarjan's algorithm, with its own stack)."""
    wanted = dict.fromkeys(names)
    edges = {n: [c for c in global_names(functions[n]) if c in wanted] for n in wanted}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: dict[str, None] = {}
    groups: list[list[str]] = []
    for start in wanted:
        stack = [(start, 0)] if start not in index else []
        while stack:
            name, at = stack.pop()
            if at == 0:
                index[name] = low[name] = len(index)
                open_[name] = None
            descended = False
            for i in range(at, len(edges[name])):
                callee = edges[name][i]
                if callee not in index:
                    stack += [(name, i + 1), (callee, 0)]
                    descended = True
                    break
                if callee in open_:
                    low[name] = min(low[name], low[callee] if i < at else index[callee])
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


__all__ = ["finish", "infer_expr", "infer_types"]
