"""Operators that give the same elements, in the same order, another shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import ANY, Dim
from ...symbolic_int import SymbolicInt
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..relations import show_shape
from ..shapes import floordiv, mul, normalize_axis, product, require_few_axes, tensor
from .partly_known import expanded_known, flattened_known, reshaped_known, squeezed_known


def reshape_tensor(x: Any, shape: Sequence[Any], name: str = "T_reshape") -> Any:
    """The tensor expression `x` read in row-major order into `shape`."""
    if not x.shape:
        return te.compute(shape, lambda *i: x[()], name=name, tag="injective")

    def element(*i: Any) -> Any:
        return x[unflatten(flatten(i, shape), x.shape)]

    return te.compute(shape, element, name=name, tag="injective")


def flatten(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The row-major position of an element; works on ints, arrays and index expressions."""
    flat: Any = 0
    for index, extent in zip(indices, shape, strict=True):
        flat = flat * extent + index
    return flat


def unflatten(flat: Any, shape: Sequence[Any]) -> tuple[Any, ...]:
    """The indices of the element at a row-major position."""
    indices: list[Any] = []
    for axis in range(len(shape) - 1, 0, -1):
        indices.append(flat % shape[axis])
        flat = flat // shape[axis]
    return (flat, *reversed(indices))


def infer_new_shape(shape: Sequence[Dim], newshape: Sequence[int], allowzero: bool = False) -> tuple[Dim, ...]:
    """The shape that `reshape` gives to a tensor of `shape`.

    Codes in `newshape`: a positive number is a dimension; 0 copies the dimension at the same place (or is a zero, with
    `allowzero`); -1 is what remains (once); -2 copies all remaining dimensions; -3 merges two dimensions; -4 splits one
    into the two numbers that follow, of which one may be -1. Raises RelationError if the codes do not fit the shape.
    """
    out: list[Dim] = []
    used_in: set[int] = set()
    used_out: set[int] = set()
    axis = 0
    inferred = -1
    codes = list(newshape)

    def copy() -> Dim:
        nonlocal axis
        if axis >= len(shape):
            raise RelationError(f"newshape {list(codes)} asks for dimension {axis} of a tensor of rank {len(shape)}")
        used_in.add(axis)
        axis += 1
        return shape[axis - 1]

    def give(dim: Dim) -> None:
        used_out.add(len(out))
        out.append(dim)

    i = 0
    while i < len(codes):
        code = codes[i]
        if isinstance(code, SymbolicInt) or code > 0 or (code == 0 and allowzero):
            out.append(code)
            axis += 1
        elif code == 0:
            give(copy())
        elif code == -1:
            if inferred >= 0:
                raise RelationError(f"newshape {codes} has more than one -1")
            inferred = len(out)
            out.append(1)
            axis += 1
        elif code == -2:
            while axis < len(shape):
                give(copy())
        elif code == -3:
            first, second = copy(), copy()
            give(mul(first, second))
        elif code == -4:
            if i + 2 >= len(codes):
                raise RelationError(f"-4 in newshape {codes} must be followed by two dimensions")
            whole, left, right = copy(), codes[i + 1], codes[i + 2]
            if left == -1 and right == -1:
                raise RelationError(f"-4 in newshape {codes} is followed by two -1")
            give(floordiv(whole, right) if left == -1 else left)
            give(floordiv(whole, left) if right == -1 else right)
            i += 2
        else:
            raise RelationError(f"newshape {codes} contains {code}, which means nothing")
        i += 1
    if inferred >= 0:
        rest = product(d for i, d in enumerate(shape) if i not in used_in)
        for j, d in enumerate(out):
            if j not in used_out and j != inferred:
                rest = floordiv(rest, d)
        out[inferred] = rest
    return tuple(out)


def require_same_size(before: Sequence[Dim], after: Sequence[Dim]) -> None:
    """RelationError if both shapes are static and hold different numbers of elements."""
    if all(isinstance(d, int) for d in (*before, *after)) and product(before) != product(after):
        raise RelationError(
            f"a tensor of shape {show_shape(before)} ({product(before)} elements) cannot take the shape "
            f"{show_shape(after)} ({product(after)} elements)"
        )


