"""Functions that a branch chooses, called inside the branch."""

from __future__ import annotations

from collections import Counter
from functools import partial

from ..ir import Call, Expr, Function, FuncType, If, Let, Match, Module, Var, post_order, refresh, rewrite
from ..ir.branches import with_branch_results
from ..passes.effects.purity import Effects

_MOST_CALLS = 16
"""Calls of one choice: each of them has the branches once more."""


def call_inside_branches(module: Module) -> Module:
    """The module in A-normal form with the calls of functions that an `if` or a `match` gives inside its branches.

    ::

        let %f = if (%c) { %g } else { %h }; %f(%x)    ⇒    if (%c) { %g(%x) } else { %h(%x) }

    What chooses has no effect: it is evaluated again in each call. Itself where nothing changes. Types have to be inferred again.
    """
    effects = Effects(module)
    functions = dict(module.functions)
    for name, f in module.relay_functions.items():
        chosen = _choices(f, effects)
        if chosen:
            functions[name] = rewrite(f, partial(_called, chosen))
    return module.with_functions(functions)


def _choices(f: Function, effects: Effects) -> dict[Var, If | Match]:
    """The variables that are called and have the value of a branch."""
    order = post_order(f.body)
    calls = Counter(e.op for e in order if isinstance(e, Call) and isinstance(e.op, Var))
    return {
        e.var: e.value
        for e in order
        if isinstance(e, Let)
        and isinstance(e.value, If | Match)
        and isinstance(e.value.checked_type, FuncType)
        and 0 < calls[e.var] <= _MOST_CALLS
        and effects.is_pure(e.value)
    }


def _called(chosen: dict[Var, If | Match], old: Expr, new: Expr) -> Expr:
    if not isinstance(old, Call) or not isinstance(old.op, Var) or old.op not in chosen:
        return new
    assert isinstance(new, Call)
    copy = refresh(chosen[old.op])
    assert isinstance(copy, If | Match)
    return with_branch_results(copy, lambda result: Call(result, new.args, span=new.span))
