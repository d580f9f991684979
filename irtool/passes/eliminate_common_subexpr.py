"""EliminateCommonSubexpr: equal computations become one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

from ..ir import Call, Constant, Expr, Function, Module, Op, TupleGetItem, rewrite
from ..ops.base import is_call_to
from .core.base import FunctionPass, register_pass
from .core.context import PassContext


@register_pass("EliminateCommonSubexpr", level=3, required=("InferType",))
@dataclass(frozen=True)
class EliminateCommonSubexpr(FunctionPass):
    """Shares calls of the same operator on the same arguments, and equal projections.

    ::

        add(nn.relu(%x), nn.relu(%x))   ⇒   %0 = nn.relu(%x); add(%0, %0)

    Arguments are the same if they are one node, or scalar constants of one value. Stateful operators are left alone.

    Options:
        fskip: a function of an expression; where it answers True, the expression is not merged into another.
        skip_int32_casts: do not merge casts to int32 (what the build pipeline passes for `fskip`).
    """

    fskip: Any = None
    skip_int32_casts: bool = False

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        skip: Callable[[Expr], bool] = self.fskip or (lambda e: False)
        if self.skip_int32_casts:
            skip = _is_int32_cast
        return eliminate(function, skip)


def _is_int32_cast(e: Expr) -> bool:
    return is_call_to(e, "cast") and e.attrs.dtype == "int32"


@overload
def eliminate(root: Function, skip: Callable[[Expr], bool] = ...) -> Function: ...
@overload
def eliminate(root: Expr, skip: Callable[[Expr], bool] = ...) -> Expr: ...
def eliminate(root: Expr, skip: Callable[[Expr], bool] = lambda e: False) -> Expr:
    """`root` with equal nodes shared; the first in post-order stands for all."""
    first: dict[Any, Expr] = {}

    def leave(old: Expr, new: Expr) -> Expr:
        key = _key(new)
        if key is None or skip(new):
            return new
        return first.setdefault(key, new)

    return rewrite(root, leave)


def _key(e: Expr) -> Any:
    """The key of a node, equal for nodes that can be merged; None if this one never can."""
    if isinstance(e, TupleGetItem):
        return ("item", e.tuple, e.index)
    if not isinstance(e, Call) or not e.args or not isinstance(e.op, Op) or e.op.operator.stateful:
        return None
    return (e.op.name, _attributes(e.attrs), tuple(map(_argument, e.args)))


def _argument(e: Expr) -> Any:
    if isinstance(e, Constant) and e.is_scalar:
        return (e.dtype, e.data.tobytes())  # type: ignore[union-attr]  # the data of the constant is there
    return e


def _attributes(attrs: Any) -> Any:
    """The attributes as something that can be hashed: compared by value, field for field, types of numbers included."""
    if attrs is None:
        return None
    if isinstance(attrs, dict):
        return tuple((k, _hashable(v)) for k, v in attrs.items())
    return tuple(_hashable(getattr(attrs, f.name)) for f in attrs.fields())


def _hashable(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(_hashable, value))
    if isinstance(value, dict):
        return tuple((k, _hashable(v)) for k, v in value.items())
    try:
        hash(value)
    except TypeError:
        return id(value)
    return (value.__class__.__name__, value)
