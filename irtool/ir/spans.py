"""Source positions for nodes that passes make: a node takes the position of the one that it replaces.

Only nodes that have neither a place nor a type are given one, so that nothing changes in a module that inference has been
over. Operators and constructors are shared by all programs and have none.
"""

from __future__ import annotations

from ..diagnostics import Span
from .expr import CHILDREN_OF, Constructor, Expr, Function, Let, Op
from .walk import binders, post_order


def spread_place(root: Expr, span: Span) -> None:
    """Gives this place to `root`, and to nodes below it through nodes without a place."""
    stack = [root]
    while stack:
        e = stack.pop()
        if _place(e, span):
            stack.extend(CHILDREN_OF[e.__class__](e))


def place_by_operands(e: Expr) -> None:
    """Gives a node without a place that of its first operand that has one."""
    if e.span is None:
        made_from = (e.value,) if isinstance(e, Let) else CHILDREN_OF[e.__class__](e)
        span = next((k.span for k in made_from if k.span is not None), None)
        if span is not None:
            _place(e, span)


def fill_places(root: Function) -> None:
    """Gives every node of a function a place.

    Where a node has none it takes that of what it is made from, the first operand that has one; else that of what it is
    made for, a node that uses it. Linear in the size of the function. Nothing happens where nothing has a place.
    """
    order = post_order(root)
    if all(e.span is not None for e in order if e.__class__ is not Op):
        return
    for e in order:
        place_by_operands(e)
    for e in reversed(order):
        if e.span is not None:
            for k in (*CHILDREN_OF[e.__class__](e), *binders(e)):
                _place(k, e.span)


def _place(e: Expr, span: Span) -> bool:
    """Gives a node a place; False where it has one, or is not to have one."""
    if e.span is not None or e.checked_type is not None or e.__class__ is Op or e.__class__ is Constructor:
        return False
    object.__setattr__(e, "span", span)
    return True
