"""softmax and its relatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...tir.dtypes import accumulator_dtype
from ...tir.intrinsics import LEAST_EXPONENT
from ..base import Operator, Pattern, Reporter, operator
from ..long_sums import long_sum
from ..shapes import normalize_axis, require_floats, tensor
from .precision import narrow, widen


def without(indices: Sequence[Any], axis: int) -> tuple[Any, ...]:
    """The indices but the one of `axis`."""
    return tuple(e for i, e in enumerate(indices) if i != axis)


def largest_along(x: Any, axis: int) -> Any:
    """The largest element along `axis`, which goes; 16-bit floats as float32."""
    over = te.reduce_axis(x.shape[axis], name="k")

    def element(*i: Any) -> Any:
        return te.largest_number(te.cast(x[(*i[:axis], over, *i[axis:])], accumulator_dtype(x.dtype)), axis=over)

    return te.compute(without(x.shape, axis), element, name="T_softmax_maxelem", tag="comm_reduce")


def sum_along(x: Any, axis: int) -> Any:
    """The sum along `axis`, which goes."""
    over = te.reduce_axis(x.shape[axis], name="k")
    return te.compute(
        without(x.shape, axis),
        lambda *i: te.sum(x[(*i[:axis], over, *i[axis:])], axis=over),
        name="T_softmax_expsum",
        tag="comm_reduce",
    )


def _exponential(x: np.ndarray) -> np.ndarray:
    """exp of numbers of at most 0; subnormal results in float32 are 0, as in compiled kernels (`flushed_exp`)."""
    raised = np.exp(x)
    if x.dtype == np.float32:
        raised[x < LEAST_EXPONENT] = 0
    return raised


class SoftmaxFamily(Operator):
    """The type rule: any tensor of floats that has the axis, giving its own type."""

    axis: int

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """Any tensor of floats that has the axis, giving its own type."""
        data = tensor(types[0], "the data")
        if data is not None:
            normalize_axis(self.axis, len(data.shape))
            require_floats(data, "the data")
        return data


@operator("nn.softmax", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="SoftmaxAttrs", level=1)
@dataclass(frozen=True)
class Softmax(SoftmaxFamily):
    """`exp(x - max) / sum(exp(x - max))` along `axis`.

    In single precision exp of less than -87 is 0: it would be subnormal, as beside the 1 of each row it is nothing.
    """

    precision = "never"
    fast_form = "nn.fast_softmax"

    axis: int = -1

    def evaluate(self, data: np.ndarray) -> np.ndarray:
        if not data.size:
            return data
        x = widen(data)
        raised = _exponential(x - x.max(axis=self.axis, keepdims=True))
        return narrow(raised / long_sum(raised, self.axis, keepdims=True), data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        axis = self.axis % x.ndim
        wide = accumulator_dtype(x.dtype)
        largest = largest_along(x, axis)
        raised = te.compute(
            x.shape,
            lambda *i: te.exp(te.cast(x[i], wide) - largest[without(i, axis)]),
            name="T_softmax_exp",
            tag="elemwise",
        )
        total = sum_along(raised, axis)
        return te.compute(
            x.shape,
            lambda *i: te.cast(raised[i] / total[without(i, axis)], out_type.dtype),
            name="T_softmax_norm",
            tag="softmax",
        )


@operator("nn.fast_softmax", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="SoftmaxAttrs", level=1)
@dataclass(frozen=True)
class FastSoftmax(Softmax):
    """`nn.softmax`; a compiled kernel may use a cheaper exponential."""

    precision = ""
    fast_form = ""


@operator("nn.log_softmax", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="SoftmaxAttrs", level=1)
@dataclass(frozen=True)
class LogSoftmax(SoftmaxFamily):
    """`x - max - log(sum(exp(x - max)))` along `axis`."""

    axis: int = -1

    def evaluate(self, data: np.ndarray) -> np.ndarray:
        if not data.size:
            return data
        x = widen(data)
        x = x - x.max(axis=self.axis, keepdims=True)
        return narrow(x - np.log(long_sum(np.exp(x), self.axis, keepdims=True)), data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        axis = self.axis % x.ndim
        wide = accumulator_dtype(x.dtype)
        largest = largest_along(x, axis)
        raised = te.compute(
            x.shape,
            lambda *i: te.exp(te.cast(x[i], wide) - largest[without(i, axis)]),
            name="T_softmax_exp",
            tag="elemwise",
        )
        total = sum_along(raised, axis)

        def element(*i: Any) -> Any:
            rest = without(i, axis)
            return te.cast(te.cast(x[i], wide) - largest[rest] - te.log(total[rest]), out_type.dtype)

        return te.compute(x.shape, element, name="log_softmax", tag="softmax")
