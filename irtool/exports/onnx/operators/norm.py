"""Softmax and normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ....deferred import np
from ..dtypes import is_float
from ..form import Form, decomposed, form
from ..graph import Value
from ..site import OnnxSite
from .binary import along


@form("nn.softmax", "nn.fast_softmax")
@dataclass(frozen=True)
class Softmax(Form):
    """`Softmax`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        return s.node("Softmax", s.inputs[0], axis=s.axes(0, [s.attrs.axis])[0])


@form("nn.log_softmax")
@dataclass(frozen=True)
class LogSoftmax(Form):
    """`LogSoftmax`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        return s.node("LogSoftmax", s.inputs[0], axis=s.axes(0, [s.attrs.axis])[0])


@form("nn.dropout")
@dataclass(frozen=True)
class Dropout(Form):
    """`Identity`, and ones for the mask, as in inference"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        return x, s.node("Expand", s.scalar(1, x), s.shape(x))


@form("nn.batch_norm")
@dataclass(frozen=True)
class BatchNorm(Form):
    """`BatchNormalization`, with `Transpose` around it if the channels are not axis 1"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, gamma, beta, mean, variance = s.inputs
        attrs, rank = s.attrs, len(s.tensor(0).shape)
        axis = attrs.axis % rank
        gamma = gamma if attrs.scale else _filled(s, 1, mean)
        beta = beta if attrs.center else _filled(s, 0, mean)
        order = [*(a for a in range(rank) if a != axis)]
        order.insert(1, axis)
        if rank == 1:  # channels alone: a batch of one
            normalized = s.node(
                "BatchNormalization", s.unsqueeze(x, 0), gamma, beta, mean, variance, epsilon=float(attrs.epsilon)
            )
            return s.squeeze(normalized, 0), mean, variance
        moved = s.transpose(x, order)
        normalized = s.node("BatchNormalization", moved, gamma, beta, mean, variance, epsilon=float(attrs.epsilon))
        return s.transpose(normalized, [order.index(a) for a in range(rank)]), mean, variance


def _filled(s: OnnxSite, value: int, like: Value) -> Value:
    return s.node("Expand", s.scalar(value, like), s.shape(like))


@form("nn.layer_norm")
@dataclass(frozen=True)
class LayerNorm(Form):
    """`LayerNormalization`; along another axis than the last its parts"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, gamma, beta = s.inputs
        attrs, rank = s.attrs, len(s.tensor(0).shape)
        axis = attrs.axis % rank
        if axis == rank - 1 and attrs.scale:
            return s.node(
                "LayerNormalization", x, gamma, beta if attrs.center else None, axis=-1, epsilon=float(attrs.epsilon)
            )
        return _scaled(s, normalised(s, x, [axis], attrs.epsilon), axis, rank)


@form("nn.instance_norm")
@dataclass(frozen=True)
class InstanceNorm(Form):
    """`InstanceNormalization` if the channels are axis 1, else its parts"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, gamma, beta = s.inputs
        attrs, rank = s.attrs, len(s.tensor(0).shape)
        axis = attrs.axis % rank
        if axis == 1 and rank > 2 and attrs.scale and attrs.center:
            return s.node("InstanceNormalization", x, gamma, beta, epsilon=float(attrs.epsilon))
        axes = [a for a in range(1, rank) if a != axis]
        return _scaled(s, normalised(s, x, axes, attrs.epsilon), axis, rank)


@form("nn.group_norm")
@dataclass(frozen=True)
class GroupNorm(Form):
    """`GroupNormalization` (from opset 21) if the channels are axis 1, else its parts; open extents need channels in axis 1"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, gamma, beta = s.inputs
        attrs, rank = s.attrs, len(s.tensor(0).shape)
        axis = attrs.axis % rank
        if axis == 1 and rank > 2 and attrs.scale and attrs.center and s.opset >= 21:
            return s.node(
                "GroupNormalization", x, gamma, beta, num_groups=int(attrs.num_groups), epsilon=float(attrs.epsilon)
            )
        groups = int(attrs.num_groups)
        if axis == 1 and s.tensor(0).extents is None:
            whole = s.shape(x)
            flat = s.concat([s.slice(whole, [0], [1], [0]), s.ints(groups, -1)], 0)
            normalized = normalised(s, s.node("Reshape", x, flat), [2], attrs.epsilon)
            return _scaled(s, s.node("Reshape", normalized, whole), axis, rank)
        shape = s.dims(0)
        grouped = s.reshape(x, [*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]])
        normalized = normalised(s, grouped, list(range(axis + 1, rank + 1)), attrs.epsilon)
        return _scaled(s, s.reshape(normalized, shape), axis, rank)


