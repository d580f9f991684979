"""Functions of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ....deferred import np
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..operator import FLOATS, Operand, Result, TfliteOperator, tflite_operator
from ..quantities import by_table, correct, offset, require_scalar, rescaled, stored, table_of_reals, zero_of
from ..table16 import by_interpolation

_REAL = {
    "EXP": "exp",
    "LOG": "log",
    "SQRT": "sqrt",
    "RSQRT": "rsqrt",
    "SIN": "sin",
    "COS": "cos",
    "FLOOR": "floor",
    "CEIL": "ceil",
    "ABS": "abs",
    "NEG": "negative",
    "SIGN": "sign",
}


@tflite_operator("EXP", "LOG", "SQRT", "RSQRT", "SIN", "COS", "FLOOR", "CEIL", "ABS", "NEG", "SIGN")
class Unary(TfliteOperator):
    """A function of each element; of quantized tensors a table, or one with interpolation for 16 bits."""

    def convert(self, x: Operand) -> Result:
        name = self.node.op_type
        if x.q is None or not self.is_quantized or x.dtype not in ("int8", "uint8", "int16"):
            return x.call(_REAL[name])
        if name == "SQRT":
            return self._root(x)
        if name == "ABS" and x.dtype == "int16":
            own = require_scalar(x)
            size = offset(x).call("abs")
            if own.scales[0] != self.out_q.scales[0]:
                size = rescaled(size, float(own.scales[0] / self.out_q.scales[0]))
            return stored(size, self.out_q, x.dtype)
        if x.dtype == "int16":
            return by_interpolation(x, self.out_q, self._function(x))
        if name == "ABS":
            return by_table(x, x.dtype, self._absolute(x))
        if name == "RSQRT":
            from ..reciprocal import inverse_roots

            return by_table(x, x.dtype, lambda i: inverse_roots(i, require_scalar(x), self.out_q, x.dtype))
        return table_of_reals(x, self.out_q, x.dtype, self._function(x))

    def _root(self, x: Operand) -> Value:
        """The root in float32, cut to an integer."""
        scale, step = (Value.constant(np.float32(q.scales[0])) for q in (require_scalar(x), self.out_q))
        real = apply("multiply", cast(offset(x), "float32"), scale)
        root = apply("divide", apply("maximum", real, Value.constant(np.float32(0))).call("sqrt"), step)
        return stored(cast(root, "int32"), self.out_q, x.dtype)

    def _function(self, x: Operand) -> Callable[[Any], Any]:
        """The function of real numbers."""
        name = self.node.op_type
        q = self.out_q
        low = np.float32((np.iinfo(x.dtype).min - zero_of(q)) * q.scales[0])
        high = np.float32(np.iinfo(np.int16).max * q.scales[0])
        functions: dict[str, Callable[[Any], Any]] = {
            "EXP": correct(np.exp),
            "LOG": lambda r: np.where(r <= 0, low, correct(np.log)(np.where(r <= 0, 1, r))),
            "RSQRT": lambda r: np.where(r <= 0, high, 1 / np.sqrt(np.where(r <= 0, 1, r))),
            "SIN": np.sin,
            "COS": np.cos,
            "ABS": np.abs,
            "NEG": np.negative,
        }
        if name not in functions:
            raise self.refuse(f"elements of {x.dtype} with scales")
        return functions[name]

    def _absolute(self, x: Operand) -> Callable[[Any], Any]:
        """Sizes of integers, rescaled where the scales differ."""
        from ..tables import fixed_product

        own, out = require_scalar(x), self.out_q
        low, high = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max

        def sizes(i: Any) -> Any:
            size = np.abs(i - zero_of(own))
            if own.scales[0] != out.scales[0]:
                size = fixed_product(size, float(own.scales[0] / out.scales[0]))
            return np.clip(size + zero_of(out), low, high)

        return sizes


@tflite_operator("SQUARE")
class Square(TfliteOperator):
    """`x * x`."""

    types: ClassVar[tuple[str, ...]] = FLOATS

    def convert(self, x: Operand) -> Result:
        return apply("multiply", x.value, x.value)


@tflite_operator("ROUND")
class Round(TfliteOperator):
    """The nearest whole number, a half to the even one."""

    types: ClassVar[tuple[str, ...]] = FLOATS

    def convert(self, x: Operand) -> Result:
        return round_to_even(x.value)


def round_to_even(x: Value) -> Value:
    """The nearest whole number; of a half the even neighbour."""
    half, two, one = (Value.constant(np.asarray(n, x.dtype)) for n in (0.5, 2, 1))
    floor = x.call("floor")
    rest = apply("subtract", x, floor)
    is_odd = apply(
        "equal", apply("subtract", floor, apply("multiply", apply("divide", floor, two).call("floor"), two)), one
    )
    up = apply("logical_or", apply("greater", rest, half), apply("logical_and", apply("equal", rest, half), is_odd))
    return apply("where", up, apply("add", floor, one), floor)


@tflite_operator("CAST")
class Cast(TfliteOperator):
    """The elements as another type."""

    def convert(self, x: Operand, *, in_data_type: int = 0, out_data_type: int = 0) -> Result:
        if self.outputs[0].dtype in ("complex64", "string"):
            raise self.refuse(f"a result of {self.outputs[0].dtype}")
        return x.value if x.dtype == self.outputs[0].dtype else x.call("cast", dtype=self.outputs[0].dtype)


@tflite_operator("BITCAST")
class BitCast(TfliteOperator):
    """The bits of the elements as those of another type."""

    def convert(self, x: Operand) -> Result:
        dtype = self.outputs[0].dtype
        if np.dtype(dtype).itemsize != np.dtype(x.dtype).itemsize:
            raise self.refuse(f"elements of {x.dtype} as {dtype}, of another size")
        return x.value if x.dtype == dtype else x.call("reinterpret", dtype=dtype)


@tflite_operator("ZEROS_LIKE")
class ZerosLike(TfliteOperator):
    """Zeros in the shape of the input."""

    def convert(self, x: Operand) -> Result:
        return apply("zeros", shape=list(x.shape), dtype=x.dtype)


@tflite_operator("GELU")
class Gelu(TfliteOperator):
    """`x Φ(x)`, exact or by the hyperbolic tangent."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int8", "uint8", "int16")

    def convert(self, x: Operand, *, approximate: bool = False) -> Result:
        if x.q is not None and self.is_quantized:
            function = _approximate_gelu if approximate else _exact_gelu
            if x.dtype == "int16":
                return by_interpolation(x, self.out_q, function)
            return table_of_reals(x, self.out_q, x.dtype, function)
        half, one = (Value.constant(np.float32(n)) for n in (0.5, 1))
        if approximate:
            cubic = apply("multiply", apply("multiply", x.value, x.value), x.value)
            inner = apply("add", x.value, apply("multiply", cubic, Value.constant(np.float32(0.044715))))
            inner = apply("multiply", inner, Value.constant(np.float32(np.sqrt(2 / np.pi)))).call("tanh")
        else:
            inner = apply("multiply", x.value, Value.constant(np.float32(np.sqrt(0.5)))).call("erf")
        return apply("multiply", apply("multiply", x.value, half), apply("add", inner, one))


def _exact_gelu(r: Any) -> Any:
    from math import erf

    return np.array([v * 0.5 * (1 + erf(float(v) * 0.7071067811865475)) for v in np.ravel(r)], np.float32).reshape(
        r.shape
    )


def _approximate_gelu(r: Any) -> Any:
    return np.float32(0.5) * r * (1 + np.tanh(np.float32(0.7978845608028654) * (r + np.float32(0.044715) * r * r * r)))


def round_away(x: Value) -> Value:
    """The nearest whole number, a half away from zero."""
    return x.call("round")
