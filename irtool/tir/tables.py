"""Functions of bytes as tables of 256 bytes: `table[int32(x)]`, with x a uint8."""

from __future__ import annotations

from .nodes import Cast, Expr, Load
from .stmt import Buffer

SIZE = 256
"""Elements of a table, one for each byte."""


def looked_up(e: Expr) -> Expr | None:
    """The byte that is looked up in a table; None for any other expression.

    Wherever it lies, the whole table is at hand: such a read moves with no loop.
    """
    if not isinstance(e, Load) or not isinstance(e.source, Buffer) or e.source.shape != (SIZE,) or len(e.indices) != 1:
        return None
    index = e.indices[0]
    if not isinstance(index, Cast) or index.value.dtype != "uint8" or e.dtype not in ("int8", "uint8"):
        return None
    return index.value