def normalised(s: OnnxSite, x: Value, axes: Sequence[int], epsilon: float) -> Value:
    """`(x - mean) / sqrt(variance + epsilon)`, both over axes."""
    centred = s.sub(x, s.reduce("ReduceMean", x, axes, True))
    variance = s.reduce("ReduceMean", s.mul(centred, centred), axes, True)
    return s.div(centred, s.node("Sqrt", s.add(variance, s.scalar(np.float32(epsilon), x))))


def _scaled(s: OnnxSite, x: Value, axis: int, rank: int) -> Value:
    _, gamma, beta = s.inputs
    if s.attrs.scale:
        x = s.mul(x, along(s, gamma, axis, rank))
    return s.add(x, along(s, beta, axis, rank)) if s.attrs.center else x


@decomposed("`Mul`, `ReduceSum`, `Max`, `Sqrt`, `Div`: `LpNormalization` has no least divisor", "nn.l2_normalize")
def l2_normalize(s: OnnxSite) -> Value:
    x = s.inputs[0]
    rank = len(s.tensor(0).shape)
    axes = s.axes(0, s.attrs.axis) if s.attrs.axis else list(range(rank))
    total = s.reduce("ReduceSum", s.mul(x, x), axes, True)
    least = s.node("Max", total, s.scalar(np.float32(s.attrs.eps), x))
    return s.div(x, s.node("Sqrt", least))


@form("nn.lrn")
@dataclass(frozen=True)
class Lrn(Form):
    """`LRN` if the channels are axis 1, with `Transpose` around it elsewhere"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        attrs, rank = s.attrs, len(s.tensor(0).shape)
        axis = attrs.axis % rank
        order = [*(a for a in range(rank) if a != axis)]
        order.insert(1, axis)
        normalized = s.node(
            "LRN",
            s.transpose(x, order),
            size=int(attrs.size),
            alpha=float(attrs.alpha),
            beta=float(attrs.beta),
            bias=float(attrs.bias),
        )
        return s.transpose(normalized, [order.index(a) for a in range(rank)])


@decomposed("`Log`, `Mul`, `ReduceSum`, `Neg`, `Div`", "nn.cross_entropy")
def cross_entropy(s: OnnxSite) -> Value:
    x, y = s.inputs
    return _entropy(s, s.node("Log", x), y)


@decomposed("`Mul`, `ReduceSum`, `Neg`, `Div`", "nn.cross_entropy_with_logits")
def cross_entropy_with_logits(s: OnnxSite) -> Value:
    x, y = s.inputs
    return _entropy(s, x, y)


def _entropy(s: OnnxSite, logarithms: Value, y: Value) -> Value:
    total = s.reduce("ReduceSum", s.mul(logarithms, y), [0, 1], False)
    return s.div(s.node("Neg", total), s.scalar(s.dims(0)[0], total))


@form("nn.nll_loss")
@dataclass(frozen=True)
class NllLoss(Form):
    """`NegativeLogLikelihoodLoss`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, targets, weights = s.inputs
        attrs = s.attrs
        if not is_float(x.dtype):
            s.refuse("ONNX has NegativeLogLikelihoodLoss for floating point only")
        flat = len(s.tensor(0).shape) == 1  # one sample: a batch of one
        if flat:
            x, targets = s.unsqueeze(x, 0), s.reshape(targets, [1])
        loss = s.node(
            "NegativeLogLikelihoodLoss", x, s.cast(targets, "int64"), weights, reduction=attrs.reduction, ignore_index=int(attrs.ignore_index)
        )  # fmt: skip
        return s.reshape(loss, []) if flat else loss
