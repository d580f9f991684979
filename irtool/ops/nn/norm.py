"""Normalisations: batch, layer, instance and group norm, local response and l2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import TensorType, TupleType, Type
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..relations import identity
from ..shapes import normalize_axis, tensor
from .precision import along, narrow, widen


@operator(
    "nn.batch_norm",
    "data",
    "gamma",
    "beta",
    "moving_mean",
    "moving_var",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="BatchNormAttrs",
    level=1,
)
@dataclass(frozen=True)
class BatchNorm(Operator):
    """`(data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta` along `axis`, as in inference.

    Gives a triple: the result, and the moving mean and variance unchanged. `gamma` is left out unless `scale`, `beta`
    unless `center`. Ioffe and Szegedy, 2015.
    """

    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TupleType | None:
        data = tensor(types[0], "the data")
        if data is None:
            return None
        if not -1 <= self.axis < len(data.shape):
            raise RelationError(f"axis {self.axis} is out of range for a tensor of rank {len(data.shape)}")
        vector = TensorType((data.shape[self.axis],), data.dtype)
        for i in range(1, 5):
            reporter.assign(i, vector)
        return TupleType((TensorType(data.shape, data.dtype), vector, vector))

    def evaluate(
        self, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, var: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        scale = 1 / np.sqrt(widen(var) + np.float32(self.epsilon))
        if self.scale:
            scale = scale * widen(gamma)
        shift = -widen(mean) * scale
        if self.center:
            shift = shift + widen(beta)
        out = widen(data) * along(scale, data.ndim, self.axis) + along(shift, data.ndim, self.axis)
        return narrow(out, data.dtype), mean, var


class ScaledNorm(Operator):
    """Normalisations by statistics of the data itself, then scaled and shifted along `axis`."""

    axis: int
    epsilon: float
    center: bool
    scale: bool

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        data = tensor(types[0], "the data")
        if data is None:
            return None
        axis = normalize_axis(self.axis, len(data.shape))
        vector = TensorType((data.shape[axis],), data.dtype)
        reporter.assign(1, vector)
        reporter.assign(2, vector)
        return TensorType(data.shape, data.dtype)

    def evaluate(self, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
        axis = self.axis % data.ndim
        out = self.normalize(widen(data), axis)
        if self.scale:
            out = out * along(widen(gamma), data.ndim, axis)
        if self.center:
            out = out + along(widen(beta), data.ndim, axis)
        return narrow(out, data.dtype)

    def normalize(self, x: np.ndarray, axis: int) -> np.ndarray:
        """`x` with mean 0 and variance 1 over what the operator averages."""
        raise NotImplementedError

    def standardize(self, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        """`(x - mean) / sqrt(variance + epsilon)`, both taken over `axes`."""
        centred = x - x.mean(axis=axes, keepdims=True)
        variance = np.square(centred).mean(axis=axes, keepdims=True)
        return centred / np.sqrt(variance + x.dtype.type(self.epsilon))


@operator("nn.layer_norm", "data", "gamma", "beta", attrs="LayerNormAttrs", level=1)
@dataclass(frozen=True)
class LayerNorm(ScaledNorm):
    """Mean 0 and variance 1 along `axis`, then `* gamma + beta`. Ba et al., 2016."""

    axis: int = -1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True

    def normalize(self, x: np.ndarray, axis: int) -> np.ndarray:
        return self.standardize(x, (axis,))


@operator("nn.instance_norm", "data", "gamma", "beta", attrs="InstanceNormAttrs", level=1)
@dataclass(frozen=True)
class InstanceNorm(ScaledNorm):
    """Mean 0 and variance 1 over all axes but the first and `axis`, then `* gamma + beta`. Ulyanov et al., 2016."""

    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True

    def normalize(self, x: np.ndarray, axis: int) -> np.ndarray:
        return self.standardize(x, tuple(i for i in range(1, x.ndim) if i != axis))


@operator("nn.group_norm", "data", "gamma", "beta", attrs="GroupNormAttrs", level=1)
@dataclass(frozen=True)
class GroupNorm(ScaledNorm):
    """Mean 0 and variance 1 over each of `num_groups` groups of `axis` and the axes behind it, then `* gamma + beta`.

    Wu and He, 2018.
    """

    num_groups: int = 0
    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True

    def normalize(self, x: np.ndarray, axis: int) -> np.ndarray:
        channels = x.shape[axis]
        if self.num_groups <= 0 or channels % self.num_groups:
            raise ValueError(f"{channels} channels cannot be split into {self.num_groups} groups")
        split = x.reshape(*x.shape[:axis], self.num_groups, channels // self.num_groups, *x.shape[axis + 1 :])
        return self.standardize(split, tuple(range(axis + 1, split.ndim))).reshape(x.shape)


@operator("nn.l2_normalize", "data", attrs="L2NormalizeAttrs", level=2)
@dataclass(frozen=True)
class L2Normalize(Operator):
    """`data / sqrt(max(sum(data ** 2), eps))`, the sum taken over `axis` (over all axes where it is empty)."""

    eps: float
    axis: tuple[int, ...]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type:
        return identity(types, reporter)

    def evaluate(self, data: np.ndarray) -> np.ndarray:
        x = widen(data)
        total = np.square(x).sum(axis=self.axis or None, keepdims=True)
        return narrow(x / np.sqrt(np.maximum(total, x.dtype.type(self.eps))), data.dtype)


@operator("nn.lrn", "data", pattern=Pattern.OPAQUE, attrs="LRNAttrs", level=2)
@dataclass(frozen=True)
class LRN(Operator):
    """Local response normalisation: `data / (bias + alpha / size * sum(data ** 2)) ** beta`.

    The sum is over the `size` (odd) neighbours along `axis`. Krizhevsky et al., 2012.
    """

    size: int = 5
    axis: int = 1
    bias: float = 2.0
    alpha: float = 0.0001
    beta: float = 0.75

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type:
        return identity(types, reporter)

    def evaluate(self, data: np.ndarray) -> np.ndarray:
        x = widen(data)
        reach = self.size // 2
        length = x.shape[self.axis]
        pads = [(0, 0)] * x.ndim
        pads[self.axis] = (reach, reach)
        squares = np.pad(np.square(x), pads)
        total = np.zeros_like(x)
        for i in range(self.size):
            cut = [slice(None)] * x.ndim
            cut[self.axis] = slice(i, i + length)
            total += squares[tuple(cut)]
        scale = np.power(x.dtype.type(self.bias) + x.dtype.type(self.alpha) * total / self.size, self.beta)
        return narrow(x / scale, data.dtype)
