"""References and algebraic data, which other formats lack: detection, and removal of references that are never read."""

from __future__ import annotations

from ..ir import Constructor, Expr, Match, Module, RefCreate, RefRead, RefWrite, post_order
from ..passes import run_passes


def has_data(module: Module) -> bool:
    """True if there are references or algebraic data."""
    return any(isinstance(e, Match | Constructor | RefCreate | RefRead | RefWrite) for e in nodes(module))


def without_unread_references(module: Module) -> Module:
    """The module without writes to references, if no reference is read."""
    if any(isinstance(e, RefRead) for e in nodes(module)):
        return module
    return run_passes(module, "DeadCodeElimination{ignore_impurity=true}", instruments=())


def nodes(module: Module) -> list[Expr]:
    """Every expression in the bodies of Relay functions, children first."""
    return post_order(*(f.body for f in module.relay_functions.values()))
