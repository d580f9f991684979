"""Normalisations by length: l2_normalize, and lrn among neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...symbolic_int import bound
from ...tir.dtypes import accumulator_dtype
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import number_as
from ..extremes import larger, larger_expression
from ..long_sums import long_sum
from ..relations import identity
from ..shapes import normalize_axes, normalize_axis, require_floats
from .precision import narrow, widen
from .window_expression import pad_axes


@operator("nn.l2_normalize", "data", attrs="L2NormalizeAttrs", level=2)
@dataclass(frozen=True)
class L2Normalize(Operator):
    """`data / sqrt(max(sum(data ** 2), eps))`, the sum taken over `axis` (over all axes if it is empty)."""

    precision = "never"

    eps: float
    axis: tuple[int, ...]

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type:
        """The argument and the result have one type, of floating-point numbers; whichever is known gives the other its own."""
        known = identity(types, reporter)
        if isinstance(known, TensorType):
            require_floats(known)
            normalize_axes(self.axis, len(known.shape))
        return known

    def evaluate(self, data: np.ndarray) -> np.ndarray:
        x = widen(data)
        squares = long_sum(np.square(x), self.axis or None, keepdims=True)
        least = number_as(self.eps, x.dtype)
        return narrow(x * (1 / np.sqrt(larger(squares, least))), data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        wide = accumulator_dtype(data.dtype)
        removed = {a % data.ndim for a in self.axis} or set(range(data.ndim))
        over = {a: te.reduce_axis(data.shape[a], name=f"k{a}") for a in sorted(removed)}
        shape = tuple(1 if a in removed else d for a, d in enumerate(data.shape))

        def square(*i: Any) -> Any:
            value = te.cast(data[tuple(over.get(a, e) for a, e in enumerate(i))], wide)
            return te.sum(value * value, axis=list(over.values()))

        total = te.compute(shape, square, name="squares", tag="comm_reduce")
        length = te.compute(
            shape,
            lambda *i: te.sqrt(larger_expression(total[i], te.const(self.eps, wide))),
            name="length",
            tag="elemwise",
        )

        def element(*i: Any) -> Any:
            position = tuple(0 if a in removed else e for a, e in enumerate(i))
            return te.cast(te.cast(data[i], wide) * (te.const(1, wide) / length[position]), data.dtype)

        return te.compute(data.shape, element, name="l2_normalize", tag="broadcast")


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

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type:
        """The argument and the result have one type, of floating-point numbers; whichever is known gives the other its own."""
        known = identity(types, reporter)
        if isinstance(known, TensorType):
            require_floats(known)
            normalize_axis(self.axis, len(known.shape))
        return known

    def require_odd(self) -> None:
        """RelationError where the neighbours are not as many on either side; TVM's type rule does not look."""
        if self.size < 1 or self.size % 2 == 0:
            raise RelationError(f"size must be odd and positive, not {self.size}")

    def evaluate(self, data: np.ndarray) -> np.ndarray:
        self.require_odd()
        x = widen(data)
        length = x.shape[self.axis]
        reach = min(self.size // 2, length)
        pads = [(0, 0)] * x.ndim
        pads[self.axis] = (reach, reach)
        squares = np.pad(np.square(x), pads)
        total = np.zeros_like(x)
        for i in range(2 * reach + 1):
            cut = [slice(None)] * x.ndim
            cut[self.axis] = slice(i, i + length)
            total += squares[tuple(cut)]
        scale = np.power(number_as(self.bias, x.dtype) + number_as(self.alpha, x.dtype) * total / self.size, self.beta)
        return narrow(x / scale, data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        self.require_odd()
        axis = self.axis % data.ndim
        wide = accumulator_dtype(data.dtype)
        reach = min(self.size // 2, bound(data.shape[axis]))  # beyond are zeros only
        near = te.reduce_axis(2 * reach + 1, name="near", window=True)
        padded = pad_axes(data, (axis,), ((reach, reach),))

        def square(*i: Any) -> Any:
            value = te.cast(padded[(*i[:axis], i[axis] + near, *i[axis + 1 :])], wide)
            return te.sum(value * value, axis=near)

        total = te.compute(data.shape, square, name="squares", tag="comm_reduce")

        def element(*i: Any) -> Any:
            base = te.const(self.bias, wide) + te.const(self.alpha, wide) * total[i] / te.const(self.size, wide)
            return te.cast(te.cast(data[i], wide) / te.power(base, te.const(self.beta, wide)), data.dtype)

        return te.compute(data.shape, element, name="lrn", tag="broadcast")
