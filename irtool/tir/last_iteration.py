"""The largest index that a loop reaches whose number of iterations is computed from data.

    for i in range(end[r] - begin[r]):  x[begin[r] + i]

reads below `end[r]`, however small the ranges of `begin` and `end` are said to be apart from each other: in the last
iteration, `begin + i` is `begin + (end - begin) - 1`.
"""

from __future__ import annotations

from collections.abc import Mapping

from .expr import Binary, Expr, Var, const, substitute
from .simplify import Simplifier

_MOST_LOOPS = 16
"""Loops around an index that are looked at."""


def at_last_iteration(index: Expr, extents: Mapping[Var, Expr], simplify: Simplifier) -> Expr:
    """An upper bound of `index`, as an expression without those variables of loops in which it is linear.

    `extents` are the numbers of iterations, by the loops' variables; what they read must not change in the loops.
    """
    for _ in range(_MOST_LOOPS):
        terms, _ = simplify.linear(index)
        values: dict[Var, Expr] = {}
        for v, factor in terms.items():
            if isinstance(v, Var) and v in extents:
                last = Binary("-", extents[v], const(1, v.dtype), v.dtype) if factor > 0 else const(0, v.dtype)
                values[v] = last
        if not values:
            break
        index = substitute(simplify(index), values)
    return simplify(index)
