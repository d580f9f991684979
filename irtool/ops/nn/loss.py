"""Losses: cross entropy and negative log likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type, scalar
from ...tir.dtypes import accumulator_dtype
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..indexing.bounds import clip_indices, require_places
from ..shapes import compatible, require_floats, require_rank, same_shape, tensor
from ..typical import NearOne, below, extent_of
from .precision import narrow, widen


class CrossEntropyFamily(Operator):
    """Two matrices of one shape, `(batch, classes)`, giving a scalar."""

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """Predictions and targets of one shape and rank 2 give a scalar of the predictions' dtype."""
        x, y = tensor(types[0], "the predictions"), tensor(types[1], "the targets")
        if x is None or y is None:
            return None
        require_rank(x, 2, "the predictions")
        require_rank(y, 2, "the targets")
        require_floats(x, "the predictions")
        if not same_shape(x.shape, y.shape):
            raise RelationError(f"the predictions {x} and the targets {y} differ in shape")
        return scalar(x.dtype)


def sum_all(shape: Sequence[int], value: Callable[[tuple[Any, ...]], Any], name: str) -> Any:
    """The sum over all elements of a shape, a tensor of rank 0."""
    over = [te.reduce_axis(d, name=f"k{i}") for i, d in enumerate(shape)]
    return te.compute((), lambda: te.sum(value(tuple(over)), axis=over), name=name, tag="comm_reduce")


def negative_mean(x: Any, value: Callable[[tuple[Any, ...], str], Any]) -> Any:
    """The sum of `value` over all elements of `x`, divided by minus its first extent."""
    wide = accumulator_dtype(x.dtype)
    total = sum_all(x.shape, lambda i: value(i, wide), "total")
    mean = total[()] / te.const(-x.shape[0], wide)
    return te.compute((), lambda: te.cast(mean, x.dtype), name="mean", tag="elemwise")


@operator("nn.cross_entropy", "x", "y", pattern=Pattern.OPAQUE)
@dataclass(frozen=True)
class CrossEntropy(CrossEntropyFamily):
    """`-sum(log(x) * y) / batch`."""

    precision = "never"

    def evaluate(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        total = -(np.log(widen(x)) * widen(y)).sum()
        return narrow(np.asarray(total / x.shape[0]), x.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        x, y = inputs
        return negative_mean(x, lambda i, wide: te.log(te.cast(x[i], wide)) * te.cast(y[i], wide))


@operator("nn.cross_entropy_with_logits", "x", "y", pattern=Pattern.OPAQUE)
@dataclass(frozen=True)
class CrossEntropyWithLogits(CrossEntropyFamily):
    """`-sum(x * y) / batch`: `x` holds logarithms already."""

    precision = "never"

    def evaluate(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        total = -(widen(x) * widen(y)).sum()
        return narrow(np.asarray(total / x.shape[0]), x.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        x, y = inputs
        return negative_mean(x, lambda i, wide: te.cast(x[i], wide) * te.cast(y[i], wide))


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

    Any other target out of range stands for the nearest class.
    `reduction` is `none`, `sum` or `mean` (of the weights that took part).
    """

    reduction: str = "mean"
    ignore_index: int

    one_dtype = ("predictions", "result")

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (None, below(extent_of(types[2], 0)), NearOne())

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The shape of the targets, or a scalar if reduced; predictions have the classes as axis 1 more, the weights
        one each.
        """
        predictions = tensor(types[0], "the predictions")
        targets, weights = tensor(types[1], "the targets"), tensor(types[2], "the weights")
        if predictions is None or targets is None or weights is None:
            return None
        if len(predictions.shape) - len(targets.shape) != 1:
            raise RelationError(f"the predictions {predictions} must have one axis more than the targets {targets}")
        if len(predictions.shape) < 2:
            raise RelationError(f"the predictions must have a batch and classes, not {predictions}")
        rest = (predictions.shape[0], *predictions.shape[2:])
        if not all(map(compatible, rest, targets.shape)):
            raise RelationError(
                f"the predictions {predictions} without their classes and the targets {targets} differ in shape"
            )
        require_rank(weights, 1, "the weights")
        if not compatible(predictions.shape[1], weights.shape[0]):
            raise RelationError(f"there are {predictions.shape[1]} classes and {weights.shape[0]} weights")
        if predictions.dtype != weights.dtype or "float" not in predictions.dtype:
            raise RelationError(
                f"predictions and weights must have one floating-point type, not {predictions.dtype} and {weights.dtype}"
            )
        if not targets.dtype.startswith("int"):
            raise RelationError(f"the targets must be signed integers, not {targets.dtype}")
        require_places(reporter, (predictions.shape[1],), targets.shape, "axis 1 of the predictions")
        return TensorType(targets.shape if self.reduction == "none" else (), predictions.dtype)

    def evaluate(self, predictions: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        counted = targets != self.ignore_index
        chosen = clip_indices(targets, predictions.shape[1])
        picked = np.take_along_axis(widen(predictions), chosen[:, None], axis=1)[:, 0]
        weight = np.where(counted, widen(weights)[chosen], 0)
        loss = np.where(counted, -picked * weight, 0)
        if self.reduction == "none":
            return narrow(loss, predictions.dtype)
        total = loss.sum() if self.reduction == "sum" else loss.sum() / weight.sum()
        return narrow(np.asarray(total), predictions.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        predictions, targets, weights = inputs
        dtype = predictions.dtype
        wide = accumulator_dtype(dtype)

        def target(i: tuple[Any, ...]) -> Any:
            return te.clip_index(targets[i], predictions.shape[1])

        def counted(i: tuple[Any, ...]) -> Any:
            return targets[i] != self.ignore_index

        def weight(i: tuple[Any, ...]) -> Any:
            return te.if_then_else(counted(i), te.cast(weights[target(i)], wide), te.const(0, wide))

        def loss(i: tuple[Any, ...]) -> Any:
            picked = te.cast(predictions[(i[0], target(i), *i[1:])], wide)
            taken = te.const(0, wide) - picked * te.cast(weights[target(i)], wide)
            return te.if_then_else(counted(i), taken, te.const(0, wide))

        if self.reduction == "none":
            return te.compute(targets.shape, lambda *i: te.cast(loss(i), dtype), name="nll_loss", tag="broadcast")
        total = sum_all(targets.shape, loss, "total")
        if self.reduction == "sum":
            return te.compute((), lambda: te.cast(total[()], dtype), name="nll_loss", tag="elemwise")
        all_weights = sum_all(targets.shape, weight, "weight")
        return te.compute((), lambda: te.cast(total[()] / all_weights[()], dtype), name="nll_loss", tag="elemwise")
