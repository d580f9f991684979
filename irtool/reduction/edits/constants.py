"""Constants become parameters or zeros."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Constant, Expr, MissingData, Var
from ..case import Case, has_numbers, nodes_of
from ..search import Search
from .placeholders import parameter_of, with_parameters
from .replacing import entries, own_nodes, replaced


def lift_constants(search: Search) -> None:
    """Constants with axes become parameters of functions that nothing refers to."""
    case = search.best
    names = entries(case.module)
    fresh: dict[Expr, Var] = {}
    for name in names:
        for e in own_nodes(case.module.functions[name]):
            if isinstance(e, Constant) and not e.is_scalar and (p := parameter_of(e, "w")) is not None:
                fresh[e] = p

    def lifted(chosen: Sequence[Expr]) -> Case:
        result = replaced(case, {e: fresh[e] for e in chosen})
        for name in names:
            result = result.with_function(name, with_parameters(result.module.functions[name]))
        return result

    search.keep_most(list(fresh), lifted)


def clear_constants(search: Search) -> None:
    """The numbers of constants become zeros."""
    import numpy as np

    case = search.best
    sites = [e for _, e in nodes_of(case.module) if isinstance(e, Constant) and has_numbers(e)]

    def cleared(chosen: Sequence[Constant]) -> Case:
        return replaced(
            case,
            {e: Constant(np.zeros_like(e.data), e.dtype) for e in chosen if not isinstance(e.data, MissingData)},
        )

    search.keep_most(sites, cleared)
