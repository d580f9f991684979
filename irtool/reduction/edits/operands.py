"""Expressions are replaced by their operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir import Call, Expr, Let, Tuple, TupleGetItem
from ..case import nodes_of
from ..search import Search
from .replacing import replaced

_LOOKED_AT = 16
"""Nodes below an expression that are looked at."""


def take_operands(search: Search) -> None:
    """Calls and fields become the nearest operand of the same type: `nn.relu(%x) ⇒ %x`."""
    _take(search, lambda parts: parts)


def take_others(search: Search) -> None:
    """The same, the last operand first: `add(%x, %y) ⇒ %y`."""
    _take(search, lambda parts: tuple(reversed(parts)))


def _take(search: Search, order: Callable[[Sequence[Expr]], Sequence[Expr]]) -> None:
    case = search.best
    operands: dict[Expr, Expr] = {}
    for _, e in nodes_of(case.module):
        if isinstance(e, Call | TupleGetItem | Let) and e.checked_type is not None:
            operand = _operand(e, order)
            if operand is not None:
                operands[e] = operand
    search.keep_most(list(reversed(operands)), lambda chosen: replaced(case, {e: operands[e] for e in chosen}))


def _operand(e: Expr, order: Callable[[Sequence[Expr]], Sequence[Expr]]) -> Expr | None:
    """The nearest expression of the same type that `e` is computed from, in the same scope."""
    waiting = list(order(_parts(e)))
    for n in range(_LOOKED_AT):
        if n >= len(waiting):
            return None
        if waiting[n].checked_type == e.checked_type:
            return waiting[n]
        waiting += order(_parts(waiting[n]))
    return None


def _parts(e: Expr) -> Sequence[Expr]:
    if isinstance(e, Call):
        return e.args
    if isinstance(e, Tuple):
        return e.fields
    if isinstance(e, TupleGetItem):
        return (e.tuple,)
    return (e.value,) if isinstance(e, Let) else ()
