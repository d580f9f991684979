"""Replacing nodes throughout a case."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...ir import Expr, Function, GlobalVar, Module, post_order, rewrite
from ..case import Case

Leave = Callable[[Expr, Expr], Expr]


def replaced(case: Case, instead: Mapping[Expr, Expr]) -> Case:
    """The case with other nodes in the place of some: nodes below them, or new ones without children to rewrite."""
    functions = dict(case.module.functions)
    for name, f in case.module.relay_functions.items():
        memo: dict[Expr, Expr] = {}

        def leave(old: Expr, new: Expr, memo: dict[Expr, Expr] = memo) -> Expr:
            other = instead.get(old)
            return new if other is None else memo.get(other, other)

        functions[name] = rewrite(f, leave, memo=memo)
    return case.with_module(case.module.with_functions(functions))


def rewritten(case: Case, leave: Leave) -> Case:
    """The case with every function rewritten."""
    functions = {n: rewrite(f, leave) for n, f in case.module.relay_functions.items()}
    return case.with_module(case.module.with_functions({**case.module.functions, **functions}))


def entries(module: Module) -> list[str]:
    """The functions that nothing refers to: their types are nobody else's business."""
    called = {e.name for f in module.relay_functions.values() for e in post_order(f) if isinstance(e, GlobalVar)}
    return [n for n in module.relay_functions if n not in called]


def own_nodes(root: Function, inside: tuple[type, ...] = (Function,)) -> list[Expr]:
    """The nodes of a function's body in post-order, without those inside of nodes of the classes `inside`."""
    return post_order(root.body, enter=lambda e: not isinstance(e, inside))
