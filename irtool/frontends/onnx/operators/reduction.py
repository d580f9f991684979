"""Sums, products, extremes and norms along axes, and the places of extremes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ....deferred import np
from ..arithmetic import cast, in_single
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply


class Reduction(OnnxOperator):
    """Base of reductions: the axes are an attribute at first, and an input later. Without axes all are reduced."""

    def reduce(self, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
        """The reduction along `axes`, which are counted from the front and may be none at all."""
        raise NotImplementedError

    def over(self, x: Value, axes: Sequence[int] | None, keepdims: int, none_means_none: int = 0) -> Value:
        """The reduction along axes as a node gives them."""
        chosen = axes or (() if none_means_none else range(x.rank))
        return self.reduce(x, x.axes(chosen), bool(keepdims))

    def constant_axes(self, axes: Value | None) -> Sequence[int] | None:
        """The axes that an input says; None if it is left out or empty."""
        if axes is None or axes.shape == (0,):
            return None
        return axes.ints(f"the axes of {self.node.op_type}")


class _AxesSince18(Reduction):
    @since(1, 11, 12, 13)
    def by_attribute(self, x: Value, *, axes: tuple[int, ...] | None = None, keepdims: int = 1) -> Result:
        return self.over(x, axes, keepdims)

    @since(18, 20, 28)
    def by_input(
        self, x: Value, axes: Value | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Result:
        return self.over(x, self.constant_axes(axes), keepdims, noop_with_empty_axes)


def along(name: str, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """A reduction of Relay; along no axes the value itself (Relay takes none for all)."""
    return x.call(name, axis=list(axes), keepdims=keepdims) if axes else x


def _norm1(x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return along("sum", x.call("abs"), axes, keepdims)


def _sum_of_squares(x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return along("sum", x.call("multiply", x), axes, keepdims)


def _norm2(x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return _as_float(_sum_of_squares(x, axes, keepdims), lambda s: s.call("sqrt"))


def _log_of_sum(x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return _as_float(along("sum", x, axes, keepdims), lambda s: s.call("log"))


def _log_of_sum_of_exponentials(x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """`log(sum(exp(x - m))) + m` with the largest element m, so that nothing overflows; 0 for one that is not finite."""

    def logarithm(x: Value) -> Value:
        if 0 in (x.shape[a] for a in axes):
            return along("sum", x, axes, keepdims).call("log")
        largest = along("max", x, axes, True)
        zero = Value.constant(0, x.dtype)
        shift = apply("where", largest.call("isfinite"), largest, zero)
        total = along("sum", x.call("subtract", shift).call("exp"), axes, keepdims).call("log")
        if axes and not keepdims:
            shift = shift.call("squeeze", axis=list(axes))
        return total.call("add", shift)

    return _as_float(x, logarithm)


def _as_float(x: Value, function: Callable[[Value], Value]) -> Value:
    """A function of floats; integers are float64 for it, and its result is rounded towards zero."""
    if x.dtype.startswith(("float", "bfloat")):
        return function(x)
    return cast(function(cast(x, "float64")), x.dtype)


PLAIN: dict[str, Callable[[Value, tuple[int, ...], bool], Value]] = {
    "ReduceL1": _norm1,
    "ReduceL2": _norm2,
    "ReduceLogSum": _log_of_sum,
    "ReduceLogSumExp": _log_of_sum_of_exponentials,
    "ReduceMean": partial(along, "mean"),
    "ReduceProd": partial(along, "prod"),
    "ReduceSumSquare": _sum_of_squares,
}


@onnx_operator(*PLAIN)
class PlainReduction(_AxesSince18):
    """Sums, products, means and norms; the logarithm of sums."""

    def reduce(self, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
        return in_single(x, lambda x: PLAIN[self.node.op_type](x, axes, keepdims))


@onnx_operator("ReduceSum")
class ReduceSum(Reduction):
    """The sum, whose axes are an input since opset 13 already."""

    @since(1, 11)
    def by_attribute(self, x: Value, *, axes: tuple[int, ...] | None = None, keepdims: int = 1) -> Result:
        return self.over(x, axes, keepdims)

    @since(13)
    def by_input(
        self, x: Value, axes: Value | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Result:
        return self.over(x, self.constant_axes(axes), keepdims, noop_with_empty_axes)

    def reduce(self, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
        return along("sum", x, axes, keepdims)


EXTREMES = {"ReduceMax": "max", "ReduceMin": "min"}


@onnx_operator(*EXTREMES)
class Extreme(_AxesSince18):
    """The largest or the smallest element, True being larger than False; of no elements, the neutral element."""

    def reduce(self, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
        name = EXTREMES[self.node.op_type]
        if 0 in (x.shape[a] for a in axes):
            extents = [1 if i in axes else d for i, d in enumerate(x.extents("the data")) if keepdims or i not in axes]
            return Value.constant(_neutral(x.dtype, name), x.dtype).call("full", shape=extents, dtype=x.dtype)
        if x.dtype == "bool":
            name = "any" if name == "max" else "all"
        return along(name, x, axes, keepdims)


def _neutral(dtype: str, name: str) -> float | int:
    if dtype == "bool":
        return name == "min"
    if dtype.startswith(("float", "bfloat")):
        return float("-inf") if name == "max" else float("inf")
    info = np.iinfo(dtype)
    return int(info.min if name == "max" else info.max)


PLACES = {"ArgMax": "argmax", "ArgMin": "argmin"}


@onnx_operator(*PLACES)
class Place(OnnxOperator):
    """The position of the largest or smallest element along an axis; for ties the first, or the last."""

    @since(1, 11, 12, 13, added={"select_last_index": 12})
    def first_or_last(self, x: Value, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Result:
        positions = x.call(
            PLACES[self.node.op_type],
            axis=[x.axis(axis)],
            keepdims=bool(keepdims),
            select_last_index=bool(select_last_index),
        )
        return cast(positions, "int64")


SCANS = {"CumProd": "cumprod", "CumSum": "cumsum"}


@onnx_operator(*SCANS)
class Scan(OnnxOperator):
    """Sums or products of all elements up to each one, along an axis, from its start or from its end."""

    @since(11, 14, 26)
    def accumulate(self, x: Value, axis: Value, *, exclusive: int = 0, reverse: int = 0) -> Result:
        along_axis = axis.number(f"the axis of {self.node.op_type}")
        positive_axis = x.axis(along_axis)
        if reverse:
            x = x.call("reverse", axis=positive_axis)
        sums = x.call(SCANS[self.node.op_type], axis=positive_axis, exclusive=bool(exclusive), dtype=x.dtype)
        return sums.call("reverse", axis=positive_axis) if reverse else sums
