"""Normalisations to mean 0 and variance 1: batch, layer, instance and group norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, TupleType, Type
from ...tir.dtypes import accumulator_dtype
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import number_as
from ..long_sums import long_mean
from ..shapes import normalize_axis, require_floats, tensor
from ..typical import NearOne, NearZero
from .partly_known import per_channel
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

    precision = "follow"

    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True

    one_dtype = ("data", "gamma", "beta", "moving_mean", "moving_var", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TupleType | None:
        """A tuple of the data's type and twice a vector of its channels; the four parameters are vectors of the
        channels.
        """
        data = tensor(types[0], "the data")
        if data is None:
            return None
        if not data.shape or not -1 <= self.axis < len(data.shape):
            raise RelationError(f"axis {self.axis} is out of range for a tensor of rank {len(data.shape)}")
        require_floats(data, "the data")
        vector = TensorType((data.shape[self.axis],), data.dtype)
        for i in range(1, 5):
            reporter.assign(i, vector)
        return TupleType((TensorType(data.shape, data.dtype), vector, vector))

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (None, NearOne(), NearZero(), NearZero(), NearOne())

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        data, vector, more = out if isinstance(out, list) else [None] * 3
        shapes, data = per_channel([*args, vector, more], data, self.axis)
        return shapes[: len(args)], [data, *shapes[len(args) :]]

    def evaluate(
        self, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, var: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        variance = widen(var)
        scale = 1 / np.sqrt(variance + number_as(self.epsilon, variance.dtype))
        if self.scale:
            scale = scale * widen(gamma)
        shift = -widen(mean) * scale
        if self.center:
            shift = shift + widen(beta)
        out = widen(data) * along(scale, data.ndim, self.axis) + along(shift, data.ndim, self.axis)
        return narrow(out, data.dtype), mean, var

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, gamma, beta, mean, var = inputs
        axis = self.axis % data.ndim
        wide = accumulator_dtype(data.dtype)

        def factor(c: Any) -> Any:
            value = te.const(1, wide) / te.sqrt(te.cast(var[c], wide) + self.epsilon)
            return value * te.cast(gamma[c], wide) if self.scale else value

        # A factor and a summand per channel, as in the reference: the data may be infinite.
        scale = te.compute(var.shape, factor, name="scale", tag="elemwise")

        def summand(c: Any) -> Any:
            value = -te.cast(mean[c], wide) * scale[c]
            return value + te.cast(beta[c], wide) if self.center else value

        shift = te.compute(var.shape, summand, name="shift", tag="elemwise")

        def element(*i: Any) -> Any:
            return te.cast(te.cast(data[i], wide) * scale[i[axis]] + shift[i[axis]], data.dtype)

        out = te.compute(data.shape, element, name="batch_norm", tag="broadcast")
        statistics = [te.compute(v.shape, lambda i, v=v: v[i], name="kept", tag="elemwise") for v in (mean, var)]
        return [out, *statistics]


def scaled(value: Any, gamma: Any, beta: Any, norm: Any) -> Any:
    """`value * gamma + beta` as far as the operator's `scale` and `center` want it."""
    if norm.scale:
        value = value * te.cast(gamma, value.dtype)
    return value + te.cast(beta, value.dtype) if norm.center else value


