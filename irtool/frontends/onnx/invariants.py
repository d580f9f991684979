"""Loop invariants: expressions that a loop's body does not change are computed once, outside, and handed to the loop."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Op,
    TensorType,
    Var,
    binders,
    children,
    post_order,
    rewrite,
)
from ...ir.walk import free_variables_of_functions

_INLINE = Op | GlobalVar | Constructor | Function | Constant
"""What stands in the body as it is: functions are no arguments, and constants are there only once anyway."""


def lift_invariants(root: Expr, own: Iterable[Var]) -> tuple[Expr, list[Var], list[Expr]]:
    """The body with variables for all expressions that do not depend on the variables `own`, with their values.

    The largest such expressions are taken, each once. They are outside of every branch then: Relay has no effects that
    would tell.
    """
    nodes = post_order(root)
    changing: set[Expr] = {*own, *(v for e in nodes for v in binders(e))}
    inside = free_variables_of_functions(root)
    for e in nodes:
        below = inside[e] if isinstance(e, Function) else children(e)
        if any(k in changing for k in below):
            changing.add(e)
    lifted: dict[Expr, Var] = {}
    taken = {v.name for v in changing if isinstance(v, Var)}
    stack = [root]
    seen: set[Expr] = set()
    while stack:
        e = stack.pop()
        if e in seen or (isinstance(e, _INLINE) and not isinstance(e, Function)):
            continue
        seen.add(e)
        if e not in changing and not isinstance(e, Function) and isinstance(e.checked_type, TensorType):
            lifted[e] = Var(_name(e, taken), e.checked_type, e.span, e.checked_type)
        else:
            stack.extend(reversed(children(e)))
    if not lifted:
        return root, [], []
    body = rewrite(root, lambda old, new: new, lifted.get)
    return body, list(lifted.values()), list(lifted)


def _name(e: Expr, taken: set[str]) -> str:
    named = e
    while isinstance(named, Call) and named.args:
        named = named.args[0]
    preferred = named.name if isinstance(named, Var) else "outer"
    result, count = preferred, 0
    while result in taken:
        count += 1
        result = f"{preferred}_{count}"
    taken.add(result)
    return result
