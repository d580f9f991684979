"""Gradients of operators that move elements: each element's gradient goes back to where the element came from."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any

from ...ir import Constant, Dim, Expr, TensorType, Tuple, TupleGetItem, TupleType, Type
from ...ir.dims import is_number
from ...ops.base import call, operators
from ...ops.shape.slice import MAX, slice_array
from ..core.arithmetic import multiply
from ..core.constants import array_constant, scalar_constant, tensor_constant
from .rule import GradientSite, gradient, zeros_like


@gradient("reshape", "contrib_reverse_reshape", "squeeze", "nn.batch_flatten")
def reshape(s: GradientSite) -> list[Expr]:
    """The gradient in the shape of the argument."""
    return [call("reshape_like", s.grad, s.args[0])]


@gradient("dyn.reshape", "reshape_like")
def reshape_by(s: GradientSite) -> list[Expr]:
    """The gradient in the shape of the first argument; the second only gives a shape."""
    return [call("reshape_like", s.grad, s.args[0]), zeros_like(s.args[1])]


@gradient("expand_dims")
def expand_dims(s: GradientSite) -> list[Expr]:
    """The new axes go."""
    grad = s.grad
    for _ in range(s.attrs.num_newaxis):
        grad = call("squeeze", grad, axis=[s.attrs.axis])
    return [grad]


@gradient("transpose")
def transpose(s: GradientSite) -> list[Expr]:
    """The inverse permutation."""
    axes = s.attrs.axes
    if not axes:
        return [call("transpose", s.grad, axes=None)]
    inverse = [0] * len(axes)
    for i, a in enumerate(axes):
        inverse[int(a)] = i
    return [call("transpose", s.grad, axes=inverse)]


def _fields(s: GradientSite) -> tuple[TensorType, ...]:
    t = s.types[0]
    assert isinstance(t, TupleType)
    return t.fields  # type: ignore[return-value]  # the operators that ask take tuples of tensors


@gradient("concatenate")
def concatenate(s: GradientSite) -> list[Expr]:
    """The gradient split where the pieces met; zeros for pieces without elements, which no split gives."""
    fields, axis = _fields(s), s.attrs.axis
    extents = [field.shape[axis] for field in fields]
    if not all(isinstance(n, int) for n in extents[:-1]):
        raise s.refuse("needs static extents along its axis")
    full = [i for i, n in enumerate(extents) if n != 0]
    ends = [int(n) for n in accumulate(extents[i] for i in full[:-1])]
    if is_number(extents[-1]):
        split = call("split", s.grad, indices_or_sections=tuple(ends), axis=axis)
        if len(full) == len(fields):
            return [split]
        pieces: list[Expr] = [TupleGetItem(split, n) for n in range(len(full))]
    else:  # the last piece may turn out to be empty
        limits = zip([0, *ends], [*ends, MAX], strict=True)
        pieces = [call("strided_slice", s.grad, begin=[b], end=[e], strides=[1], axes=[axis]) for b, e in limits]
    piece_of = dict(zip(full, pieces, strict=True))
    return [Tuple(tuple(piece_of.get(i) or zeros_like(TupleGetItem(s.args[0], i)) for i in range(len(fields))))]


@gradient("stack")
def stack(s: GradientSite) -> list[Expr]:
    """The gradient split into one slice for each input."""
    axis, count = int(s.attrs.axis), len(_fields(s))
    pieces = call("split", s.grad, indices_or_sections=count, axis=axis)
    return [Tuple(tuple(call("squeeze", TupleGetItem(pieces, i), axis=[axis]) for i in range(count)))]


@gradient("strided_slice")
def strided_slice(s: GradientSite) -> list[Expr]:
    """The gradient put where the slice was taken, zero elsewhere."""
    (x,) = s.args
    bounds = _plain_bounds(s)
    if bounds is None:
        if 0 in _static(s.type):
            return [zeros_like(x)]
        bounds, backward_axes = _ascending_bounds(s)
        grad = s.grad
        for axis in backward_axes:
            grad = call("reverse", grad, axis=axis)
        return [call("strided_set", zeros_like(x), grad, *(tensor_constant(list(v), "int32") for v in bounds))]
    return [call("strided_set", zeros_like(x), s.grad, *(tensor_constant(list(v), "int32") for v in bounds))]


Bounds = tuple[list[int], list[int], list[int]]
"""Begins, ends and strides, one for each axis from the first on."""


def _plain_bounds(s: GradientSite) -> Bounds | None:
    """The bounds as the attributes give them, which is TVM's form, where they mean the same to `strided_set`."""
    attrs = s.attrs
    if attrs.axes is not None or None in (*attrs.begin, *attrs.end, *attrs.strides):
        return None
    begin, end = [int(b) for b in attrs.begin], [int(e) for e in attrs.end]
    strides = [int(v) for v in attrs.strides]
    if attrs.slice_mode == "size":
        if len(begin) != len(end):
            return None
        end = [s.shape()[i] if n == -1 else b + n for i, (b, n) in enumerate(zip(begin, end, strict=True))]
        strides = [1]
    (data,) = s.types
    assert isinstance(data, TensorType)
    bounds = begin, end, strides
    return bounds if all(_mean_the_same(s, bounds, axis, n) for axis, n in enumerate(data.shape)) else None


