"""Normalizations to mean 0 and variance 1, and to length 1, by the data's own statistics."""

from __future__ import annotations

from ....deferred import np
from ....diagnostics import IrError
from ..arithmetic import add, cast, divide, in_single, multiply, scalar, subtract
from ..counts import require_count
from ..memory_limit import require_steps
from ..mistakes import DamagedModel
from ..normalize import layer_norm, rms_norm, statistics
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value

STASHED = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16"}
"""The type in which statistics are computed, by `stash_type`."""


@onnx_operator("InstanceNormalization")
class InstanceNormalization(OnnxOperator):
    """Mean 0 and variance 1 of each channel of each instance, then `* scale + b`."""

    @since(6, 22)
    def over_space(self, x: Value, scale: Value, b: Value, *, epsilon: float = 1e-5) -> Result:
        return x.call("nn.instance_norm", scale, b, axis=1, epsilon=epsilon)


@onnx_operator("LayerNormalization")
class LayerNormalization(OnnxOperator):
    """Mean 0 and variance 1 over all axes from `axis` on, then `* scale + b`; and the mean and the inverse deviation."""

    @since(1, 17)  # ONNX Runtime knew it before
    def over_last(
        self,
        x: Value,
        scale: Value,
        b: Value | None = None,
        *,
        axis: int = -1,
        epsilon: float = 1e-5,
        stash_type: int = 1,
    ) -> Result:
        result = layer_norm(x, scale, b, axis, epsilon)
        if not (self.wants(1) or self.wants(2)):
            return result
        wide = cast(x, STASHED.get(stash_type, x.dtype) if x.dtype != "float64" else x.dtype)
        mean, inverse = statistics(wide, range(x.axis(axis), x.rank), epsilon)
        return [result, cast(mean, self._stashed(stash_type)), cast(inverse, self._stashed(stash_type))]

    def _stashed(self, stash_type: int) -> str:
        if stash_type not in STASHED:
            raise IrError(f"stash_type {stash_type} is no floating-point type", code=DamagedModel)
        return STASHED[stash_type]


@onnx_operator("GroupNormalization")
class GroupNormalization(OnnxOperator):
    """Mean 0 and variance 1 of each group of channels, then `* scale + b`: up to opset 20 one of them a group."""

    @since(18)
    def by_group(self, x: Value, scale: Value, b: Value, *, num_groups: int, epsilon: float = 1e-5) -> Result:
        channels = x.extent(1, "the data that is normalized")
        require_count(num_groups, "num_groups")
        each = [p.call("repeat", repeats=channels // num_groups, axis=0) for p in (scale, b)]
        return self.by_channel(x, *each, num_groups=num_groups, epsilon=epsilon)

    @since(21)
    def by_channel(
        self, x: Value, scale: Value, b: Value, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
    ) -> Result:
        return x.call("nn.group_norm", scale, b, num_groups=num_groups, axis=1, epsilon=epsilon)


@onnx_operator("RMSNormalization")
class RMSNormalization(OnnxOperator):
    """`x / sqrt(mean(x ** 2) + epsilon) * scale` over all axes from `axis` on."""

    @since(23)
    def over_last(
        self, x: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
    ) -> Result:
        return rms_norm(
            x, scale, axis, epsilon, "float64" if x.dtype == "float64" else STASHED.get(stash_type, x.dtype)
        )


@onnx_operator("MeanVarianceNormalization")
class MeanVarianceNormalization(OnnxOperator):
    """`(x - mean) / (deviation + 1e-9)` over `axes`."""

    @since(9, 13)
    def over_axes(self, x: Value, *, axes: tuple[int, ...] = (0, 2, 3)) -> Result:
        return in_single(x, lambda x: self._standardized(x, axes))

    def _standardized(self, x: Value, axes: tuple[int, ...]) -> Value:
        centred = subtract(x, x.call("mean", axis=list(axes), keepdims=True))
        variance = multiply(centred, centred).call("mean", axis=list(axes), keepdims=True)
        return divide(centred, add(variance.call("sqrt"), 1e-9))


@onnx_operator("LpNormalization")
class LpNormalization(OnnxOperator):
    """The tensor divided by its 1-norm or 2-norm along an axis; zeros stay zeros."""

    @since(1, 22)
    def along_axis(self, x: Value, *, axis: int = -1, p: int = 2) -> Result:
        axis = x.axis(axis)
        least = float(np.finfo("float64" if x.dtype == "float64" else "float32").tiny)
        if p == 2:
            return x.call("nn.l2_normalize", eps=least, axis=[axis])
        if p != 1:
            raise IrError(f"p is {p}; it can be 1 or 2", code=DamagedModel)
        least = float(np.finfo(x.dtype).tiny)
        size = x.call("abs").call("sum", axis=[axis], keepdims=True)
        return divide(x, size.call("maximum", scalar(least, x.dtype)))


@onnx_operator("LRN")
class LRN(OnnxOperator):
    """`x / (bias + alpha / size * sum(x ** 2)) ** beta`, the sum over `size` neighbouring channels."""

    @since(1, 13)
    def over_channels(
        self, x: Value, *, size: int, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0
    ) -> Result:
        require_count(size, "size")
        x.require_rank(2, "the data of LRN", or_more=True)
        if size % 2:
            return x.call("nn.lrn", size=size, axis=1, bias=bias, alpha=alpha, beta=beta)
        # Of an even number, one more lies behind.
        require_steps(size, "a sum over neighbouring channels")
        channels = x.extent(1, "the data of LRN")
        width = [(0, 0)] * x.rank
        width[1] = ((size - 1) // 2, size // 2)
        squares = multiply(x, x).call("nn.pad", scalar(0, x.dtype), pad_width=width)
        parts = [
            squares.call("strided_slice", begin=[k], end=[k + channels], strides=[1], axes=[1]) for k in range(size)
        ]
        total = parts[0]
        for part in parts[1:]:
            total = add(total, part)
        return divide(x, add(multiply(total, alpha / size), bias).call("power", scalar(beta, x.dtype)))
