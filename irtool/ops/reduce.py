"""Reductions: operators that combine elements along axes. A new one of the plain kind is a call of `_row`.

`axis` names the axes that go (all, if it is empty or not given), or those that stay where `exclude` is set; `keepdims`
leaves them in the shape with extent 1. A tensor of rank 0 is its own reduction. 16-bit floats are accumulated in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import te
from ..deferred import np
from ..ir import TensorType, Type
from ..symbolic_int import interval, is_known
from ..tir.dtypes import accumulator_dtype
from .base import Operator, Pattern, RelationError, Reporter, operator
from .binary import pick, truncated_quotient
from .conversion import convert
from .dtypes import is_float, is_half, is_real, largest, smallest
from .long_sums import long_sum
from .relations import reduce_axes, reduce_shape
from .shape.partly_known import reduced_known
from .shapes import compatible, dim_dtype, require_numbers, tensor

Function = Callable[..., Any]


def reduced_elements(shape: Sequence[int], axes: Sequence[int], keepdims: bool, combine: Function) -> Function:
    """The element function of a reduction: `combine(full_index, reduce_axes)`, from the indices of the result."""
    over = {a: te.reduce_axis(shape[a], name=f"k{a}") for a in axes}

    def element(*i: Any) -> Any:
        rest = iter(i)
        full: list[Any] = []
        for a in range(len(shape)):
            if a not in over:
                full.append(next(rest))
                continue
            if keepdims:
                next(rest)
            full.append(over[a])
        return combine(tuple(full), list(over.values()))

    return element


class Reduction(Operator):
    """Base of all reductions; subclasses are dataclasses with these attributes in TVM's order."""

    axis: Any
    keepdims: Any
    exclude: Any

    one_dtype: ClassVar[tuple[str, ...]] = ("data", "result")

    def removed(self, rank: int) -> tuple[int, ...]:
        """The axes that a reduction of a tensor of that rank removes, ascending."""
        return reduce_axes(rank, self.axis, self.exclude)

    def result_shape(self, type: TensorType) -> tuple[Any, ...]:
        return reduce_shape(type.shape, self.axis, self.keepdims, self.exclude)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; the axes that are reduced go, or are 1 with `keepdims`."""
        x = tensor(types[0])
        return x and TensorType(self.result_shape(x), x.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return reduced_known(args, out, self.axis, self.exclude, self.keepdims)

    def total(self, x: np.ndarray) -> np.ndarray:
        """The sum over the removed axes, in float32 for 16-bit floats and in `x`'s dtype otherwise."""
        return long_sum(x, self.removed(x.ndim), self.keepdims)

    def count(self, shape: Sequence[int]) -> int:
        """The number of elements that are combined to one."""
        total = 1
        for a in self.removed(len(shape)):
            total *= shape[a]
        return total

    def sum_elements(self, x: Any, out_type: Any, element: Function, finish: Function) -> Any:
        """The te tensor of `finish(sum of element(full index))`, 16-bit floats summed in float32."""
        wide = accumulator_dtype(out_type.dtype)

        def combine(full: tuple[Any, ...], over: list[Any]) -> Any:
            return (te.reduce_any if wide == "bool" else te.sum)(te.cast(element(full), wide), axis=over)

        total = te.compute(
            out_type.shape, reduced_elements(x.shape, self.removed(x.ndim), self.keepdims, combine), tag="comm_reduce"
        )
        return te.compute(out_type.shape, lambda *i: te.cast(finish(total[i]), out_type.dtype), tag="elemwise")


