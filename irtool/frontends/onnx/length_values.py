"""Elements of shapes that follow from lengths which only the run knows.

Exporters compute the shape of one tensor from that of another. Where an extent is a length, such as `seq`, these numbers are formulas:
`Length`s in arrays of objects. Operators that move, add, multiply and divide elements are evaluated on them. A `Length` is no number
for Python, so that nothing takes its bound for its value: what needs a number fails, and the elements are then data of the run. A
comparison that is the same for all lengths is decided; any other one is too uncertain to decide a shape.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...infer.infer import infer_expr
from ...ir import Call, Constant, Expr, Op, TensorType, Tuple, TupleGetItem, Type, Var, post_order, rewrite
from ...ir.dims import is_number
from ...ops.base import Operator
from ...ops.dtypes import is_float
from ...ops.errors import RelationError
from ...ops.reduce import reduce_axes
from ...symbolic_int import Undecided, bound
from .lengths import (
    Length,
    as_length,
    ceil,
    elements_of,
    floor,
    larger_number,
    object_array,
    quotient,
    smaller_number,
    towards_zero,
    truncated,
    whole_quotient,
)
from .memory_limit import counted
from .value import Value

_LARGEST = 64
"""Elements of a vector that is looked at."""

_EXACT = {"float16": 1 << 11, "float32": 1 << 24, "float64": 1 << 53}
"""Whole numbers below these are exact in floats, and so are their multiples by powers of two."""

_NEAR = 1 << 4
"""The part of these numbers that rounding leaves certain: quotients whose dividends are smaller by this factor round to the right side
of a whole number."""


def with_lengths(value: Value | None, inputs: Sequence[Value | None]) -> Value | None:
    """A result of an operator with its elements, where these follow from lengths in the inputs."""
    if value is None or value.known is not None or value.lengths is not None or not isinstance(value.type, TensorType):
        return value
    present = [i for i in inputs if i is not None]
    doubt = next((i.doubt for i in present if i.doubt), "")
    if doubt:
        return replace(value, doubt=doubt)
    if not any(i.lengths is not None for i in present):
        return value
    if any(i.parameter or (i.known is None and i.lengths is None) for i in present):
        return value
    known = {i.expr: i.known if i.lengths is None else i.lengths for i in present}
    try:
        elements = np.asarray(_evaluate(value.expr, known))
    except Undecided as error:
        return replace(value, doubt=str(error))
    except (TypeError, ValueError, ArithmeticError, IrError, RelationError):
        return value
    if elements.size > _LARGEST or elements.shape != value.type.shape:
        return value
    return settled(value, elements)


def extent_of_axis(x: Value, axis: int, dtype: str = "int64") -> Value:
    """The extent along an axis, counted from the front."""
    d = x.shape[axis]
    if is_number(d):
        return Value.constant(d, dtype)
    extent = x.call("shape_of", dtype="int64").call("take", Value.constant(np.array(axis, "int64")), axis=0)
    extent = extent if dtype == "int64" else extent.call("cast", dtype=dtype)
    return settled(extent, elements_of([d]).reshape(())) if isinstance(d, int) else extent


def numbers_below(count: int, what: str, dtype: str = "int64", step: int = 1) -> Value:
    """0, `step`, 2 times `step` …: as many as `count`, which may be a length. Raises IrError, naming them by `what`, if these are too many."""
    if is_number(count):
        return Value.constant(counted(count, what, dtype) * step, dtype)
    longest = Value.constant(counted(bound(count), what, dtype) * step, dtype)
    return longest.call("strided_slice", begin=[0], end=[count], strides=[1], axes=[0])


def settled(value: Value, elements: np.ndarray) -> Value:
    """The value with these elements: a constant where all of them are numbers."""
    if any(isinstance(x, Length) for x in elements.ravel()):
        return replace(value, lengths=elements)
    return Value.constant(elements.astype(np.dtype(value.dtype)), value.dtype)


def _of_two(function: Callable[[Any, Any], Any]) -> Callable[..., np.ndarray]:
    def apply(attrs: Operator, t: Type, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        pairs = np.broadcast(a, b)
        return object_array([function(_plain(x), _plain(y)) for x, y in pairs], pairs.shape)

    return apply


def _of_one(function: Callable[[Any], Any]) -> Callable[..., np.ndarray]:
    return lambda attrs, t, x: object_array([function(_plain(e)) for e in x.ravel()], x.shape)


def _plain(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def _divided(attrs: Operator, t: TensorType, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _of_two(quotient if is_float(t.dtype) else towards_zero)(attrs, t, a, b)


def _of_integers(function: Callable[[Any, Any], Any]) -> Callable[..., np.ndarray]:
    def apply(attrs: Operator, t: TensorType, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if is_float(t.dtype):
            raise TypeError("rounded quotients of floats")
        return _of_two(function)(attrs, t, a, b)

    return apply


def _test(function: Callable[[Any, Any], bool]) -> Callable[..., np.ndarray]:
    return lambda attrs, t, a, b: _of_two(function)(attrs, t, a, b).astype(bool)


def _over_axes(function: Callable[[Any, Any], Any]) -> Callable[..., np.ndarray]:
    def apply(attrs: Any, t: TensorType, x: np.ndarray) -> np.ndarray:
        axes = reduce_axes(x.ndim, attrs.axis, attrs.exclude)
        rows = np.moveaxis(x, axes, range(len(axes)))
        rows = rows.reshape(-1, *rows.shape[len(axes) :])
        result = functools.reduce(lambda a, b: _of_two(function)(attrs, t, a, b), rows)
        return np.asarray(result, object).reshape(t.extents)

    return apply


def _cast(attrs: Any, t: TensorType, x: np.ndarray) -> np.ndarray:
    if attrs.dtype in ("int64", "int32"):
        return _of_one(truncated)(attrs, t, x)
    if attrs.dtype in _EXACT:
        return x
    raise TypeError(f"lengths of {attrs.dtype}")


def _same(attrs: Operator, t: Type, x: np.ndarray) -> np.ndarray:
    return x


_MEANINGS: dict[str, Callable[..., np.ndarray]] = {
    "add": _of_two(operator.add),
    "subtract": _of_two(operator.sub),
    "multiply": _of_two(operator.mul),
    "divide": _divided,
    "floor_divide": _of_integers(whole_quotient),
    "trunc_divide": _of_integers(towards_zero),
    "mod": _of_integers(lambda a, b: a - b * towards_zero(a, b)),
    "trunc_mod": _of_integers(lambda a, b: a - b * towards_zero(a, b)),
    "floor_mod": _of_integers(lambda a, b: a - b * whole_quotient(a, b)),
    "minimum": _of_two(smaller_number),
    "maximum": _of_two(larger_number),
    "equal": _test(operator.eq),
    "not_equal": _test(operator.ne),
    "less": _test(operator.lt),
    "less_equal": _test(operator.le),
    "greater": _test(operator.gt),
    "greater_equal": _test(operator.ge),
    "negative": _of_one(lambda x: -as_length(x)),
    "abs": _of_one(lambda x: x if x >= 0 else -x),
    "floor": _of_one(floor),
    "ceil": _of_one(ceil),
    "trunc": _of_one(truncated),
    "cast": _cast,
    "copy": _same,
    "prod": _over_axes(operator.mul),
    "sum": _over_axes(operator.add),
    "max": _over_axes(larger_number),
    "min": _over_axes(smaller_number),
}
"""The meaning of operators on lengths, by their names in Relay: (attributes, type of the result, operands)."""

_ROUNDING = frozenset(("cast", "ceil", "copy", "floor", "trunc"))
"""Operators on quotients that floats round, such as `seq / 3`."""

_MOVES = frozenset(
    ("broadcast_to", "concatenate", "expand_dims", "gather", "gather_nd", "repeat", "reshape", "reverse", "split")
    + ("squeeze", "stack", "strided_slice", "take", "tile", "transpose", "where")
)
"""Operators that only move elements: their references in numpy serve arrays of objects."""


def _evaluate(root: Expr, known: dict[Expr, Any]) -> Any:
    """The elements of an expression of inputs whose elements are known. Raises TypeError if there is no form of them."""
    names: dict[Expr, Expr] = {e: Var("x", e.checked_type, None, e.checked_type) for e in known}
    values: dict[Expr, Any] = {names[e]: v for e, v in known.items()}
    for e in post_order(infer_expr(rewrite(root, lambda old, new: new, names.get))):
        if e in values or isinstance(e, Op):
            continue
        if isinstance(e, Constant):
            values[e] = np.asarray(e.data)
        elif isinstance(e, Tuple):
            values[e] = tuple(values[f] for f in e.fields)
        elif isinstance(e, TupleGetItem):
            values[e] = values[e.tuple][e.index]
        elif isinstance(e, Call) and isinstance(e.op, Op):
            values[e] = _call(e, [values[a] for a in e.args])
        else:
            raise TypeError("neither a call of an operator nor a tuple")
    return values[names.get(root, root)] if root in names else next(reversed(values.values()))


def _call(e: Call, operands: list[Any]) -> Any:
    assert isinstance(e.op, Op)
    t = e.checked_type
    meaning = _MEANINGS.get(e.op.name)
    if meaning is not None:
        if e.op.name not in _ROUNDING and any(map(_is_rounded, operands)):
            raise TypeError(f"{e.op.name} of a rounded quotient")
        result = meaning(e.attrs, t, *operands)
        if isinstance(t, TensorType) and t.dtype in _EXACT:
            _require_exact(result, t.dtype)
        return result
    if e.op.name not in _MOVES:
        raise TypeError(f"{e.op.name} has no meaning on lengths")
    return e.attrs.evaluate(*operands)


def _is_rounded(operand: np.ndarray) -> bool:
    return any(isinstance(x, Length) and x.divisor & x.divisor - 1 for x in operand.ravel())


def _require_exact(elements: np.ndarray, dtype: str) -> None:
    """Raises TypeError unless floats of the run are these numbers, or so near that they round to the same whole numbers."""
    for x in elements.ravel():
        if isinstance(x, Length):
            limit = _EXACT[dtype] if x.divisor & x.divisor - 1 == 0 else _EXACT[dtype] // (_NEAR * x.divisor)
            if not max(bound(x.dividend), bound(-x.dividend)) < limit:
                raise TypeError(f"{x} is not exact in {dtype}")
