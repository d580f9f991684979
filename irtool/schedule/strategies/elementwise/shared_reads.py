"""Rows of results that read the same vectors of an operand: an enlarged image, or one whose channels become planes.

out[y, x] = f(in[y / 2, x], in[y / 2 + 1, x])       rows 0 … 3 read rows 0 … 2: three reads serve eight
out[c, i] = f(in[3*i + c])                          the vectors of each channel are shuffled from those of all channels, read once
                                                    (see `selection.vectors.channels`)
"""

from __future__ import annotations

from collections.abc import Sequence

from ....symbolic_int import is_known
from ....tir import dtypes
from ....tir.expr import Expr, Load, Select, Var, post_order, substitute
from ....tir.simplify import Simplifier
from ...core.affine import depends, loads, simplifier, stride
from ...core.forms import Loop, Map
from ...cost.machine import FEWEST_LANES, MOST_LEFT, TOGETHER


def interleaved_channels(m: Map, along: Var) -> Loop | None:
    """The loop over a few channels that are interleaved in all operands without contiguous vectors.

    None without such a loop, or if a condition decides which element is read. Four channels of four bytes are squares for
    `tiled_transpose`.
    """
    simplify = simplifier(m.loops)
    values = [s.value for s in m.stores]
    reads = [(e, e.source.offset(e.indices)) for e in loads(*values)]
    strided = [(e, place) for e, place in reads if stride(simplify, place, along) not in (0, 1)]
    if not strided or any(isinstance(e, Select) and e.lazy for e in post_order(*values)):
        return None
    most = FEWEST_LANES - (min(dtypes.itemsize(e.dtype) for e, _ in strided) >= 4)
    for w, k in m.loops:
        if (
            is_known(k)
            and 1 < k <= most
            and all((stride(simplify, p, along), stride(simplify, p, w)) == (k, 1) for _, p in strided)
        ):
            return w, k
    return None


def rows_that_share(m: Map, uneven: Sequence[Expr], along: Var) -> tuple[Var, int] | None:
    """The innermost loop other than that of vectors, and the number of its steps that share reads at `uneven` offsets, which need
    shuffles.

    None if too few reads are shared, or the stage only copies: fewer reads are not worth longer code then.
    """
    others = [x for x in m.loops if x[0] is not along]
    if not others or all(isinstance(s.value, Load) for s in m.stores):
        return None
    row, extent = others[-1]
    rows = next((n for n in range(TOGETHER, 1, -1) if extent % n == 0), 1)
    if rows == 1 or not any(depends(p, row) for p in uneven):
        return None
    turn = Var("turn")
    simplify = Simplifier({v: (0, n - 1) for v, n in m.loops} | {turn: (0, extent // rows - 1)})
    rows_read = {simplify(substitute(p, {row: turn * rows + n})) for p in uneven for n in range(rows)}
    return (row, rows) if len(rows_read) <= MOST_LEFT * rows * len(uneven) else None
