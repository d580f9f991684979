"""Bindings and calls of functions that hide a graph from other edits are resolved."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Call, Expr, Function, GlobalVar, Let, global_names, with_function, without_return_type
from ...passes.core.beta_reduction import BetaReducer
from ...passes.core.let_inlining import rewrite_lets
from ..case import Case, nodes_of
from ..search import Search
from .placeholders import with_parameters
from .replacing import entries, rewritten


def inline_lets(search: Search) -> None:
    """`let %a = f(%x); g(%a, %a) ⇒ %0 = f(%x); g(%0, %0)`."""
    case = search.best
    sites = [e.var for _, e in nodes_of(case.module) if isinstance(e, Let)]

    def inlined(chosen: Sequence[Expr]) -> Case:
        removed = set(chosen)
        functions = {
            n: rewrite_lets(f, lambda v, value: value if v in removed else None)
            for n, f in case.module.relay_functions.items()
        }
        return case.with_module(case.module.with_functions({**case.module.functions, **functions}))

    search.keep_most(sites, inlined)


def inline_calls(search: Search) -> None:
    """`fn (%y) { g(%y) }(%x) ⇒ g(%x)`, and the same for functions of the module that do not call themselves."""
    case = search.best
    functions = case.module.relay_functions
    recursive = {n for n, f in functions.items() if n in global_names(f)}
    sites = [e for _, e in nodes_of(case.module) if isinstance(e, Call) and _callee(case, e, recursive) is not None]

    def inlined(chosen: Sequence[Expr]) -> Case:
        reducer, picked = BetaReducer(), set(chosen)

        def leave(old: Expr, new: Expr) -> Expr:
            if old not in picked or not isinstance(new, Call):
                return new
            f = _callee(case, new, recursive)
            return new if f is None else reducer.body(f, new.args, new)

        return rewritten(case, leave)

    search.keep_most(sites, inlined)


def open_literals(search: Search) -> None:
    """`def @main(%x) { fn (%y) { f(%y) } } ⇒ def @main(%y) { f(%y) }` where nothing refers to the function."""
    for name in entries(search.best.module):
        f = search.best.module.functions[name]
        if isinstance(f.body, Function) and not f.body.type_params:
            opened = with_function(without_return_type(f), params=(*f.params, *f.body.params), body=f.body.body)
            search.attempt(search.best.with_function(name, with_parameters(opened)))


def _callee(case: Case, e: Call, recursive: set[str]) -> Function | None:
    f = e.op
    if isinstance(f, GlobalVar):
        f = case.module.relay_functions.get(f.name) if f.name not in recursive else None  # type: ignore[assignment]  # None is refused below
    return f if isinstance(f, Function) and not f.type_params and len(f.params) == len(e.args) else None
