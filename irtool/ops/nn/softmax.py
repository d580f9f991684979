"""softmax and its relatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import TensorType, Type
from ..base import Operator, Pattern, Reporter, operator
from ..shapes import normalize_axis, tensor
from .precision import narrow, widen


class SoftmaxFamily(Operator):
    """The type rule: any tensor that has the axis, giving its own type."""

    axis: int

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        data = tensor(types[0], "the data")
        if data is not None:
            normalize_axis(self.axis, len(data.shape))
        return data


@operator("nn.softmax", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="SoftmaxAttrs", level=1)
@dataclass(frozen=True)
class Softmax(SoftmaxFamily):
    """`exp(x - max) / sum(exp(x - max))` along `axis`."""

    axis: int = -1

    def evaluate(self, data: np.ndarray) -> np.ndarray:
        x = widen(data)
        raised = np.exp(x - x.max(axis=self.axis, keepdims=True))
        return narrow(raised / raised.sum(axis=self.axis, keepdims=True), data.dtype)


@operator("nn.fast_softmax", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="SoftmaxAttrs", level=1)
@dataclass(frozen=True)
class FastSoftmax(Softmax):
    """`nn.softmax`, for which a compiled kernel may use a cheaper exponential."""


@operator("nn.log_softmax", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="SoftmaxAttrs", level=1)
@dataclass(frozen=True)
class LogSoftmax(SoftmaxFamily):
    """`x - max - log(sum(exp(x - max)))` along `axis`."""

    axis: int = -1

    def evaluate(self, data: np.ndarray) -> np.ndarray:
        x = widen(data)
        x = x - x.max(axis=self.axis, keepdims=True)
        return narrow(x - np.log(np.exp(x).sum(axis=self.axis, keepdims=True)), data.dtype)
