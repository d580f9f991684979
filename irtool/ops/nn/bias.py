"""A vector applied along one axis: bias_add and prelu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ..base import Operator, Pattern, Reporter, operator
from ..binary import added, added_expression
from ..shapes import normalize_axis, tensor
from ..typical import NearZero
from .partly_known import per_channel
from .precision import along


@operator("nn.bias_add", "data", "bias", pattern=Pattern.BROADCAST, attrs="BiasAddAttrs", level=1)
@dataclass(frozen=True)
class BiasAdd(Operator):
    """`data + bias`, the vector `bias` running along `axis`."""

    precision = "follow"

    axis: int = 1

    vector_axis = "axis"
    one_dtype = ("data", "bias", "result")

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (hint, NearZero())

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The data's type; the bias is a vector of the data's extent along `axis` and takes its type from that."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        axis = normalize_axis(self.axis, len(data.shape))
        reporter.assign(1, TensorType((data.shape[axis],), data.dtype))
        return data

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return per_channel(args, out, self.axis)

    def evaluate(self, data: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return added(data, along(bias, data.ndim, self.axis))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, bias = inputs
        axis = self.axis % data.ndim
        return te.compute(
            data.shape, lambda *i: added_expression(data[i], bias[i[axis]]), name="bias_add", tag="broadcast"
        )


@operator("nn.prelu", "data", "alpha", pattern=Pattern.BROADCAST, attrs="PReluAttrs", level=3)
@dataclass(frozen=True)
class PRelu(Operator):
    """`data` where positive, `alpha * data` elsewhere, the vector `alpha` running along `axis`. He et al., 2015."""

    precision = "follow"

    axis: int = 1

    vector_axis = "axis"
    one_dtype = ("data", "alpha", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The data's type; the slopes are a vector of its extent along `axis` and take their type from that."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        axis = normalize_axis(self.axis, len(data.shape))
        reporter.assign(1, TensorType((data.shape[axis],), data.dtype))
        return TensorType(data.shape, data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return per_channel(args, out, self.axis)

    def evaluate(self, data: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        return np.where(data > 0, data, data * along(alpha, data.ndim, self.axis))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, alpha = inputs
        axis = self.axis % data.ndim

        def element(*i: Any) -> Any:
            return te.select(data[i] > 0, data[i], data[i] * alpha[i[axis]])

        return te.compute(data.shape, element, name="prelu", tag="broadcast")
