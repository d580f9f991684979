"""Losses of classifications."""

from __future__ import annotations

from ..memory_limit import filled
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value

NOTHING = -100
"""No class: the value of TVM and PyTorch for losses that ignore no class."""


def negative_log_likelihood(
    x: Value, target: Value, weight: Value | None, ignore_index: int | None, reduction: str
) -> Value:
    """`nn.nll_loss`: minus the weighted logarithm that each target chooses."""
    classes = x.extent(1, "the data of the loss")
    weight = weight if weight is not None else Value.constant(filled(classes, 1, "the weights of the loss"), x.dtype)
    ignored = NOTHING if ignore_index is None else ignore_index
    return x.call("nn.nll_loss", target, weight, reduction=reduction, ignore_index=ignored)


@onnx_operator("NegativeLogLikelihoodLoss")
class NegativeLogLikelihoodLoss(OnnxOperator):
    """The loss of logarithms of probabilities, classes along axis 1."""

    @since(12, 13, 22)
    def loss(
        self,
        x: Value,
        target: Value,
        weight: Value | None = None,
        *,
        ignore_index: int | None = None,
        reduction: str = "mean",
    ) -> Result:
        return negative_log_likelihood(x, target, weight, ignore_index, reduction)


@onnx_operator("SoftmaxCrossEntropyLoss")
class SoftmaxCrossEntropyLoss(OnnxOperator):
    """The loss of scores, and the logarithms of their probabilities."""

    @since(12, 13)
    def loss(
        self,
        scores: Value,
        labels: Value,
        weights: Value | None = None,
        *,
        ignore_index: int | None = None,
        reduction: str = "mean",
    ) -> Result:
        logarithms = scores.call("nn.log_softmax", axis=1)
        return [negative_log_likelihood(logarithms, labels, weights, ignore_index, reduction), logarithms]
