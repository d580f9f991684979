"""Parameters go, or become one."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import (
    Call,
    Expr,
    Function,
    GlobalVar,
    TupleGetItem,
    TupleType,
    Var,
    children,
    free_variables,
    post_order,
    rewrite,
    substitute,
    with_function,
)
from ..case import Case, nodes_of
from ..search import Search
from .placeholders import with_parameters
from .replacing import entries

Place = tuple[object, int]
"""A function, or the name of one of the module, and the number of a parameter."""


def drop_parameters(search: Search) -> None:
    """Parameters without a use go, with the arguments of all calls, where a function is nothing but called."""
    case = search.best
    module = case.module
    handed_on = {
        e.name if isinstance(e, GlobalVar) else e
        for _, user in nodes_of(module)
        for n, e in enumerate(children(user))
        if isinstance(e, GlobalVar | Function) and not (isinstance(user, Call) and n == 0)
    }
    names = {f: name for name, f in module.relay_functions.items()}
    sites: list[Place] = []
    for _, f in nodes_of(module):
        key = names.get(f, f) if isinstance(f, Function) else None
        if isinstance(f, Function) and key is not None and key not in handed_on:
            used = set(free_variables(f.body))
            sites += [(key, n) for n, p in enumerate(f.params) if p not in used]
    search.keep_most(sites, lambda chosen: _without(case, names, set(chosen)))


def _without(case: Case, names: dict[Function, str], removed: set[Place]) -> Case:
    def leave(old: Expr, new: Expr) -> Expr:
        if isinstance(old, Function) and isinstance(new, Function):
            key = names.get(old, old)
            params = tuple(p for n, p in enumerate(new.params) if (key, n) not in removed)
            return new if len(params) == len(new.params) else with_function(new, params=params)
        if isinstance(old, Call) and isinstance(new, Call) and isinstance(old.op, GlobalVar | Function):
            key = old.op.name if isinstance(old.op, GlobalVar) else old.op
            args = tuple(a for n, a in enumerate(new.args) if (key, n) not in removed)
            if len(args) != len(new.args):
                return Call(new.op, args, new.attrs, new.type_args, new.span)
        return new

    functions = {n: rewrite(f, leave) for n, f in case.module.relay_functions.items()}
    return case.with_module(case.module.with_functions({**case.module.functions, **functions}))


def flatten_parameters(search: Search) -> None:
    """Parameters of which only fields are used become these fields."""
    for name in entries(search.best.module):
        case = search.best
        f: Function = case.module.functions[name]
        order = post_order(f.body)
        whole = {k for e in order for k in children(e) if not isinstance(e, TupleGetItem)} | {f.body}
        sites = [p for p in f.params if isinstance(p.checked_type, TupleType) and p not in whole]
        fields: dict[tuple[Expr, int], Var] = {}
        for e in order:
            if isinstance(e, TupleGetItem) and e.tuple in sites:
                fields.setdefault((e.tuple, e.index), Var("p", e.checked_type))

        def flat(
            chosen: Sequence[Var], case: Case = case, name: str = name, fields: dict[tuple[Expr, int], Var] = fields
        ) -> Case:
            picked = set(chosen)

            def leave(old: Expr, new: Expr) -> Expr:
                if isinstance(old, TupleGetItem) and old.tuple in picked:
                    return fields[old.tuple, old.index]
                return new

            return case.with_function(name, with_parameters(rewrite(case.module.functions[name], leave)))

        search.keep_most(sites, flat)


def merge_parameters(search: Search) -> None:
    """Parameters of one type become one: `fn (%x: T, %y: T) { add(%x, %y) } ⇒ fn (%x: T) { add(%x, %x) }`."""
    for name in entries(search.best.module):
        case = search.best
        f: Function = case.module.functions[name]
        first: dict[str, Var] = {}
        others: dict[Var, Var] = {}
        for p in f.params:
            known = first.setdefault(repr(p.checked_type), p)
            if known is not p:
                others[p] = known

        def merged(chosen: Sequence[Var], case: Case = case, name: str = name, others: dict[Var, Var] = others) -> Case:
            g: Function = case.module.functions[name]
            body = substitute(g.body, {p: others[p] for p in chosen})
            return case.with_function(name, with_parameters(with_function(g, body=body)))

        search.keep_most(list(others), merged)
