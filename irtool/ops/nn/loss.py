"""Losses: cross entropy and negative log likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import TensorType, Type, scalar
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..shapes import compatible, require_rank, same_shape, tensor
from .precision import narrow, widen


class CrossEntropyFamily(Operator):
    """Two matrices of one shape, `(batch, classes)`, giving a scalar."""

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        x, y = tensor(types[0], "the predictions"), tensor(types[1], "the targets")
        if x is None or y is None:
            return None
        require_rank(x, 2, "the predictions")
        require_rank(y, 2, "the targets")
        if not same_shape(x.shape, y.shape):
            raise RelationError(f"the predictions {x} and the targets {y} differ in shape")
        return scalar(x.dtype)


@operator("nn.cross_entropy", "x", "y", pattern=Pattern.OPAQUE)
@dataclass(frozen=True)
class CrossEntropy(CrossEntropyFamily):
    """`-sum(log(x) * y) / batch`."""

    def evaluate(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        total = -(np.log(widen(x)) * widen(y)).sum()
        return narrow(np.asarray(total / x.shape[0]), x.dtype)


@operator("nn.cross_entropy_with_logits", "x", "y", pattern=Pattern.OPAQUE)
@dataclass(frozen=True)
class CrossEntropyWithLogits(CrossEntropyFamily):
    """`-sum(x * y) / batch`: `x` holds logarithms already."""

    def evaluate(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        total = -(widen(x) * widen(y)).sum()
        return narrow(np.asarray(total / x.shape[0]), x.dtype)


@operator(
    "nn.nll_loss",
    "predictions",
    "targets",
    "weights",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="NLLLossAttrs",
)
@dataclass(frozen=True, kw_only=True)
class NLLLoss(Operator):
    """`-weights[t] * predictions[n, t, …]` with `t = targets[n, …]`, 0 where `t` is `ignore_index`.

    `reduction` is `none`, `sum` or `mean` (of the weights that took part).
    """

    reduction: str = "mean"
    ignore_index: int

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        predictions = tensor(types[0], "the predictions")
        targets, weights = tensor(types[1], "the targets"), tensor(types[2], "the weights")
        if predictions is None or targets is None or weights is None:
            return None
        if len(predictions.shape) - len(targets.shape) != 1:
            raise RelationError(f"the predictions {predictions} must have one axis more than the targets {targets}")
        require_rank(weights, 1, "the weights")
        if not compatible(predictions.shape[1], weights.shape[0]):
            raise RelationError(f"there are {predictions.shape[1]} classes and {weights.shape[0]} weights")
        if predictions.dtype != weights.dtype or "float" not in predictions.dtype:
            raise RelationError(
                f"predictions and weights must have one floating-point type, not {predictions.dtype} and {weights.dtype}"
            )
        if not targets.dtype.startswith("int"):
            raise RelationError(f"the targets must be signed integers, not {targets.dtype}")
        return TensorType(targets.shape if self.reduction == "none" else (), predictions.dtype)

    def evaluate(self, predictions: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        counted = targets != self.ignore_index
        chosen = np.where(counted, targets, 0)
        picked = np.take_along_axis(widen(predictions), chosen[:, None], axis=1)[:, 0]
        weight = np.where(counted, widen(weights)[chosen], 0)
        loss = -picked * weight
        if self.reduction == "none":
            return narrow(loss, predictions.dtype)
        total = loss.sum() if self.reduction == "sum" else loss.sum() / weight.sum()
        return narrow(np.asarray(total), predictions.dtype)
