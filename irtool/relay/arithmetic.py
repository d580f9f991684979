"""Python's operators on expressions, and the types of expressions as far as they are known while one is built."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ..diagnostics import IrError
from ..ir import Call, Constant, Expr, Function, Op, TensorType, Tuple, TupleGetItem, TupleType, Type, Var, post_order
from ..ops.base import call
from .literals import const

_TYPES: WeakKeyDictionary[Expr, Type] = WeakKeyDictionary()
"""Types of expressions that inference has not run over as a whole."""


def binary(name: str, left: Any, right: Any) -> Any:
    """`left OP right`, one of which is an expression and the other one may be a number or an array.

    A number takes the dtype of the expression where that is known, and else the one that `const` gives it. NotImplemented
    for anything else, which makes Python raise a TypeError; a TypeError for a fraction beside integers.
    """
    if not isinstance(left, Expr):
        constant = _operand(left, right)
        return NotImplemented if constant is None else call(name, constant, right)
    if not isinstance(right, Expr):
        constant = _operand(right, left)
        return NotImplemented if constant is None else call(name, left, constant)
    return call(name, left, right)


def negative(e: Expr) -> Expr:
    """`-e`."""
    return call("negative", e)


def _operand(value: Any, other: Expr) -> Constant | None:
    if isinstance(value, str | bytes) or not (isinstance(value, bool | int | float) or hasattr(value, "__array__")):
        return None
    if not isinstance(value, bool | int | float):
        return const(value)
    t = type_of(other)
    dtype = t.dtype if isinstance(t, TensorType) else None
    if dtype and not dtype.startswith(("float", "bfloat")) and isinstance(value, float):
        raise TypeError(f"{value} beside a tensor of {dtype}: cast one of them, or write relay.const({value}, …)")
    return const(value, dtype)


def field_count(e: Expr) -> int | None:
    """The number of fields of a tuple, or None if it is not known, or `e` is no tuple."""
    t = type_of(e)
    return len(t.fields) if isinstance(t, TupleType) else None


def type_of(e: Expr) -> Type | None:
    """The type of an expression, from annotations and the rules of operators; None if they do not decide it.

    What was found is kept, so that asking at every step of building a long chain costs no more than asking once.
    """
    for part in post_order(e, enter=lambda x: _known(x) is None and not isinstance(x, Function)):
        if _known(part) is None:
            inferred = _infer(part)
            if inferred is not None:
                _TYPES[part] = inferred
    return _known(e)


def _known(e: Expr) -> Type | None:
    if e.checked_type is not None:
        return e.checked_type
    if isinstance(e, Var):
        return e.type_annotation
    if isinstance(e, Constant):
        return TensorType(tuple(e.data.shape), e.dtype) if hasattr(e.data, "shape") else e.type_annotation
    return _TYPES.get(e)


def _infer(e: Expr) -> Type | None:
    """The type of a node whose children's types are known as far as they can be."""
    from ..infer.infer import infer_expr

    if isinstance(e, Tuple):
        fields = [_known(f) for f in e.fields]
        return None if None in fields else TupleType(tuple(fields))  # type: ignore[arg-type]  # None was ruled out
    if isinstance(e, TupleGetItem):
        t = _known(e.tuple)
        return t.fields[e.index] if isinstance(t, TupleType) and 0 <= e.index < len(t.fields) else None
    if isinstance(e, Call) and isinstance(e.op, Op):
        args = [a if isinstance(a, Constant) else Var("arg", _known(a)) for a in e.args]
        try:
            return infer_expr(Call(e.op, tuple(args), e.attrs, e.type_args)).checked_type
        except IrError:
            return None
    return None
