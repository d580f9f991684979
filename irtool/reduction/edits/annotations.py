"""Annotations and marks of functions go: they are text, and types follow without most of them."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Expr, Function, Let, Var, rewrite, with_binders, with_function
from ..case import Case, nodes_of
from ..search import Search
from .replacing import rewritten


def drop_annotations(search: Search) -> None:
    """Types of variables of `let` are left to inference."""
    case = search.best
    sites = [e for _, e in nodes_of(case.module) if isinstance(e, Let) and e.var.type_annotation is not None]
    search.keep_most(sites, lambda chosen: _without(case, chosen))


def _without(case: Case, chosen: Sequence[Let]) -> Case:
    renamed = {e.var: Var(e.var.name, None, e.var.span, None, e.var.virtual_device) for e in chosen}
    functions = dict(case.module.functions)
    for name, f in case.module.relay_functions.items():
        memo: dict[Expr, Expr] = dict(renamed.items())
        functions[name] = rewrite(f, lambda old, new: with_binders(new, renamed), memo=memo)
    return case.with_module(case.module.with_functions(functions))


def drop_marks(search: Search) -> None:
    """Attributes of functions go, such as `Primitive=1`."""
    case = search.best
    sites = [(e, key) for _, e in nodes_of(case.module) if isinstance(e, Function) for key in e.attrs]

    def without(chosen: Sequence[tuple[Function, str]]) -> Case:
        removed = set(chosen)

        def leave(old: Expr, new: Expr) -> Expr:
            if not isinstance(old, Function) or not isinstance(new, Function):
                return new
            attrs = {k: v for k, v in new.attrs.items() if (old, k) not in removed}
            return new if len(attrs) == len(new.attrs) else with_function(new, attrs=attrs)

        return rewritten(case, leave)

    search.keep_most(sites, without)
