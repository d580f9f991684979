"""Activation functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from ....diagnostics import IrError
from ..arithmetic import cast, in_single
from ..exponentials import exp_minus_one, log_of_one_plus
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply


def _number(x: Value, number: float) -> Value:
    """A number as a scalar of the type of `x`."""
    return Value.constant(number, x.dtype)


def _exponential(x: Value, alpha: float) -> Value:
    """`alpha * (exp(x) - 1)` where x is below 0."""
    below = exp_minus_one(x.call("minimum", _number(x, 0)))
    return below if alpha == 1 else below.call("multiply", _number(x, alpha))


def _positive_or(x: Value, otherwise: Value) -> Value:
    return apply("where", x.call("less", _number(x, 0)), otherwise, x)


def softplus(x: Value) -> Value:
    """`log(1 + exp(x))`, as `max(x, 0) + log(1 + exp(-|x|))`, which does not overflow."""
    rest = log_of_one_plus(x.call("abs").call("negative").call("exp"))
    return x.call("maximum", _number(x, 0)).call("add", rest)


@onnx_operator("LeakyRelu")
class LeakyRelu(OnnxOperator):
    """x where positive, else `alpha` times x."""

    @since(6, 16)
    def slope(self, x: Value, *, alpha: float = 0.01) -> Result:
        return x.call("nn.leaky_relu", alpha=alpha)


@onnx_operator("PRelu")
class PRelu(OnnxOperator):
    """x where positive, else x times a slope, which broadcasts to x."""

    @since(1, 6)
    def by_channel(self, x: Value, slope: Value, *, consumed_inputs: tuple[int, ...] = ()) -> Result:
        if slope.shape != (1,) and slope.rank == 1 and x.rank > 2:
            slope = slope.call("expand_dims", axis=1, num_newaxis=x.rank - 2)
        return self.slopes(x, slope)

    @since(7, 9, 16)
    def slopes(self, x: Value, slope: Value) -> Result:
        lead = x.rank - slope.rank
        if lead < 0:
            raise IrError(f"slopes {slope.tensor} do not broadcast to {x.tensor}", code=DamagedModel)
        wide = [i + lead for i, d in enumerate(slope.shape) if d != 1]
        if len(wide) == 1 and x.dtype.startswith("float") and slope.shape[wide[0] - lead] == x.shape[wide[0]]:
            flat = slope if slope.rank == 1 else slope.call("reshape", newshape=[-1])
            return x.call("nn.prelu", flat, axis=wide[0])
        return _positive_or(x, x.call("multiply", slope))


@onnx_operator("Elu")
class Elu(OnnxOperator):
    """x where positive, else `alpha * (exp(x) - 1)`."""

    @since(6, 22)
    def exponential(self, x: Value, *, alpha: float = 1.0) -> Result:
        return in_single(x, lambda x: _positive_or(x, _exponential(x, alpha)))


@onnx_operator("Selu")
class Selu(OnnxOperator):
    """`gamma` times Elu."""

    @since(6, 22)
    def scaled(
        self, x: Value, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875
    ) -> Result:
        return in_single(x, lambda x: _positive_or(x, _exponential(x, alpha)).call("multiply", _number(x, gamma)))


@onnx_operator("Celu")
class Celu(OnnxOperator):
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`: x where positive, else the other term."""

    @since(12, 28)
    def smooth(self, x: Value, *, alpha: float = 1.0) -> Result:
        return in_single(x, lambda x: self._smooth(x, alpha))

    def _smooth(self, x: Value, alpha: float) -> Value:
        part = x if alpha == 1 else x.call("divide", _number(x, alpha))
        if alpha > 0:
            return _positive_or(x, _exponential(part, alpha))
        zero = _number(x, 0)
        below = part.call("exp").call("subtract", _number(x, 1)).call("multiply", _number(x, alpha))
        return x.call("maximum", zero).call("add", below.call("minimum", zero))


