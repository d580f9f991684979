"""A check of the types that expressions carry against those that inference finds without them."""

from __future__ import annotations

from collections.abc import Iterable

from ..diagnostics import Diagnostic
from ..ir import Function, IncompleteType, Module, Type
from ..ir.structural import structural_equal
from .constraints import Constraints
from .infer import partly_declared
from .solver import Solver


def recheck_types(module: Module, names: Iterable[str]) -> list[Diagnostic]:
    """The errors of inference in the functions of these names; the empty list if their types are right.

    Each function is inferred afresh, with the types that the other functions of the module carry. A function without a
    type is passed over.
    """

    def signature(name: str) -> Type | None:
        f = module.functions.get(name)
        known = getattr(f, "checked_type", None)
        return partly_declared(f) if known is None and isinstance(f, Function) else known

    diagnostics: list[Diagnostic] = []
    for name in names:
        f = module.functions[name]
        if not isinstance(f, Function) or f.checked_type is None:
            continue
        solver = Solver()
        again = Constraints(module, signature, solver, fresh=True)
        t = again.visit(f)
        if solver.diagnostics:
            diagnostics += solver.diagnostics
            continue
        t = solver.resolve(t)
        if not (t.is_open or isinstance(t, IncompleteType) or structural_equal(t, f.checked_type)):
            diagnostics.append(Diagnostic(f"@{name} has the type {t}, and carries {f.checked_type}", f.span))
    return diagnostics
