"""Rows of results that read the same rows of an operand: an image that is enlarged.

out[y, x] = f(in[y / 2, x], in[y / 2 + 1, x])       rows 0 … 3 read rows 0 … 2: three reads serve eight
"""

from __future__ import annotations

from collections.abc import Sequence

from ....tir.expr import Expr, Load, Var, substitute
from ....tir.simplify import Simplifier
from ...core.affine import depends
from ...core.forms import Map
from ...cost.machine import MOST_LEFT, TOGETHER


def rows_that_share(m: Map, uneven: Sequence[Expr], along: Var) -> tuple[Var, int] | None:
    """The innermost loop other than that of vectors, and how many of its steps share reads at `uneven` places, of which each takes
    shuffles. None where too few do, or elements are only moved: a read less is not worth longer code then."""
    others = [x for x in m.loops if x[0] is not along]
    if not others or all(isinstance(s.value, Load) for s in m.stores):
        return None
    row, extent = others[-1]
    rows = next((n for n in range(TOGETHER, 1, -1) if extent % n == 0), 1)
    if rows == 1 or not any(depends(p, row) for p in uneven):
        return None
    turn = Var("turn")
    simplify = Simplifier({v: (0, n - 1) for v, n in m.loops} | {turn: (0, extent // rows - 1)})
    found = {simplify(substitute(p, {row: turn * rows + n})) for p in uneven for n in range(rows)}
    return (row, rows) if len(found) <= MOST_LEFT * rows * len(uneven) else None
