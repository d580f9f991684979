"""The common part of scattering operators: the combination of an element with an update, and loops over tensors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ... import te
from ...deferred import np
from ..base import RelationError
from ..extremes import larger_expression, smaller_expression

MEETINGS: dict[str, tuple[str, Any]] = {
    "update": ("", lambda old, new: new),
    "add": ("add", lambda old, new: old + new),
    "mul": ("multiply", lambda old, new: old * new),
    "mean": ("", lambda old, new: (old + new) / te.const(2, old.dtype)),
    "min": ("minimum", smaller_expression),
    "max": ("maximum", larger_expression),
}
"""What becomes of an element that an update meets: the name of numpy's function (empty where it has none) and the expression."""


def require_meeting(name: str, accepted: Sequence[str], what: str) -> None:
    """RelationError unless the attribute `what` is one of these names."""
    if name not in accepted:
        raise RelationError(f'{what} is "{name}"; it can be {", ".join(accepted[:-1])} or {accepted[-1]}')


def apply_updates(out: Any, to: tuple[Any, ...], values: Any, how: str) -> None:
    """Lets `values` meet the elements of `out` at the indices `to`, one after the other."""
    function = MEETINGS[how][0]
    if function:
        getattr(np, function).at(out, to, values)
    elif how == "update":
        out[to] = values
    else:
        half = out.dtype.type(2)
        for value, *place in zip(values, *to, strict=True):
            out[tuple(place)] = (out[tuple(place)] + value) / half


def copy_loops(ib: Any, source: Any, target: Any) -> None:
    """Writes loops that copy one buffer into another of the same shape."""
    loop_nest(ib, source.shape, lambda i: ib.store(target, i, source[i]))


def loop_nest(ib: Any, shape: Sequence[int], body: Any) -> None:
    """Writes loops over all indices of a shape, with `body(indices)` inside."""
    with ExitStack() as loops:
        body(tuple([loops.enter_context(ib.for_(d)) for d in shape]))