class PlainReduction(Reduction):
    """Base of the family of rows."""

    reference: ClassVar[Function]
    expression: ClassVar[Function]

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        axes = self.removed(x.ndim)
        if not axes:
            return x
        with np.errstate(all="ignore"):
            return convert(type(self).reference(x, axes, self.keepdims), x.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        expression = type(self).expression
        element = reduced_elements(
            x.shape,
            self.removed(x.ndim),
            self.keepdims,
            lambda full, over: expression(x[full], over) if over else x[full],
        )
        return te.compute(out_type.shape, element, name=f"{x.name}_red", tag="comm_reduce")


def _sum(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    return long_sum(x, axes, keep)


def _prod(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    return np.prod(x, axis=axes, keepdims=keep, dtype="float32" if is_half(x.dtype) else x.dtype)


def _max(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    return (
        np.max(x, axis=axes, keepdims=keep, initial=smallest(x.dtype))
        if x.size == 0
        else np.max(x, axes, keepdims=keep)
    )


def _min(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    return (
        np.min(x, axis=axes, keepdims=keep, initial=largest(x.dtype)) if x.size == 0 else np.min(x, axes, keepdims=keep)
    )


def _te_truth(f: Function) -> Function:
    return lambda e, over: te.cast(f(te.cast(e, "bool"), axis=over), e.dtype)


def _te_sum(e: Any, over: list[Any]) -> Any:
    wide = accumulator_dtype(e.dtype)
    if wide != e.dtype:
        return te.cast(te.sum(te.cast(e, wide), axis=over), e.dtype)
    return te.reduce_any(e, axis=over) if e.dtype == "bool" else te.sum(e, axis=over)


def _te_prod(e: Any, over: list[Any]) -> Any:
    wide = accumulator_dtype(e.dtype)
    if wide != e.dtype:
        return te.cast(te.prod(te.cast(e, wide), axis=over), e.dtype)
    return te.reduce_all(e, axis=over) if e.dtype == "bool" else te.prod(e, axis=over)


def _row(name: str, gives: str, reference: Function, expression: Function, **facts: object) -> None:
    body = {
        "__doc__": f"{gives} along the reduced axes.",
        "__module__": __name__,
        "__annotations__": {"axis": "tuple[int, ...] | None", "keepdims": "bool", "exclude": "bool"},
        "axis": None,
        "keepdims": False,
        "exclude": False,
        "reference": staticmethod(reference),
        "expression": staticmethod(expression),
        **facts,
    }
    cls: type[PlainReduction] = dataclass(frozen=True)(type(name.capitalize(), (PlainReduction,), body))
    operator(name, "data", pattern=Pattern.COMM_REDUCE, attrs="ReduceAttrs", level=4)(cls)


# name, meaning, numpy reference of (x, axes, keepdims), te function of (element, axes), and facts
_row(
    "all",
    "True if all elements are nonzero,",
    lambda x, a, k: np.all(x, a, keepdims=k),
    _te_truth(te.reduce_all),
    differentiable=False,
)
_row(
    "any",
    "True if any element is nonzero,",
    lambda x, a, k: np.any(x, a, keepdims=k),
    _te_truth(te.reduce_any),
    differentiable=False,
)
_row("max", "The largest element", _max, lambda e, k: te.max(e, axis=k), precision="follow", integer_form="same")
_row("min", "The smallest element", _min, lambda e, k: te.min(e, axis=k), precision="follow", integer_form="same")
_row("prod", "The product of the elements", _prod, _te_prod)
_row("sum", "The sum of the elements", _sum, _te_sum, precision="never")


@operator("mean", "data", pattern=Pattern.COMM_REDUCE, attrs="ReduceAttrs", level=4)
@dataclass(frozen=True)
class Mean(Reduction):
    """The mean along the reduced axes; of integers, the sum divided by the count and rounded towards zero."""

    precision = "never"

    axis: tuple[int, ...] | None = None
    keepdims: bool = False
    exclude: bool = False

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        return _over_count(self.total(x), self.count(x.shape), x.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        count = self.count(x.shape)
        return self.sum_elements(x, out_type, lambda full: x[full], lambda total: _te_over_count(total, count))


@operator("variance", "data", "mean", pattern=Pattern.COMM_REDUCE, attrs="VarianceAttrs", level=4)
@dataclass(frozen=True)
class Variance(Reduction):
    """The mean square of `data - mean` along the reduced axes; with `unbiased`, divided by one less than their count.

    `mean` has the rank of `data` and broadcasts to it.
    """

    precision = "never"

    axis: tuple[int, ...] | None = None
    keepdims: bool = False
    exclude: bool = False
    unbiased: bool = False

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; the axes that are reduced go, or are 1 with `keepdims`. The mean has the data's rank."""
        x, mean = tensor(types[0], "data"), tensor(types[1], "mean")
        if x is None or mean is None:
            return None
        if not x.shape:
            raise RelationError("a scalar has no variance")
        require_numbers(x, "data")
        require_numbers(mean, "mean")
        if len(x.shape) != len(mean.shape):
            raise RelationError(f"mean must have the rank of data: {mean} beside {x}")
        if any(m != 1 and not compatible(m, d) for m, d in zip(mean.shape, x.shape, strict=True)):
            raise RelationError(f"mean must broadcast to data: {mean} beside {x}")
        return TensorType(self.result_shape(x), x.dtype)

    def evaluate(self, x: np.ndarray, mean: np.ndarray) -> np.ndarray:
        return _over_count(self.total(np.square(x - mean)), self.count(x.shape) - self.unbiased, x.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        x, mean = inputs
        count = self.count(x.shape) - self.unbiased

        def element(full: tuple[Any, ...]) -> Any:
            difference = x[full] - pick(mean, full)
            return difference * difference

        return self.sum_elements(x, out_type, element, lambda total: _te_over_count(total, count))


def _over_count(total: np.ndarray, count: int, dtype: np.dtype) -> np.ndarray:
    with np.errstate(all="ignore"):
        divisor = np.asarray(count).astype(total.dtype)
        return np.asarray(total / divisor if is_real(dtype) else truncated_quotient(total, divisor)).astype(dtype)


def _te_over_count(total: Any, count: int) -> Any:
    if total.dtype == "bool":
        return te.logical_and(total, te.const(bool(count), "bool"))
    divisor = te.const(count, total.dtype)
    return total / divisor if is_float(total.dtype) else te.truncdiv(total, divisor)


class _Position(Reduction):
    """Base of argmax and argmin: the position of an element, counted through the removed axes in row-major order.

    Among no elements the position is -1.
    """

    differentiable = False

    select_last_index: Any
    largest: ClassVar[bool]

    one_dtype = ()

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`dtype`; the axes that are searched go, or are 1 with `keepdims`."""
        x = tensor(types[0])
        if x is None:
            return None
        if not x.shape:
            raise RelationError("a scalar has no axis to search along")
        return TensorType(self.result_shape(x), dim_dtype(x.shape[0]))

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        axes = self.removed(x.ndim)
        if not axes:
            return x.astype("int32")
        remaining = [a for a in range(x.ndim) if a not in axes]
        rows = np.transpose(x, [*remaining, *axes]).reshape([*[x.shape[a] for a in remaining], self.count(x.shape)])
        if not rows.shape[-1]:
            return np.full(rows.shape[:-1], -1, "int32").reshape(self.total(x).shape)
        find = np.argmax if self.largest else np.argmin
        positions = (
            rows.shape[-1] - 1 - find(rows[..., ::-1], axis=-1) if self.select_last_index else find(rows, axis=-1)
        )
        return np.asarray(np.expand_dims(positions, axes) if self.keepdims else positions).astype("int32")

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        axes = self.removed(x.ndim)
        if not axes:
            return te.compute(out_type.shape, lambda *i: te.cast(x[i], out_type.dtype), tag="elemwise")
        find = te.argmax if self.largest else te.argmin

        def combine(full: tuple[Any, ...], over: list[Any]) -> Any:
            position: Any = te.const(0, out_type.dtype)
            for a, k in zip(axes, over, strict=True):
                position = position * te.const(x.shape[a], out_type.dtype) + te.cast(k, out_type.dtype)
            return find((position, x[full]), axis=over, select_last_index=self.select_last_index)

        both = te.compute(
            out_type.shape, reduced_elements(x.shape, axes, self.keepdims, combine), tag="comm_reduce_idx"
        )
        count = self.count(x.shape)

        def position(*i: Any) -> Any:
            if is_known(count) or interval(count)[0] > 0:
                return both[0][i]
            return te.select(te.const(count, "int64") > 0, both[0][i], te.const(-1, out_type.dtype))

        return te.compute(out_type.shape, position, name=f"T_{self.name}", tag="comm_reduce_idx")


@operator("argmax", "data", pattern=Pattern.COMM_REDUCE, attrs="ArgReduceAttrs", level=4)
@dataclass(frozen=True)
class Argmax(_Position):
    """The position of the largest element along the reduced axes; for ties, the first (or the last)."""

    precision = "follow"

    axis: tuple[int, ...] | None = None
    keepdims: bool = False
    select_last_index: bool = False
    exclude: bool = False
    largest = True


@operator("argmin", "data", pattern=Pattern.COMM_REDUCE, attrs="ArgReduceAttrs", level=4)
@dataclass(frozen=True)
class Argmin(_Position):
    """The position of the smallest element along the reduced axes; for ties, the first (or the last)."""

    precision = "follow"

    axis: tuple[int, ...] | None = None
    keepdims: bool = False
    select_last_index: bool = False
    exclude: bool = False
    largest = False
