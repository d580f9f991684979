"""Means and powers over windows."""

from __future__ import annotations

from ..arithmetic import multiply, scalar
from ..counts import require_count
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..pools import average, pool
from ..sliding import NO_INTS, Windows, spatial_rank
from ..value import Value


@onnx_operator("AveragePool")
class AveragePool(OnnxOperator):
    """The mean of each window; elements beyond the data count only with `count_include_pad`, as zeros."""

    @since(1, 7, 10, 11, 19, 22, added={"ceil_mode": 10, "dilations": 19})
    def mean(
        self,
        x: Value,
        *,
        kernel_shape: tuple[int, ...],
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
        count_include_pad: int = 0,
        dilations: tuple[int, ...] = NO_INTS,
        pads: tuple[int, ...] = NO_INTS,
        strides: tuple[int, ...] = NO_INTS,
    ) -> Result:
        spatial_rank(x, "a pool")
        windows = Windows.of(kernel_shape, strides, pads, dilations, auto_pad)
        return average(x, windows, bool(ceil_mode), bool(count_include_pad))


@onnx_operator("LpPool")
class LpPool(OnnxOperator):
    """The p-norm of each window."""

    @since(2, 11, 18, 22, added={"ceil_mode": 18, "dilations": 18})
    def norm(
        self,
        x: Value,
        *,
        kernel_shape: tuple[int, ...],
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
        dilations: tuple[int, ...] = NO_INTS,
        p: int = 2,
        pads: tuple[int, ...] = NO_INTS,
        strides: tuple[int, ...] = NO_INTS,
    ) -> Result:
        spatial_rank(x, "a pool")
        windows = Windows.of(kernel_shape, strides, pads, dilations, auto_pad)
        count = 1
        for k in windows.kernel:
            count *= k
        powers = power_of_size(x, require_count(p, "p"))
        # If padding counts, each mean has the same number of elements.
        mean = pool("avg", powers, windows, bool(ceil_mode), count_include_pad=True)
        return root(multiply(mean, count), p)


def power_of_size(x: Value, p: int) -> Value:
    """`abs(x) ** p`."""
    if p == 2:
        return multiply(x, x)
    size = x.call("abs")
    return size if p == 1 else size.call("power", scalar(p, x.dtype))


def root(x: Value, p: int) -> Value:
    """The p-th root of non-negative numbers."""
    if p == 1:
        return x
    return x.call("sqrt") if p == 2 else x.call("power", scalar(1 / p, x.dtype))


def _spatial(x: Value) -> list[int]:
    """The axes behind batch and channels. Raises IrError for a tensor without them."""
    x.require_rank(3, "the data of a pool", or_more=True)
    return list(range(2, x.rank))


@onnx_operator("GlobalAveragePool", "GlobalMaxPool")
class GlobalPool(OnnxOperator):
    """The mean or maximum of each channel over all spatial axes."""

    @since(1, 22)
    def over_space(self, x: Value) -> Result:
        maximum = self.node.op_type == "GlobalMaxPool"
        if x.rank == 4:
            return x.call("nn.global_max_pool2d" if maximum else "nn.global_avg_pool2d")
        return x.call("max" if maximum else "mean", axis=_spatial(x), keepdims=True)


@onnx_operator("GlobalLpPool")
class GlobalLpPool(OnnxOperator):
    """The p-norm of each channel over all spatial axes."""

    @since(2, 22)
    def over_space(self, x: Value, *, p: int = 2) -> Result:
        total = power_of_size(x, require_count(p, "p")).call("sum", axis=_spatial(x), keepdims=True)
        return root(total, p)
