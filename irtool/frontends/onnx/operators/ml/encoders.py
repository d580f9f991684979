"""Encoders of categories that are numbers."""

from __future__ import annotations

from typing import Any

from .....deferred import np
from .....diagnostics import IrError
from ...arithmetic import cast
from ...mistakes import DamagedModel, UnsupportedNode
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...value import Value, apply

_NO_STRINGS = "Relay has no strings"


@onnx_operator("ai.onnx.ml.OneHotEncoder")
class OneHotEncoder(OnnxOperator):
    """For each number a 1 at the place of its category, 0 elsewhere; only 0 for a number of no category.

    With `zeros=0` ONNX Runtime refuses such a number while it runs; here it gives zeros as well.
    """

    @since(1)
    def encode(
        self, x: Value, *, cats_int64s: tuple[int, ...] = (), cats_strings: tuple[str, ...] = (), zeros: int = 1
    ) -> Result:
        if cats_strings or not cats_int64s:
            reason = _NO_STRINGS if cats_strings else "there are no categories"
            raise IrError(f"categories must be integers: {reason}", code=UnsupportedNode)
        numbers = cast(x, "int64").call("expand_dims", axis=x.rank)
        return cast(numbers.call("equal", Value.constant(np.asarray(cats_int64s, "int64"))), "float32")


@onnx_operator("ai.onnx.ml.LabelEncoder")
class LabelEncoder(OnnxOperator):
    """The value that belongs to each key, or the default. Of keys that come twice the first holds; since opset 4 NaN is equal to itself."""

    @since(1)
    def strings(
        self,
        x: Value,
        *,
        classes_strings: tuple[str, ...] = (),
        default_int64: int = -1,
        default_string: str = "_Unused",
    ) -> Result:
        raise IrError(f"it encodes strings before opset 2: {_NO_STRINGS}", code=UnsupportedNode)

    @since(2, 4, added={"keys_tensor": 4, "values_tensor": 4, "default_tensor": 4})
    def look_up(
        self,
        x: Value,
        *,
        keys_int64s: tuple[int, ...] = (),
        keys_floats: tuple[float, ...] = (),
        keys_strings: tuple[str, ...] = (),
        keys_tensor: Value | None = None,
        values_int64s: tuple[int, ...] = (),
        values_floats: tuple[float, ...] = (),
        values_strings: tuple[str, ...] = (),
        values_tensor: Value | None = None,
        default_int64: int = -1,
        default_float: float = -0.0,
        default_string: str = "_Unused",
        default_tensor: Value | None = None,
    ) -> Result:
        if keys_strings or values_strings:
            raise IrError(f"keys and values must be numbers: {_NO_STRINGS}", code=UnsupportedNode)
        keys = _numbers(keys_tensor, keys_int64s, keys_floats, "keys")
        values = _numbers(values_tensor, values_int64s, values_floats, "values")
        if len(keys) != len(values) or not len(keys):
            raise IrError(f"there are {len(keys)} keys and {len(values)} values", code=DamagedModel)
        if str(keys.dtype) != x.dtype:
            raise IrError(f"the keys are of {keys.dtype}, and the data of {x.dtype}", code=DamagedModel)
        default: Any = default_float if values.dtype.kind == "f" else default_int64
        if default_tensor is not None:
            default = default_tensor.array("the default of LabelEncoder").reshape(-1)[0]
        return _looked_up(x, keys, values, np.asarray(default, values.dtype), nan_is_key=self.opset >= 4)


def _numbers(tensor: Value | None, ints: tuple[int, ...], floats: tuple[float, ...], what: str) -> Any:
    """The one list that is given. Raises IrError for none, or several."""
    lists = [np.asarray(ints, "int64")] * bool(ints) + [np.asarray(floats, "float32")] * bool(floats)
    if tensor is not None:
        lists.append(tensor.array(f"the {what} of LabelEncoder").reshape(-1))
    if len(lists) != 1:
        raise IrError(f"there are {len(lists)} lists of {what}, and must be one", code=DamagedModel)
    return lists[0]


def _looked_up(x: Value, keys: Any, values: Any, default: Any, nan_is_key: bool) -> Value:
    """Each number is looked up among the keys in ascending order, NaN at the end."""
    order = np.argsort(keys, kind="stable")
    row = Value.constant(keys[order])
    flat = x.call("reshape", newshape=[-1])
    place = row.call("searchsorted", flat, dtype="int32")
    key = row.call("take", place, axis=0)
    same = key.call("equal", flat)
    if nan_is_key and keys.dtype.kind == "f" and np.isnan(keys).any():
        same = same.call("logical_or", key.call("isnan").call("logical_and", flat.call("isnan")))
    value = Value.constant(values[order]).call("take", place, axis=0)
    values_of_keys = apply("where", same, value, Value.constant(default))
    return values_of_keys if x.rank == 1 else values_of_keys.call("reshape_like", x)


@onnx_operator("ai.onnx.ml.CategoryMapper", "ai.onnx.ml.DictVectorizer", "ai.onnx.ml.CastMap")
class OfStrings(OnnxOperator):
    """Operators on strings or maps, which Relay does not have."""

    refusal = "it takes or gives strings or maps, which Relay does not have"

    @since(1)
    def refuse(self, x: Value) -> Result:
        raise IrError(self.refusal, code=UnsupportedNode)
