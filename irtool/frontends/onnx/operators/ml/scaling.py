"""Preprocessing of numbers: scaling, norms, missing numbers, thresholds."""

from __future__ import annotations

import math

from .....deferred import np
from .....diagnostics import IrError
from ...arithmetic import cast, divide, multiply, scalar, subtract
from ...mistakes import DamagedModel
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...value import Value, apply


def per_feature(numbers: tuple[float, ...] | tuple[int, ...], x: Value, what: str, dtype: str) -> Value:
    """Numbers for the features, which are along axis 1, or of a vector along its only one; one number is for all of them."""
    if len(numbers) == 1:
        return scalar(numbers[0], dtype)
    if x.rank not in (1, 2) or x.extent(-1, "the data") != len(numbers):
        raise IrError(f"{what} has {len(numbers)} numbers, and the data are {x.tensor}", code=DamagedModel)
    return Value.constant(np.asarray(numbers), dtype)


@onnx_operator("ai.onnx.ml.Scaler")
class Scaler(OnnxOperator):
    """`(x - offset) * scale` in float32, for each feature."""

    @since(1)
    def scale(self, x: Value, *, offset: tuple[float, ...] = (), scale: tuple[float, ...] = ()) -> Result:
        x = cast(x, "float32")
        x = subtract(x, per_feature(offset, x, "offset", "float32")) if offset else x
        return multiply(x, per_feature(scale, x, "scale", "float32")) if scale else x


@onnx_operator("ai.onnx.ml.Normalizer")
class Normalizer(OnnxOperator):
    """Rows divided by their largest element, by the sum of magnitudes, or by the root of the sum of squares; rows of 0 stay."""

    @since(1)
    def normalize(self, x: Value, *, norm: str = "MAX") -> Result:
        x = cast(x, "float32")
        axis = [min(1, x.rank - 1)]
        if x.rank not in (1, 2):
            raise IrError(f"rows are expected, not {x.tensor}", code=DamagedModel)
        if norm == "MAX":
            size = x.call("max", axis=axis, keepdims=True)
        elif norm == "L1":
            size = x.call("abs").call("sum", axis=axis, keepdims=True)
        elif norm == "L2":
            size = multiply(x, x).call("sum", axis=axis, keepdims=True).call("sqrt")
        else:
            raise IrError(f"the norm is {norm!r}; there are MAX, L1 and L2", code=DamagedModel)
        zero = size.call("equal", scalar(0, "float32"))
        return divide(x, apply("where", zero, scalar(1, "float32"), size))


@onnx_operator("ai.onnx.ml.Imputer")
class Imputer(OnnxOperator):
    """Replaces missing elements, marked by one number, by another number for each feature (NaN is equal to itself here)."""

    @since(1)
    def fill(
        self,
        x: Value,
        *,
        imputed_value_floats: tuple[float, ...] = (),
        imputed_value_int64s: tuple[int, ...] = (),
        replaced_value_float: float = 0.0,
        replaced_value_int64: int = 0,
    ) -> Result:
        floats = x.dtype in ("float32", "float64")
        numbers = imputed_value_floats if floats else imputed_value_int64s
        if not numbers:
            raise IrError(f"there is nothing to put into data of {x.dtype}", code=DamagedModel)
        value = per_feature(numbers, x, "the list of imputed values", x.dtype)
        if floats and math.isnan(replaced_value_float):
            missing = x.call("isnan")
        else:
            missing = x.call("equal", scalar(replaced_value_float if floats else replaced_value_int64, x.dtype))
        return apply("where", missing, value, x)


@onnx_operator("ai.onnx.ml.Binarizer")
class Binarizer(OnnxOperator):
    """1 above the threshold, else 0."""

    @since(1)
    def compare(self, x: Value, *, threshold: float = 0.0) -> Result:
        if x.dtype.startswith("int"):
            return cast(cast(x, "float64").call("greater", scalar(threshold, "float64")), x.dtype)
        return cast(x.call("greater", scalar(threshold, x.dtype)), x.dtype)
