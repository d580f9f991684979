"""Evaluation of calls on known tensors while the program is partially evaluated."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnostics import IrError
from ...ir import Call, Constant, Expr, Function, If, Let, Op, Tuple, TupleGetItem, Var, post_order
from ..core.folding_budget import current_budget
from ..fold_constant import as_constant, can_be_constant
from .values import Partial, StaticTensor, StaticTuple


def computes_tensors(callee: Expr) -> bool:
    """True if a call of an operator or of a primitive function has no effects and, on tensors, always ends.

    So it is without recursion, which functions have by their names alone, by what a variable holds or by way of data and
    references: functions in it are called where they stand.
    """
    called: set[Expr] = {callee}
    exprs = post_order(callee)
    for e in exprs:
        if isinstance(e, Call):
            called.add(e.op)
    for e in exprs:
        if isinstance(e, Op) and e.operator.stateful:
            return False
        if isinstance(e, Function | Op):
            if e not in called:
                return False
        elif not isinstance(e, Call | Constant | If | Let | Tuple | TupleGetItem | Var):
            return False
    return True


def known_tensors(values: Sequence[Partial]) -> tuple[Expr, ...] | None:
    """Values as constants and tuples (of tuples …) of constants; None if a tensor among them is not known."""
    done: list[Expr] = []
    stack: list[tuple[Partial, bool]] = [(v, False) for v in reversed(values)]
    while stack:
        value, ready = stack.pop()
        if isinstance(value.known, StaticTensor):
            done.append(value.known.constant)
        elif not isinstance(value.known, StaticTuple):
            return None
        elif ready:
            first = len(done) - len(value.known.fields)
            done[first:] = [Tuple(tuple(done[first:]))]
        else:
            stack.append((value, True))
            stack.extend((f, False) for f in reversed(value.known.fields))
    return tuple(done)


def evaluated(e: Call) -> Expr | None:
    """The result of a call on constants, as constants; None if evaluation fails, or the result cannot be a constant."""
    from ...infer import infer_expr
    from ...interp.evaluate import evaluate_expr

    place = next((a.span for a in e.args if a.span is not None), None)
    try:
        typed = infer_expr(e)
        if not can_be_constant(typed.checked_type):
            return None
        if not current_budget(typed).admits(e, typed.checked_type):
            return None
        return as_constant(evaluate_expr(typed), typed.checked_type, place)
    except IrError:
        return None
