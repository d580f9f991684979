"""`split`: one loop as several."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...diagnostics import UsageError
from ...tir.expr import Expr, Var
from ..core.block import Block
from ..core.forms import Form
from .base import primitive


@primitive
def split(b: Block[Form], loop: Var | str, factors: Sequence[int], names: Sequence[str] = ()) -> Block[Form]:
    """Splits a loop into several, whose extents multiply to its own; the first is the outermost.

    ::

        for i in 64: out[i] = f(i)    ⇒    split(i, [4, 16])    for i_o in 4: for i_i in 16: out[i_o * 16 + i_i] = f(i_o * 16 + i_i)

    `names`: those of the new loops (default: `i_o`, `i_i`; for three loops `i_o`, `i_t`, `i_i`). `loop_partition` splits off a
    remainder that the factors do not divide. Raises UsageError if the factors do not multiply to the loop's extent.
    """
    v, extent = b.find(loop)
    if math.prod(factors) != extent:
        raise UsageError(f"{v.name} has {extent} steps, and the factors multiply to {math.prod(factors)}")
    called = list(names) or [
        f"{v.name}_{s}" for s in {1: ["o"], 2: ["o", "i"], 3: ["o", "t", "i"]}.get(len(factors), [])
    ]
    called = called or [f"{v.name}_{n}" for n in range(len(factors))]
    loops = tuple((Var(name, v.dtype), n) for name, n in zip(called, factors, strict=True))
    value: Expr = loops[0][0]
    for x, n in loops[1:]:
        value = value * n + x
    return b.with_loop(v, loops, value)
