"""Variables and constants, and the Python values that stand for expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..ir import Constant, Expr, TensorType, Tuple, Type, Var
from ..ir.module import describe

if TYPE_CHECKING:
    import numpy as np


def scalar_type(dtype: str) -> TensorType:
    """The type of a tensor of rank 0."""
    return TensorType((), dtype)


def var(
    name: str, type_annotation: Type | str | None = None, shape: Sequence[Any] | None = None, dtype: str = "float32"
) -> Var:
    """A variable: of a type, of a `shape` and `dtype`, of rank 0 where the annotation is a dtype, or of a type not given.

    Raises TypeError for anything else, ValueError where both an annotation and a shape are given.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a variable is a string, not {describe(name)}")
    if type_annotation is not None and shape is not None:
        raise ValueError(f"%{name}: give a type annotation or a shape, not both")
    if shape is not None:
        type_annotation = tensor_type(shape, dtype, name)
    elif isinstance(type_annotation, str):
        type_annotation = tensor_type((), type_annotation, name)
    elif isinstance(type_annotation, tuple | list):
        raise TypeError(f"%{name}: write shape={tuple(type_annotation)}; the second argument is a type")
    elif type_annotation is not None and not isinstance(type_annotation, Type):
        raise TypeError(f"the type of %{name} is a type or a dtype, not {describe(type_annotation)}")
    return Var(name, type_annotation)


def tensor_type(shape: Sequence[Any], dtype: str, name: str) -> TensorType:
    """The type of %`name`. Raises TypeError, or ValueError for an unknown dtype or a negative size."""
    from ..ops.base import DType, coerce

    if not isinstance(shape, tuple | list):
        raise TypeError(f"the shape of %{name} is a tuple, not {describe(shape)}")
    for d in shape:
        if isinstance(d, bool | float | str) or d is None:
            raise TypeError(f"a dimension of %{name} is {d!r}: integers are expected, or relay.Any()")
        if isinstance(d, int) and d < 0:
            raise ValueError(f"a dimension of %{name} is {d}")
    try:
        dtype = coerce(str(dtype), DType) or "float32"
    except ValueError as error:
        raise ValueError(f"%{name}: {error}") from None
    return TensorType(tuple(int(d) if hasattr(d, "__index__") else d for d in shape), dtype)


def const(value: Any, dtype: str | None = None) -> Constant:
    """A constant of a number, a list or an array.

    Without a dtype, Python's integers and arrays of int64 become int32, its floats and arrays of float64 float32, as in TVM;
    anything else keeps its dtype. Raises TypeError for other values than tensors.
    """
    import numpy as np

    from ..ops.dtypes import numpy_dtype

    array = np.asarray(value)
    if array.dtype.kind not in "biuf" and str(array.dtype) != "bfloat16":
        raise TypeError(f"a constant is made of numbers, not {describe(value)}")
    if dtype is None:
        dtype = {"int64": "int32", "float64": "float32"}.get(str(array.dtype), str(array.dtype))
    elif not isinstance(dtype, str):
        dtype = str(np.dtype(dtype))
    fitted: np.ndarray = array.astype(numpy_dtype(dtype))
    if fitted.dtype.kind in "iu" and not np.array_equal(fitted, array):
        raise ValueError(f"{value!r:.60} does not fit in {dtype}")
    fitted.flags.writeable = False
    return Constant(fitted, dtype)


def as_expr(value: Any, what: str) -> Expr:
    """`value` as an expression: numbers and arrays are constants, lists and tuples of expressions are tuples.

    Raises TypeError, naming `what` the value is for, if it is none of them.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, list | tuple) and any(isinstance(v, Expr) for v in value):
        return Tuple(tuple(as_expr(v, what) for v in value))
    if isinstance(value, bool | int | float | list) or hasattr(value, "__array__"):
        return const(value)
    raise TypeError(f"{what} is an expression, not {describe(value)}")
