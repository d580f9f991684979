"""Binary search without branches: for each value as many steps as the length of the row has bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import te
from ..symbolic_int import is_known


def count_leading(ib: Any, extent: Any, is_before: Callable[[Any], Any]) -> Any:
    """The number of the first of `extent` places for which `is_before(k)` holds, which hold for none behind one where it does not.

    Writes a `let` for each step: the range of places is halved until one is left. Places whose number only the run knows are counted
    one by one.
    """
    if not is_known(extent):
        total = ib.local("int32", te.const(0, "int32"))
        with ib.for_(extent) as k:
            total.set(total.get() + te.cast(is_before(k), "int32"))
        return ib.let(total.get())
    first, count = te.const(0, "int32"), extent
    while count > 1:
        half = count // 2
        first = ib.let(te.select(is_before(first + (half - 1)), first + half, first))
        count -= half
    return ib.let(first + te.cast(is_before(first), "int32")) if count else first
