"""Fields of tuples go."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Expr, Function, Tuple, TupleGetItem, let_chain, with_function, without_return_type
from ..case import Case, nodes_of
from ..search import Search
from .parts import drop_parts
from .placeholders import with_parameters
from .replacing import entries, replaced


def drop_outputs(search: Search) -> None:
    """Results go from functions that nothing refers to."""
    for name in entries(search.best.module):
        case = search.best
        f = case.module.functions[name]
        result = let_chain(f.body)[1]
        if not isinstance(result, Tuple):
            continue

        def without(chosen: Sequence[int], case: Case = case, name: str = name, result: Tuple = result) -> Case | None:
            left = [e for n, e in enumerate(result.fields) if n not in chosen]
            if not left:
                return None
            shortened = replaced(case, {result: left[0] if len(left) == 1 else Tuple(tuple(left))})
            g: Function = shortened.module.functions[name]
            return shortened.with_function(name, with_parameters(with_function(without_return_type(g), body=g.body)))

        search.keep_most(range(len(result.fields)), without)


def drop_fields(search: Search) -> None:
    """Fields go from tuples that are handed on as a whole; `(a, b).1 ⇒ b`."""
    case = search.best
    taken = {e.tuple: e for _, e in nodes_of(case.module) if isinstance(e, TupleGetItem)}
    direct: dict[Expr, Expr] = {
        e: e.tuple.fields[e.index]
        for _, e in nodes_of(case.module)
        if isinstance(e, TupleGetItem) and isinstance(e.tuple, Tuple)
    }
    search.keep_most(list(direct), lambda chosen: replaced(case, {e: direct[e] for e in chosen}))
    if search.best is not case:
        return
    tuples = [e for _, e in nodes_of(case.module) if isinstance(e, Tuple) and e not in taken and len(e.fields) > 1]
    drop_parts(search, Tuple, tuples, lambda e: e.fields, lambda e, left: Tuple(left, e.span))