def _mean_the_same(s: GradientSite, bounds: Bounds, axis: int, extent: Dim) -> bool:
    """True if `strided_set` with these bounds sets the elements that the slice takes along an axis, in the same order."""
    import numpy as np

    if not isinstance(extent, int):
        return all(v[axis] > 0 for v in bounds[2:] if axis < len(v))
    bounds_arrays: list[Any] = [np.array(v[axis : axis + 1], "int64") for v in bounds]
    positions = np.arange(1, extent + 1)
    assert isinstance(s.type, TensorType)
    ranges = [replace(r, axis=0) for r in s.attrs.ranges(len(s.type.shape)) if r.axis == axis]
    taken = slice_array(positions, ranges)
    want = np.zeros_like(positions)
    want[taken - 1] = taken
    got = operators.get("strided_set")().evaluate(np.zeros_like(positions), taken, *bounds_arrays)
    return bool(len(taken) and (got == want).all())


def _ascending_bounds(s: GradientSite) -> tuple[Bounds, list[int]]:
    """The bounds of each axis with positive strides and indices within it, and the axes that were taken backward."""
    shape = s.shape()
    begin, end, strides = [0] * len(shape), list(shape), [1] * len(shape)
    backward_axes = []
    for r in s.attrs.ranges(len(shape)):
        first, count = r.within(shape[r.axis])
        last = first + (count - 1) * r.stride
        if r.stride < 0:
            first, last = last, first
            backward_axes.append(r.axis)
        begin[r.axis], end[r.axis], strides[r.axis] = first, last + 1, abs(r.stride)
    return (begin, end, strides), backward_axes


def _static(t: Type) -> tuple[int, ...]:
    assert isinstance(t, TensorType)
    return t.static_shape if t.is_static else ()


@gradient("gather_nd")
def gather_nd(s: GradientSite) -> list[Expr]:
    """The gradient scattered to where it was gathered from."""
    data, indices = s.args
    positions = _with_batches(indices, s) if s.attrs.batch_dims else indices
    return [call("scatter_nd", zeros_like(data), positions, s.grad, mode="add"), zeros_like(indices)]


def _with_batches(indices: Expr, s: GradientSite) -> Expr:
    """Indices that also say in which batch they look up, for `scatter_nd`, which knows of no batches."""
    import numpy as np

    _, *batch_shape = s.shape(1)
    t = s.types[1]
    assert isinstance(t, TensorType)
    batches = np.indices(batch_shape)[: s.attrs.batch_dims]
    return call("concatenate", Tuple((array_constant(batches, t.dtype), indices)), axis=0)


@gradient("one_hot")
def one_hot(s: GradientSite) -> list[Expr]:
    """The sum of the gradient at the on-values and at the off-values."""
    indices, on_value, off_value = s.args
    zeros = zeros_like(s.grad)
    mask = _hot(s)
    on = call("sum", call("where", mask, s.grad, zeros), axis=None)
    off = call("sum", call("where", mask, zeros, s.grad), axis=None)
    return [zeros_like(indices), call("cast_like", on, on_value), call("cast_like", off, off_value)]


def _hot(s: GradientSite) -> Expr:
    """A mask of the on-values: by comparison, as in TVM, if both values are known to differ in the result's dtype."""
    indices, on_value, _ = s.args
    dtypes = {t.dtype for t in (*s.types[1:], s.type) if isinstance(t, TensorType)}
    known = [e.data for e in s.sources[1:] if isinstance(e, Constant)]
    if len(dtypes) == 1 and len(known) == 2 and bool(known[0] != known[1]):
        return call("equal", s.out, on_value)
    one, zero = scalar_constant(True, "bool"), scalar_constant(False, "bool")
    return call("one_hot", indices, one, zero, depth=s.attrs.depth, axis=s.attrs.axis, dtype="bool")


@gradient("arange")
def arange(s: GradientSite) -> list[Expr]:
    """Start moves every element; step moves the i-th one i times."""
    start, stop, step = s.args
    length = call("take", call("shape_of", s.out, dtype="int32"), scalar_constant(0, "int32"), axis=0)
    of_start = call("cast_like", call("sum", s.grad, axis=None), start)
    zero, one = scalar_constant(0, "int32"), scalar_constant(1, "int32")
    fields: dict[str, Any] = _arange_fields(zero, length, one)
    positions = call("arange", zero, length, one, dtype="int32", **fields)
    weighted = multiply(call("cast_like", positions, s.grad), s.grad)
    return [of_start, zeros_like(stop), call("cast_like", call("sum", weighted, axis=None), step)]


def _arange_fields(start: Expr, stop: Expr, step: Expr) -> dict[str, Expr]:
    """TVM keeps the three inputs as attributes as well."""
    known = {f.name for f in operators.get("arange").fields()}
    return {k: v for k, v in (("start", start), ("stop", stop), ("step", step)) if k in known}