class ScaledNorm(Operator):
    """Normalisations by statistics of the data itself, then scaled and shifted along `axis`."""

    axis: int
    epsilon: float
    center: bool
    scale: bool

    one_dtype = ("data", "gamma", "beta", "result")

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (None, NearOne(), NearZero())

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The data's type; gamma and beta are vectors of its extent along `axis` and take their types from that."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        axis = normalize_axis(self.axis, len(data.shape))
        require_floats(data, "the data")
        vector = TensorType((data.shape[axis],), data.dtype)
        reporter.assign(1, vector)
        reporter.assign(2, vector)
        return TensorType(data.shape, data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return per_channel(args, out, self.axis)

    def evaluate(self, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
        axis = self.axis % data.ndim
        out = self.normalize(widen(data), axis)
        if self.scale:
            out = out * along(widen(gamma), data.ndim, axis)
        if self.center:
            out = out + along(widen(beta), data.ndim, axis)
        return narrow(out, data.dtype)

    def normalize(self, x: np.ndarray, axis: int) -> np.ndarray:
        """`x` with mean 0 and variance 1 over the operator's axes."""
        raise NotImplementedError

    def averaged(self, rank: int, axis: int) -> tuple[int, ...]:
        """The axes over which mean and variance are taken."""
        raise NotImplementedError

    def groups(self) -> int:
        """Into how many parts `axis` is cut, each with its own mean and variance; 1 for none."""
        return 1

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, gamma, beta = inputs
        axis = self.axis % data.ndim
        wide = accumulator_dtype(data.dtype)
        parts = self.groups()
        removed = self.averaged(data.ndim, axis)
        each = data.shape[axis] // parts
        shape = tuple((parts if i == axis else 1) if i in removed else d for i, d in enumerate(data.shape))
        count = 1
        for a in removed:
            count *= each if a == axis and parts > 1 else data.shape[a]

        def place(i: Sequence[Any]) -> tuple[Any, ...]:
            group = te.floordiv(i[axis], each) if parts > 1 else 0
            return tuple((group if a == axis else 0) if a in removed else e for a, e in enumerate(i))

        def total(name: str, value: Any) -> Any:
            over = {
                a: te.reduce_axis(each if a == axis and parts > 1 else data.shape[a], name=f"k{a}") for a in removed
            }

            def element(*i: Any) -> Any:
                indices = [
                    (i[a] * each + over[a] if a == axis and parts > 1 else over.get(a, i[a])) for a in range(len(i))
                ]
                return te.sum(value(tuple(indices), i), axis=list(over.values()))

            return te.compute(shape, element, name=name, tag="comm_reduce")

        sums = total("sum", lambda indices, i: te.cast(data[indices], wide))
        mean = te.compute(shape, lambda *i: sums[i] / te.const(count, wide), name="mean", tag="elemwise")

        def squared(indices: Any, i: Any) -> Any:
            apart = te.cast(data[indices], wide) - mean[i]
            return apart * apart

        squares = total("squares", squared)
        deviation = te.compute(
            shape,
            lambda *i: te.sqrt(squares[i] / te.const(count, wide) + self.epsilon),
            name="deviation",
            tag="elemwise",
        )

        def element(*i: Any) -> Any:
            value = (te.cast(data[i], wide) - mean[place(i)]) / deviation[place(i)]
            return te.cast(scaled(value, gamma[i[axis]], beta[i[axis]], self), data.dtype)

        return te.compute(data.shape, element, name="norm", tag="norm")

    def standardize(self, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        """`(x - mean) / sqrt(variance + epsilon)`, both taken over `axes`."""
        centred = x - long_mean(x, axes, keepdims=True)
        variance = long_mean(np.square(centred), axes, keepdims=True)
        return centred / np.sqrt(variance + number_as(self.epsilon, x.dtype))


@operator("nn.layer_norm", "data", "gamma", "beta", attrs="LayerNormAttrs", level=1)
@dataclass(frozen=True)
class LayerNorm(ScaledNorm):
    """Mean 0 and variance 1 along `axis`, then `* gamma + beta`. Ba et al., 2016."""

    precision = "never"

    axis: int = -1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True

    def normalize(self, x: np.ndarray, axis: int) -> np.ndarray:
        return self.standardize(x, self.averaged(x.ndim, axis))

    def averaged(self, rank: int, axis: int) -> tuple[int, ...]:
        return (axis,)


@operator("nn.instance_norm", "data", "gamma", "beta", attrs="InstanceNormAttrs", level=1)
@dataclass(frozen=True)
class InstanceNorm(ScaledNorm):
    """Mean 0 and variance 1 over all axes but the first and `axis`, then `* gamma + beta`. Ulyanov et al., 2016."""

    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True

    def normalize(self, x: np.ndarray, axis: int) -> np.ndarray:
        return self.standardize(x, self.averaged(x.ndim, axis))

    def averaged(self, rank: int, axis: int) -> tuple[int, ...]:
        return tuple(i for i in range(1, rank) if i != axis)


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

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The data's type; gamma and beta are vectors of its extent along `axis`, which `num_groups` divides."""
        tensor_type = super().relate(types, reporter)
        if tensor_type is not None:
            channels = tensor_type.shape[normalize_axis(self.axis, len(tensor_type.shape))]
            if self.num_groups < 1 or (isinstance(channels, int) and channels % self.num_groups):
                raise RelationError(f"{channels} channels cannot be split into {self.num_groups} groups")
        return tensor_type

    def normalize(self, x: np.ndarray, axis: int) -> np.ndarray:
        channels = x.shape[axis]
        split = x.reshape(*x.shape[:axis], self.num_groups, channels // self.num_groups, *x.shape[axis + 1 :])
        return self.standardize(split, tuple(range(axis + 1, split.ndim))).reshape(x.shape)

    def averaged(self, rank: int, axis: int) -> tuple[int, ...]:
        return tuple(range(axis, rank))

    def groups(self) -> int:
        return self.num_groups
