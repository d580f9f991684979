"""Windows with a single step in the data at every position: the step is computed without a loop.

    for y in 0 … 3: for k in 0 … 3: acc += (y + k == 3 ? x[y + k - 3] : 0) * w[3 - k]        ⇒    for y in 0 … 3: acc += x[0] * w[y]

Data with one element along an axis have such windows: the first layer of a generator that begins with a transposed convolution of a
single pixel, or a convolution whose image has shrunk to one.
"""

from __future__ import annotations

from dataclasses import replace

from ...symbolic_int import as_integer
from ...tir.expr import Expr, Var
from ...tir.forms import Reduction
from ...tir.simplify import Simplifier
from ..core.affine import simplifier
from .slice_domain import slice_domain


def solve_steps(r: Reduction) -> Reduction:
    """The reduction without loops whose guards allow a single step; itself if it has none.

    The last loop of a reduction stays, with one step. Guards on other loops stay, too.
    """
    while (solution := _solution(r)) is not None:
        r = _solved(r, *solution)
    return r


def _solution(r: Reduction) -> tuple[Var, Expr] | None:
    """A loop of the sum with more than one step, and the only value for which its guards hold."""
    simplify = simplifier(r.loops, r.inner)
    for step, extent in r.inner:
        if extent == 1:
            continue
        for low in r.guards:
            slope = simplify.linear(low)[0].get(step, 0)
            if abs(slope) != 1 or not any(_is_zero(simplify, low + high) for high in r.guards):
                continue
            value = simplify(low * as_integer(-slope) + step)  # without the step, and zero if the guard is
            first, last = simplify.range(value)
            if first >= 0 and last < extent:
                return step, value
    return None


def _is_zero(simplify: Simplifier, e: Expr) -> bool:
    terms, rest = simplify.linear(e)
    return not terms and rest == 0


def _solved(r: Reduction, step: Var, value: Expr) -> Reduction:
    """The reduction with this value for a step, without the guards that always hold then."""
    if len(r.inner) == 1:
        r = replace(r, inner=(*r.inner, (Var(step.name), 1)))
    solved = slice_domain(r, {}, {step: value}, r.guards)
    simplify = simplifier(solved.loops, solved.inner)
    return replace(solved, guards=tuple(g for g in solved.guards if simplify.range(g)[0] < 0))
