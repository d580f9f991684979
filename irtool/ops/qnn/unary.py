"""Functions of one quantized tensor: real numbers in, real numbers out, quantized again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...deferred import late, np
from ...ir import Type
from ..base import RelationError, Reporter, operator
from ..erf import erf
from ..relations import identity
from ..shapes import tensor
from .fixed_point import LARGEST_FACTOR, dequantize, fixed_point_multiply, quantize, requantize, saturate
from .parameters import Quantized, known, require_dtype, require_scalar, require_scales

_PARAMETERS = (
    ("scale", "float32"),
    ("zero_point", "int32"),
    ("output_scale", "float32"),
    ("output_zero_point", "int32"),
)


def relate_unary(types: Sequence[Type], reporter: Reporter) -> Type | None:
    """int8 or uint8 data with four scalars, giving the data's type."""
    data = tensor(types[0], "the data")
    if data is None:
        return None
    require_dtype(data, ("int8", "uint8"), "the data")
    if not known(types, (1, 2, 3, 4)):
        return None
    for i, (name, dtype) in enumerate(_PARAMETERS, 1):
        require_scalar(types[i], dtype, name)
    return identity(types[:1], reporter)


@dataclass(frozen=True)
class QuantizedUnary(Quantized):
    """One of 256 numbers goes in, so the function is tabulated and looked up."""

    function: ClassVar[Callable[[np.ndarray], np.ndarray]]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """int8 or uint8 data with four scalars (float32 scales, int32 zero points), giving the data's type."""
        return relate_unary(types, reporter)

    def evaluate(
        self, data: np.ndarray, scale: np.ndarray, zero: np.ndarray, out_scale: np.ndarray, out_zero: np.ndarray
    ) -> np.ndarray:
        table = self.table(str(data.dtype), scale, zero, out_scale, out_zero)
        return table[data.view(np.uint8)]

    def table(
        self, dtype: str, scale: np.ndarray, zero: np.ndarray, out_scale: np.ndarray, out_zero: np.ndarray
    ) -> np.ndarray:
        """The result for each of the 256 bit patterns."""
        numbers = np.arange(256, dtype=np.uint8).view(dtype)
        with np.errstate(all="ignore"):
            real = type(self).function(dequantize(numbers, scale, zero))
        return quantize(real, out_scale, out_zero, dtype)


_FUNCTIONS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "tanh": ("The hyperbolic tangent", late.tanh),
    "exp": ("The exponential", late.exp),
    "sqrt": ("The square root", late.sqrt),
    "rsqrt": ("The reciprocal of the square root", lambda x: 1 / np.sqrt(x)),
    "erf": ("The error function", erf),
    "sigmoid": ("`1 / (1 + exp(-x))`", lambda x: 1 / (1 + np.exp(-x))),
    "hardswish": ("`x * clip(x + 3, 0, 6) / 6`", lambda x: x * np.clip(x + np.float32(3), 0, 6) / np.float32(6)),
    "log": ("The natural logarithm", late.log),
    "abs": ("The magnitude", late.abs),
}


def _register(name: str, meaning: str, function: Callable[[np.ndarray], np.ndarray]) -> None:
    body = {
        "__doc__": f"{meaning} of a quantized tensor, with a quantized result.",
        "__module__": __name__,
        "function": staticmethod(function),
    }
    operator_class: type[QuantizedUnary] = type(f"Quantized{name.capitalize()}", (QuantizedUnary,), body)
    operator(f"qnn.{name}", "data", *(p for p, _ in _PARAMETERS), level=11)(operator_class)


for _name, (_meaning, _function) in _FUNCTIONS.items():
    _register(_name, _meaning, _function)


@operator(
    "qnn.leaky_relu",
    "data",
    "input_scale",
    "input_zero_point",
    "output_scale",
    "output_zero_point",
    attrs="LeakyReluAttrs",
    level=11,
)
@dataclass(frozen=True)
class QuantizedLeakyRelu(Quantized):
    """Data requantized; where it stands for a negative number, `alpha * q + (1 - alpha) * zero_point` in fixed point."""

    alpha: float = 0.25

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """int8 or uint8 data with four scalars (float32 scales, int32 zero points), giving the data's type."""
        if not abs(self.alpha) < LARGEST_FACTOR:
            raise RelationError(f"alpha must be less than 2^63, not {self.alpha}")
        result = relate_unary(types, reporter)
        if result is not None:
            require_scales(reporter, (1,), 3)
        return result

    def evaluate(
        self, data: np.ndarray, scale: np.ndarray, zero: np.ndarray, out_scale: np.ndarray, out_zero: np.ndarray
    ) -> np.ndarray:
        q = requantize(data, scale, zero, out_scale, out_zero, "int32")
        sloped = fixed_point_multiply(q, np.float64(self.alpha), "UPWARD")  # type: ignore[arg-type]  # numpy scalars are arrays of rank 0
        shifted = sloped + fixed_point_multiply(np.asarray(out_zero), np.float64(1 - self.alpha), "UPWARD")  # type: ignore[arg-type]  # numpy scalars are arrays of rank 0
        return saturate(np.where(data.astype(np.int32) < zero, shifted, q), data.dtype)