@operator("reshape", "data", pattern=Pattern.INJECTIVE, attrs="ReshapeAttrs", level=3)
@dataclass(frozen=True)
class Reshape(Operator):
    """The elements in row-major order in another shape.

    Codes of `newshape` beside positive dimensions: 0 copies the dimension at this place (or, with `allowzero`, is an
    empty dimension), -1 is inferred from the rest, -2 copies all that remain, -3 merges the next two, -4 splits the next
    into the two numbers that follow.
    """

    precision = "follow"
    integer_form = "same"

    reshapes = True

    newshape: tuple[int, ...]
    allowzero: bool = False

    one_dtype = ("data", "result")

    def target_shape(self, shape: Sequence[Dim]) -> tuple[Dim, ...]:
        return infer_new_shape(shape, self.newshape, self.allowzero)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; `newshape` with its codes resolved (0 keeps an extent, -1 takes the remaining one, -2, -3, -4
        copy, join, split).
        """
        data = tensor(types[0])
        if data is None:
            return None
        shape = self.target_shape(data.shape)
        require_same_size(data.shape, shape)
        return TensorType(shape, data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        if any(isinstance(d, int) and d < -1 for d in self.newshape):
            return list(args), out  # codes that copy the remaining axes, split and join axes
        return reshaped_known(args[0], out, self.newshape, not self.allowzero)

    def evaluate(self, data: Any) -> Any:
        return np.reshape(data, self.target_shape(data.shape))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return reshape_tensor(inputs[0], out_type.shape)


@operator("contrib_reverse_reshape", "data", pattern=Pattern.INJECTIVE, attrs="ReshapeAttrs", level=10)
@dataclass(frozen=True)
class ReverseReshape(Reshape):
    """`reshape`, with the codes of `newshape` matched against the dimensions from the back."""

    precision = ""
    integer_form = ""

    reshapes = True

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return list(args), out

    def target_shape(self, shape: Sequence[Dim]) -> tuple[Dim, ...]:
        return infer_new_shape(shape[::-1], self.newshape[::-1], self.allowzero)[::-1]


@operator("reshape_like", "data", "shape_like", pattern=Pattern.INJECTIVE, attrs="ReshapeLikeAttrs", level=3)
@dataclass(frozen=True)
class ReshapeLike(Operator):
    """`data` with its axes `lhs_begin:lhs_end` replaced by the axes `rhs_begin:rhs_end` of `shape_like`."""

    lhs_begin: int = 0
    lhs_end: int | None = None
    rhs_begin: int = 0
    rhs_end: int | None = None

    one_dtype = ("data", "result")

    def target_shape(self, shape: Sequence[Dim], like: Sequence[Dim]) -> tuple[Dim, ...]:
        begin, end = _bounds(self.lhs_begin, self.lhs_end, len(shape), "data")
        from_, to = _bounds(self.rhs_begin, self.rhs_end, len(like), "shape_like")
        return (*shape[:begin], *like[from_:to], *shape[end:])

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; the axes from `lhs_begin` to `lhs_end` give way to those that the second argument has from
        `rhs_begin` to `rhs_end`.
        """
        data, like = tensor(types[0]), tensor(types[1])
        if data is None or like is None:
            return None
        shape = self.target_shape(data.shape, like.shape)
        require_same_size(data.shape, shape)
        return TensorType(shape, data.dtype)

    def evaluate(self, data: Any, like: Any) -> Any:
        return np.reshape(data, self.target_shape(data.shape, like.shape))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return reshape_tensor(inputs[0], out_type.shape)


def _bounds(begin: int, end: int | None, rank: int, what: str) -> tuple[int, int]:
    start = begin + rank if begin < 0 else begin
    stop = rank if end is None else end + rank if end < 0 else end
    if not (0 <= start <= rank and 0 <= stop <= rank):
        raise RelationError(f"the axes {begin}:{end} are out of range for {what}, which is of rank {rank}")
    return int(start), int(stop)