@onnx_operator("Gelu")
class Gelu(OnnxOperator):
    """x times the normal distribution up to x, or its approximation with tanh."""

    @since(20)
    def gate(self, x: Value, *, approximate: str = "none") -> Result:
        if approximate not in ("none", "tanh"):
            raise IrError(f"approximate is {approximate}; it can be none or tanh", code=DamagedModel)
        return in_single(x, lambda x: self._product(x, approximate))

    def _product(self, x: Value, approximate: str) -> Value:
        half = x.call("multiply", _number(x, 0.5))
        if approximate == "none":
            gate = x.call("multiply", _number(x, math.sqrt(0.5))).call("erf")
        else:
            cube = x.call("multiply", x).call("multiply", x).call("multiply", _number(x, 0.044715))
            gate = x.call("add", cube).call("multiply", _number(x, math.sqrt(2 / math.pi))).call("tanh")
        return half.call("multiply", gate.call("add", _number(x, 1)))


@onnx_operator("HardSigmoid")
class HardSigmoid(OnnxOperator):
    """`alpha * x + beta`, limited to 0 … 1."""

    @since(6, 22)
    def limited(self, x: Value, *, alpha: float = 0.2, beta: float = 0.5) -> Result:
        line = x.call("multiply", _number(x, alpha)).call("add", _number(x, beta))
        return line.call("clip", a_min=0.0, a_max=1.0)


@onnx_operator("HardSwish")
class HardSwish(OnnxOperator):
    """x times `x / 6 + 1/2`, limited to 0 … 1."""

    @since(14, 22)
    def gate(self, x: Value) -> Result:
        line = x.call("add", _number(x, 3)).call("clip", a_min=0.0, a_max=6.0)
        return x.call("multiply", line).call("divide", _number(x, 6))


@onnx_operator("Swish")
class Swish(OnnxOperator):
    """x times the sigmoid of `alpha * x`."""

    @since(24)
    def gate(self, x: Value, *, alpha: float = 1.0) -> Result:
        return swish(x, alpha)


def swish(x: Value, alpha: float) -> Value:
    """x times the sigmoid of `alpha * x`."""

    def gate(x: Value) -> Value:
        inner = x if alpha == 1 else x.call("multiply", _number(x, alpha))
        return x.call("multiply", inner.call("sigmoid"))

    return in_single(x, gate)


@onnx_operator("SwiGLU")
class SwiGLU(OnnxOperator):
    """Swish of one tensor times another one of its shape."""

    @since(28)
    def gate(self, a: Value, b: Value, *, alpha: float = 1.0) -> Result:
        return swish(a, alpha).call("multiply", b)


PLAIN: dict[str, Callable[[Value], Value]] = {
    "Mish": lambda x: x.call("multiply", softplus(x).call("tanh")),
    "Softplus": softplus,
    "Softsign": lambda x: x.call("divide", x.call("abs").call("add", _number(x, 1))),
}


@onnx_operator(*PLAIN)
class PlainActivation(OnnxOperator):
    """Functions without attributes: `x tanh(log(1 + exp(x)))`, `log(1 + exp(x))`, `x / (1 + |x|)`."""

    @since(1, 18, 22)
    def of(self, x: Value) -> Result:
        return in_single(x, PLAIN[self.node.op_type])


@onnx_operator("ThresholdedRelu")
class ThresholdedRelu(OnnxOperator):
    """x where it exceeds `alpha`, else 0."""

    @since(10, 22)
    def threshold(self, x: Value, *, alpha: float = 1.0) -> Result:
        return apply("where", x.call("greater", _number(x, alpha)), x, _number(x, 0))


@onnx_operator("Shrink")
class Shrink(OnnxOperator):
    """x moved towards 0 by `bias` where it is beyond `lambd` on either side, else 0."""

    @since(9)
    def towards_zero(self, x: Value, *, bias: float = 0.0, lambd: float = 0.5) -> Result:
        dtype, zero = x.dtype, _number(x, 0)
        wide = x if dtype.startswith(("float", "bfloat")) else cast(x, "float32")
        low, high = (wide.call(n, _number(wide, f)) for n, f in (("less", -lambd), ("greater", lambd)))
        up, down = (x.call(n, _number(x, bias)) for n in ("add", "subtract"))
        return apply("where", low, up, apply("where", high, down, zero))


@onnx_operator("IsInf")
class IsInf(OnnxOperator):
    """True for infinities, of either sign or of one."""

    @since(10, 20)
    def infinite(self, x: Value, *, detect_negative: int = 1, detect_positive: int = 1) -> Result:
        if detect_negative and detect_positive:
            return x.call("isinf")
        if not detect_negative and not detect_positive:
            return x.call("less", x)
        return x.call("equal", _number(x, math.inf if detect_positive else -math.inf))
