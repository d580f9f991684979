"""Well-formedness: the conditions on every module before and after each pass, with any types.

1. A variable is bound once: by one parameter, `let` or pattern of the whole function.
2. A variable is used only where its binder is in force, and every variable of a module's function has one.
3. The functions, types and constructors that are named exist, and a pattern has as many parts as its constructor.

A shared node counts where evaluation first meets it, as in TVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..diagnostics import Diagnostic, Span, nearest
from .adt import Pattern, PatternConstructor, PatternTuple, bound_vars
from .expr import CHILDREN_OF, Constructor, Expr, Function, GlobalVar, Let, Match, Var
from .mistakes import BrokenModule, WrongPattern
from .module import Module


def verify(root: Module | Expr) -> list[Diagnostic]:
    """The errors in a module or an expression; the empty list if it is well formed. Expressions may have free variables."""
    if isinstance(root, Module):
        diagnostics: list[Diagnostic] = []
        for name, f in root.functions.items():
            if isinstance(f, Function):
                diagnostics += _Checker(root, name).check(f)
        return diagnostics
    return _Checker(None, "").check(root)


class _Leave:
    """On the work list: the variables of a scope that has been walked."""

    __slots__ = ("variables",)

    def __init__(self, variables: tuple[Var, ...]) -> None:
        self.variables = variables


class _Enter:
    """On the work list: the variables of a scope that is about to be walked, and the node that binds them."""

    __slots__ = ("binder", "variables")

    def __init__(self, variables: tuple[Var, ...], binder: Any) -> None:
        self.variables = variables
        self.binder = binder


class _Checker:
    """Checks one function, or one expression outside of any module."""

    def __init__(self, module: Module | None, name: str) -> None:
        self.module = module
        self.name = name
        self.bound: set[Var] = set()
        self.in_force: set[Var] = set()
        self.free: dict[Var, None] = {}
        self.diagnostics: list[Diagnostic] = []

    def check(self, root: Expr) -> list[Diagnostic]:
        seen: set[Expr] = set()
        stack: list[Any] = [root]
        while stack:
            item = stack.pop()
            if isinstance(item, Expr):
                if item.__class__ is Var:
                    self.use(item)
                elif item not in seen:
                    seen.add(item)
                    stack.extend(reversed(self.visit(item)))
            elif isinstance(item, _Enter):
                for v in item.variables:
                    self.bind(v, item.binder.span)
            else:
                self.in_force.difference_update(item.variables)
        if self.module is not None:
            for v in self.free:
                if v not in self.bound:
                    known = nearest(v.name, (b.name for b in self.bound))
                    self.report(f"%{v.name} is bound nowhere in @{self.name}", v.span, known)
        return self.diagnostics

    def visit(self, e: Expr) -> list[Any]:
        """The nodes to walk for `e`, in order."""
        if isinstance(e, Function):
            return [_Enter(e.params, e), e.body, _Leave(e.params)]
        if isinstance(e, Let):
            return [_Enter((e.var,), e), e.value, e.body, _Leave((e.var,))]
        if isinstance(e, Match):
            parts: list[Any] = [e.data]
            for clause in e.clauses:
                self.diagnostics += self.check_pattern(clause.pattern)
                variables = tuple(bound_vars(clause.pattern))
                parts += [_Enter(variables, clause), clause.body, _Leave(variables)]
            return parts
        if isinstance(e, GlobalVar):
            self.check_global(e)
        elif isinstance(e, Constructor):
            self.diagnostics += self.check_constructor(e, e.span)
        return list(CHILDREN_OF[e.__class__](e))

    def use(self, v: Var) -> None:
        if v in self.in_force:
            return
        if v in self.bound:
            self.report(f"%{v.name} is used where its binder is not in force", v.span)
        else:
            self.free[v] = None

    def bind(self, v: Var, span: Span | None) -> None:
        if v in self.bound or v in self.free:
            before = "is bound more than once" if v in self.bound else "is used before it is bound"
            self.report(f"%{v.name} {before}", v.span or span)
        self.bound.add(v)
        self.in_force.add(v)

    def check_global(self, g: GlobalVar) -> None:
        if self.module is not None and g.name not in self.module.functions:
            self.report(f"@{g.name} is not a function of this module", g.span, nearest(g.name, self.module.functions))

    def check_constructor(self, c: Constructor, span: Span | None) -> Iterator[Diagnostic]:
        if self.module is not None and c.name not in self.module.constructors:
            known = nearest(c.name, self.module.constructors)
            yield Diagnostic(f"{c.name} is not a constructor of this module", span, help=known, code=BrokenModule)

    def check_pattern(self, root: Pattern) -> Iterator[Diagnostic]:
        stack = [root]
        while stack:
            p = stack.pop()
            if isinstance(p, PatternConstructor):
                yield from self.check_constructor(p.constructor, p.span)
                want, have = len(p.constructor.inputs), len(p.patterns)
                if want != have:
                    yield Diagnostic(
                        f"{p.constructor.name} has {want} fields, and the pattern {have}", p.span, code=WrongPattern
                    )
            if isinstance(p, PatternConstructor | PatternTuple):
                stack.extend(p.patterns)

    def report(self, message: str, span: Span | None, help: str = "") -> None:
        self.diagnostics.append(Diagnostic(message, span, help=help, code=BrokenModule))
