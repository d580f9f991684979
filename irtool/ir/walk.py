"""Walking over expressions without recursion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ..post_order import in_post_order
from .adt import bound_vars
from .expr import CHILDREN_OF, Expr, Function, GlobalVar, Let, Match, Var


def post_order(*roots: Expr, enter: Callable[[Expr], bool] | None = None) -> list[Expr]:
    """Every node reachable from the roots, once, children before parents, left to right.

    `enter(e)` returning False keeps the walk from going below `e` (`e` itself is listed).
    """
    return in_post_order(CHILDREN_OF, roots, enter=enter)


def use_counts(*roots: Expr) -> Counter[Expr]:
    """The number of edges to each node (a root counts one for being a root)."""
    counts: Counter[Expr] = Counter(roots)
    for e in post_order(*roots):
        counts.update(CHILDREN_OF[e.__class__](e))
    return counts


def binders(e: Expr) -> tuple[Var, ...]:
    """The variables that this node itself binds."""
    if isinstance(e, Function):
        return e.params
    if isinstance(e, Let):
        return (e.var,)
    if isinstance(e, Match):
        return tuple(v for c in e.clauses for v in bound_vars(c.pattern))
    return ()


def bound_variables(*roots: Expr) -> list[Var]:
    """Every variable bound below the roots, in post-order of its binder."""
    return [v for e in post_order(*roots) for v in binders(e)]


def free_variables(*roots: Expr) -> list[Var]:
    """Variables used below the roots and bound nowhere below them, in order of first use."""
    order = post_order(*roots)
    bound = {v for e in order for v in binders(e)}
    return [e for e in order if isinstance(e, Var) and e not in bound]


def free_variables_of_functions(*roots: Expr) -> dict[Function, list[Var]]:
    """The result of `free_variables` for each function below the roots, inner functions before those around them.

    A function is looked into once: around it, what it uses from outside stands for it.
    """
    result: dict[Function, list[Var]] = {}
    for f in post_order(*roots):
        if isinstance(f, Function):
            used: dict[Var, None] = {}
            bound: set[Var] = set()
            for e in post_order(f, enter=lambda e, f=f: e is f or not isinstance(e, Function)):  # type: ignore[misc]  # mypy infers no lambda with a default
                if isinstance(e, Var):
                    used[e] = None
                elif isinstance(e, Function) and e is not f:
                    used.update(dict.fromkeys(result[e]))
                else:
                    bound.update(binders(e))
            result[f] = [v for v in used if v not in bound]
    return result


def global_names(*roots: Expr) -> list[str]:
    """Names of the global functions referred to, in order of first use."""
    return list(dict.fromkeys(e.name for e in post_order(*roots) if isinstance(e, GlobalVar)))


def let_chain(e: Expr) -> tuple[list[Let], Expr]:
    """The `let`s at the head of `e`, outermost first, and the body below them."""
    lets: list[Let] = []
    while isinstance(e, Let):
        lets.append(e)
        e = e.body
    return lets, e


def names_used(roots: Iterable[Expr]) -> set[str]:
    """Every name of a local variable that occurs below the roots, bound or used."""
    order = post_order(*roots)
    return {v.name for e in order for v in (*binders(e), *((e,) if isinstance(e, Var) else ()))}
