"""Extraction: a piece of a function's body becomes the body, with its inputs as parameters and its outputs as results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...ir import (
    Call,
    Expr,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    Var,
    children,
    let_chain,
    post_order,
    rewrite,
    with_function,
    without_return_type,
)
from ..case import Case
from ..search import Search
from .placeholders import parameter_of, with_parameters
from .replacing import entries, own_nodes

_OPAQUE = (Function, If, Let, Match)
"""What is taken away as a whole, or not at all: nodes inside are not evaluated where the others are."""
_SITES = (Call, If, Let, Match, RefCreate, RefRead, RefWrite)


def extract_calls(search: Search) -> None:
    """Calls go from the body of each function that nothing refers to.

    ::

        %0 = f(%x); %1 = g(%0); h(%1)   ⇒   fn (%p) { g(%p) }
    """
    for name in entries(search.best.module):
        case = search.best
        f = case.module.functions[name]
        if isinstance(f.body, Let):
            continue
        sites = [e for e in own_nodes(f, _OPAQUE) if isinstance(e, _SITES)]
        fresh: dict[Expr, Var] = {e: p for e in sites if (p := parameter_of(e)) is not None}
        search.keep_most(list(fresh), partial(_without_calls, case, name, sites, fresh))


def _without_calls(
    case: Case, name: str, sites: Sequence[Expr], fresh: dict[Expr, Var], removed_sites: Sequence[Expr]
) -> Case:
    f = case.module.functions[name]
    removed = set(removed_sites)
    remaining = [e for e in sites if e not in removed]
    reached = post_order(*remaining, enter=lambda e: e not in removed)
    used = {k for e in reached if e not in removed for k in children(e)}
    memo: dict[Expr, Expr] = {e: fresh[e] for e in removed_sites}
    outputs = [rewrite(e, lambda old, new: new, memo=memo) for e in remaining if e not in used]
    return _with_results(case, name, f, outputs)


def extract_lets(search: Search) -> None:
    """`let`s go from the body of each function that nothing refers to.

    ::

        let %a = f(%x); let %b = g(%a); h(%b)   ⇒   fn (%p) { let %b = g(%p); %b }
    """
    for name in entries(search.best.module):
        case = search.best
        f = case.module.functions[name]
        lets, result = let_chain(f.body)
        if not lets:
            continue
        sites: list[Expr] = [*lets, *([] if isinstance(result, Var) else [result])]
        used = {e: {v for v in post_order(e.value if isinstance(e, Let) else e) if isinstance(v, Var)} for e in sites}
        search.keep_most(sites, partial(_without_lets, case, name, sites, used))


def _without_lets(
    case: Case, name: str, sites: Sequence[Expr], used: dict[Expr, set[Var]], removed_lets: Sequence[Expr]
) -> Case:
    f = case.module.functions[name]
    removed = set(removed_lets)
    needed: set[Var] = set()
    remaining_lets: list[Expr] = []
    instead: dict[Expr, Expr] = {}
    results: list[Expr] = []
    for e in reversed(sites):
        if isinstance(e, Let) and e in removed and e.var in needed:
            placeholder = parameter_of(e.var if e.var.checked_type is not None else e.value, e.var.name)
            if placeholder is not None:
                instead[e.var] = placeholder
                continue
        elif e in removed:
            continue
        if isinstance(e, Let):
            remaining_lets.append(e)
            if e.var not in needed:
                results.append(e.var)
        else:
            results.append(e)
        needed |= used[e]
    memo = dict(instead)
    body = _together([rewrite(e, lambda old, new: new, memo=memo) for e in reversed(results)])
    for let in remaining_lets:
        assert isinstance(let, Let)
        body = Let(let.var, rewrite(let.value, lambda old, new: new, memo=memo), body, let.span)
    return _with_results(case, name, f, [body])


def _together(results: Sequence[Expr]) -> Expr:
    return results[0] if len(results) == 1 else Tuple(tuple(results))


def _with_results(case: Case, name: str, f: Function, results: Sequence[Expr]) -> Case:
    return case.with_function(name, with_parameters(with_function(without_return_type(f), body=_together(results))))
