"""Checks of operators from outside: results of their methods, and required members of their classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics import IrError, Span
from ..ir import TensorType, TupleType, Type
from ..ir.values import value_leaves
from ..plugin.mistakes import check_dataclass, refuse
from ..plugin.origin import is_outside, place_of


def wrong_type(operator: Any, arguments: Sequence[Any], result: Any) -> str:
    """The error in the result of `relate`."""
    if result is None or isinstance(result, Type):
        return ""
    return f"returned {_show(result)}, not a type (or None while the arguments' types do not decide it)"


def wrong_value(operator: Any, arguments: Sequence[Any], result: Any) -> str:
    """The error in the result of `evaluate`, for any type of the call."""
    return "returned None, not an array" if result is None else ""


def wrong_expression(operator: Any, arguments: Sequence[Any], result: Any) -> str:
    """The error in the result of `compute(inputs, out_type)`."""
    from .. import te

    tensors = list(result) if isinstance(result, tuple | list) else [result]
    for tensor in tensors:
        if not isinstance(tensor, te.Tensor):
            return f"returned {_show(tensor)}, not a tensor expression (te.compute makes one)"
    expected = _tensor_types(arguments[1]) if len(arguments) > 1 else None
    if expected is None:
        return ""
    if len(tensors) != len(expected):
        return f"returned {len(tensors)} tensors where the type has {len(expected)}"
    for tensor, t in zip(tensors, expected):
        if list(tensor.shape) != list(t.shape) or tensor.dtype != t.dtype:
            have = f"Tensor[({', '.join(map(str, tensor.shape))}), {tensor.dtype}]"
            return f"returned {have} where the type is {t}"
    return ""


def checked_evaluate(attrs: Any, type: Type | None, span: Span | None = None) -> Callable[..., Any]:
    """The reference of an operator, whose call is at `span`; it refuses dtypes that no array has, and one from outside must give the call's type."""
    expected = _tensor_types(type)
    missing = next((t.dtype for t in expected or () if not _has_arrays(t.dtype)), "")
    if missing:

        def refused(*arguments: Any) -> Any:
            raise IrError(f"{missing} cannot be evaluated: numpy has no such element type", span)

        return refused
    if expected is None or not is_outside(attrs.__class__):
        return attrs.evaluate

    def evaluate(*arguments: Any) -> Any:
        result = attrs.evaluate(*arguments)
        if isinstance(type, TupleType) and not isinstance(result, tuple | list):
            raise refuse(attrs.__class__, f"evaluate returned {_show(result)}, not a tuple of {len(type.fields)}")
        leaves = value_leaves(result)
        if len(leaves) != len(expected):
            raise refuse(attrs.__class__, f"evaluate returned {len(leaves)} arrays where the type has {len(expected)}")
        for leaf, t in zip(leaves, expected):
            _check_array(attrs.__class__, leaf, t)
        return result

    return evaluate


def _check_array(cls: Any, value: Any, type: TensorType) -> None:
    import numpy as np

    from .dtypes import numpy_dtype

    array = np.asarray(value)
    fits = len(array.shape) == len(type.shape) and all(
        not isinstance(d, int) or d == n for d, n in zip(type.shape, array.shape)
    )
    if not fits or array.dtype != numpy_dtype(type.dtype):
        have = f"{array.dtype}[{', '.join(map(str, array.shape))}]"
        raise refuse(cls, f"evaluate returned {have} where the type is {type}")


def check_class(cls: Any, base: Any) -> None:
    """Raises PluginError unless the class of an operator from outside derives from `base` and is complete."""
    if not issubclass(cls, base):
        raise refuse(cls, "the class is no operator", help="derive it from irtool.ops.Operator")
    check_dataclass(cls, "@operator(…)")
    if cls.relate is base.relate and not cls.vendor:
        raise refuse(cls, "the operator has no type rule", help="define relate(self, types, reporter)")


def missing(cls: type, method: str) -> str:
    """The end of a sentence on a missing meaning: the class from outside that could have it."""
    return f" (its class, {place_of(cls)}, defines no {method})" if is_outside(cls) else ""


def _has_arrays(dtype: str) -> bool:
    """True if arrays hold the dtype; names that other packages register with numpy do not count."""
    from .dtypes import has_arrays

    return has_arrays(dtype)


def _tensor_types(t: Type | None) -> list[TensorType] | None:
    """The tensors of a type, in order; None if it is not of tensors alone, or not known."""
    tensor_types: list[TensorType] = []
    stack = [t]
    while stack:
        x = stack.pop()
        if isinstance(x, TupleType):
            stack.extend(reversed(x.fields))
        elif isinstance(x, TensorType):
            tensor_types.append(x)
        else:
            return None
    return tensor_types


def _show(value: Any) -> str:
    return "None" if value is None else f"an object of class {type(value).__name__}"