@operator("expand_dims", "data", pattern=Pattern.BROADCAST, attrs="ExpandDimsAttrs", level=1)
@dataclass(frozen=True)
class ExpandDims(Operator):
    """`num_newaxis` axes of extent 1 inserted before `axis` (counted from the back of the result where negative)."""

    precision = "follow"
    integer_form = "same"

    reshapes = True

    axis: int
    num_newaxis: int = 1

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's type with `num_newaxis` axes of extent 1 before `axis`."""
        data = tensor(types[0])
        if data is None:
            return None
        if self.num_newaxis < 0:
            raise RelationError(f"num_newaxis is {self.num_newaxis}; it must not be negative")
        require_few_axes(self.num_newaxis, "num_newaxis")
        positive_axis = normalize_axis(self.axis, len(data.shape) + 1)
        return TensorType(
            (*data.shape[:positive_axis], *(1,) * self.num_newaxis, *data.shape[positive_axis:]), data.dtype
        )

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return expanded_known(args[0], out, self.axis, self.num_newaxis)

    def evaluate(self, data: Any) -> Any:
        positive_axis = normalize_axis(self.axis, data.ndim + 1)
        return np.reshape(data, (*data.shape[:positive_axis], *(1,) * self.num_newaxis, *data.shape[positive_axis:]))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        positive_axis = normalize_axis(self.axis, len(data.shape) + 1)
        return te.compute(
            out_type.shape,
            lambda *i: data[(*i[:positive_axis], *i[positive_axis + self.num_newaxis :])],
            name="T_expand_dims",
            tag="broadcast",
        )


def squeezed_axes(shape: Sequence[Dim], axis: Sequence[int] | None) -> tuple[int, ...]:
    """The axes that `squeeze` removes, ascending; RelationError where one is not 1, or not known and not named."""
    if axis is None:
        if not all(isinstance(d, int) for d in shape):
            raise RelationError(f"axis must be given to squeeze a tensor of the shape {show_shape(shape)}")
        return tuple(i for i, d in enumerate(shape) if d == 1)
    removed = sorted({normalize_axis(a, len(shape)) for a in axis})
    for a in removed:
        if isinstance(shape[a], int) and shape[a] != 1:
            raise RelationError(f"axis {a} is {shape[a]} and cannot be squeezed; only an axis of 1 can")
    return tuple(removed)


@operator("squeeze", "data", pattern=Pattern.INJECTIVE, attrs="SqueezeAttrs", level=3)
@dataclass(frozen=True)
class Squeeze(Operator):
    """The tensor without the axes in `axis`, each of extent 1; by default, without all axes of extent 1."""

    precision = "follow"
    integer_form = "same"

    reshapes = True

    axis: tuple[int, ...] | None = None

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype without the axes of extent 1, or without those of `axis`, which must have it."""
        data = tensor(types[0])
        if data is None:
            return None
        removed = squeezed_axes(data.shape, self.axis)
        return TensorType(tuple(d for i, d in enumerate(data.shape) if i not in removed), data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return squeezed_known(args[0], out, self.axis)

    def evaluate(self, data: Any) -> Any:
        removed = squeezed_axes(data.shape, self.axis)
        return np.reshape(data, [d for i, d in enumerate(data.shape) if i not in removed])

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        removed = squeezed_axes(data.shape, self.axis)

        def element(*i: Any) -> Any:
            coordinates = iter(i)
            return data[tuple(0 if a in removed else next(coordinates) for a in range(len(data.shape)))]

        return te.compute(out_type.shape, element, name="T_squeeze", tag="injective")


@operator("nn.batch_flatten", "data", pattern=Pattern.INJECTIVE, level=2)
@dataclass(frozen=True)
class BatchFlatten(Operator):
    """All axes but the first merged into one: `(n, …)` becomes `(n, product of the rest)`."""

    precision = "follow"
    integer_form = "same"

    reshapes = True

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; the first axis, and the product of all others."""
        data = tensor(types[0])
        if data is None:
            return None
        if not data.shape:
            raise RelationError("a scalar has no batch axis to keep")
        rest: Dim = ANY if ANY in data.shape[1:] else product(data.shape[1:])
        return TensorType((data.shape[0], rest), data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return flattened_known(args[0], out)

    def evaluate(self, data: Any) -> Any:
        return np.reshape(data, (data.shape[0], int(np.prod(data.shape[1:], dtype=np.int64))))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        return te.compute(
            out_type.shape,
            lambda n, j: data[(n, *unflatten(j, data.shape[1:]))] if len(data.shape) > 1 else data[n],
            name="batch_flatten",
            tag="injective",
        )
