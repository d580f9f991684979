"""Values that are known while a function is lowered and never reach C: data, the functions that handle it, references."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ..diagnostics import IrError
from ..interp.evaluate import evaluate_expr
from ..ir import Call, Constant, Function, GlobalVar, Match, RefRead, RefWrite, TensorType
from ..tir.program import CONSTANT, Slot
from .function_state import FunctionState
from .mistakes import NoCounterpart
from .values import REFUSED, Cell, Closure, Value, elements, is_tensors, matched, nest, structure_of

_FOLDED = 4096
"""Elements up to which a result of constants is computed while lowering, in functions lowered in place."""

_IN_PLACE = 50_000
"""Calls lowered in place before a recursion is taken as endless."""


def lowered_in_place(within: FunctionState, e: Call) -> Closure | None:
    """The function that a call applies, where C cannot have it: its parameters or its result are not tensors."""
    callee: Any = None if within.whole.in_region else within.callee(e)
    if isinstance(callee, GlobalVar):
        function = within.whole.module[callee.name]
        callee = Closure(function, {}) if isinstance(function, Function) else None
    if callee is None or callee.function.attrs.get("Primitive"):
        return None
    types = [e.checked_type, *(a.checked_type for a in e.args)]
    return None if all(is_tensors(t) for t in types) else callee


def lower_in_place(within: FunctionState, e: Call, closure: Closure) -> Generator[Any, Any, Value]:
    """The value of a call, by lowering the function's body here with its parameters known."""
    values = [within.known_value(a) for a in e.args]
    if any(v is REFUSED for v in values):
        return REFUSED
    whole, blocks, function = within.whole, within.blocks, closure.function
    whole.in_place += 1
    begun = [depth for f, depth in within.active if f is function]
    shown = f"@{e.op.name}" if isinstance(e.op, GlobalVar) else "the function"
    if begun and begun[-1] < blocks.depth:
        return within.refuse_value(
            f"the recursion depth of {shown} depends on the inputs, and it works on algebraic data", e
        )
    if whole.in_place > _IN_PLACE:
        return within.refuse(f"the recursion of {shown} does not end at compile time", e)
    around = blocks.know_only({**closure.captured, **dict(zip(function.params, values))})
    within.active.append((function, blocks.depth))
    value = yield within.value(function.body)
    within.active.pop()
    blocks.restore(around)
    return value


def lower_match(within: FunctionState, e: Match) -> Generator[Any, Any, Value]:
    """The first clause that fits the data."""
    value = yield within.value(e.data)
    if value is None:  # a constructor that stands alone
        value = within.known_value(e.data)
    if value is REFUSED:
        return REFUSED
    for clause in e.clauses:
        bound = matched(clause.pattern, value)
        if bound is not None:
            for var, part in bound.items():
                within.blocks.learn(var, part)
            return (yield within.value(clause.body))
    return within.refuse("no clause of the match fits", e)


def read_or_write(within: FunctionState, e: RefRead | RefWrite) -> Value:
    """A reference's value is known when compiling, as long as it is written where it was made."""
    cell = within.blocks.find(e.ref)
    if not isinstance(cell, Cell):
        raise IrError("the reference is not known at compile time", e.span, code=NoCounterpart)
    if isinstance(e, RefRead):
        return cell.value
    if cell.level != within.blocks.depth:
        raise IrError(
            "a reference from outside is written in a branch: that has no counterpart in C", e.span, code=NoCounterpart
        )
    cell.value = within.known_value(e.value)
    return ()


def folded(
    within: FunctionState, e: Call, function: Function, inputs: list[Slot], types: list[TensorType]
) -> Value | None:
    """The result of a primitive function of constants, as a constant: in functions lowered in place, where it may decide how
    deep they recurse."""
    if not within.active or any(s.kind != CONSTANT for s in inputs) or sum(elements(t) for t in types) > _FOLDED:
        return None
    arguments = iter([Constant(s.data, s.dtype, TensorType(s.shape, s.dtype)) for s in inputs])
    operands = [nest(structure_of(p.checked_type), arguments) for p in function.params]
    if any(isinstance(o, tuple) for o in operands):
        return None
    values = evaluate_expr(Call(function, tuple(operands), None, (), e.span, e.checked_type))
    if isinstance(values, tuple) or len(types) != 1:
        return None
    return within.whole.constant(Constant(values, types[0].dtype, types[0], e.span))
