"""Clauses of `match`: one takes its place, or others go."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Expr, Match, Var, bound_vars, rewrite
from ..case import Case, nodes_of
from ..search import Search
from .parts import drop_parts
from .placeholders import parameter_of, with_parameters, zeros_of
from .replacing import entries, own_nodes


def take_clauses(search: Search) -> None:
    """`match (%d) { A(%x) => a, B => b } ⇒ b`; variables of the pattern become parameters, or zeros."""
    most = max((len(e.clauses) for _, e in nodes_of(search.best.module) if isinstance(e, Match)), default=0)
    for n in range(most):
        case = search.best
        numbers = {e: n for _, e in nodes_of(case.module) if isinstance(e, Match) and n < len(e.clauses)}
        search.keep_most(
            list(reversed(numbers)),
            lambda chosen, case=case, numbers=numbers: _take(case, numbers, chosen),  # type: ignore[misc]  # mypy infers no lambda with a default
        )


def _take(case: Case, numbers: dict[Match, int], chosen: Sequence[Match]) -> Case | None:
    functions = dict(case.module.functions)
    takes_parameters = set(entries(case.module))
    for name, f in case.module.relay_functions.items():
        outer = set(own_nodes(f)) if name in takes_parameters else set()
        memo: dict[Expr, Expr] = {}
        for e in chosen:
            for v in bound_vars(e.clauses[numbers[e]].pattern):
                stand_in = _stand_in(v, e in outer)
                if stand_in is not None:
                    memo[v] = stand_in
        picked = set(chosen)

        def leave(old: Expr, new: Expr, memo: dict[Expr, Expr] = memo, picked: set[Match] = picked) -> Expr:
            return memo[old.clauses[numbers[old]].body] if isinstance(old, Match) and old in picked else new

        rewritten = rewrite(f, leave, memo=memo)
        functions[name] = with_parameters(rewritten) if name in takes_parameters and rewritten is not f else rewritten
    return case.with_module(case.module.with_functions(functions))


def _stand_in(v: Var, takes_parameters: bool) -> Expr | None:
    return parameter_of(v, v.name) if takes_parameters else zeros_of(v.checked_type)


def drop_clauses(search: Search) -> None:
    """Clauses go from a `match`, which is incomplete afterwards."""
    matches = [e for _, e in nodes_of(search.best.module) if isinstance(e, Match)]
    drop_parts(search, Match, matches, lambda e: e.clauses, lambda e, left: Match(e.data, left, False, e.span))
