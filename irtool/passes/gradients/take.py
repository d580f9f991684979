"""The gradient of `take`: each slice of it is added to the place of the slice that was taken.

TVM's rule is a loop over a vector of indices. It has none for indices of more axes, nor for batches: those are one scatter.
"""

from __future__ import annotations

from ...ir import Call, Constant, Expr, Function, If, Let, MissingData, TensorType, Tuple, TupleGetItem, Var
from ...ops.base import call
from ..core.arithmetic import add
from ..core.constants import array_constant, scalar_constant, tensor_constant
from .rule import GradientSite, gradient, zeros_like


@gradient("take")
def take(s: GradientSite) -> list[Expr]:
    """A loop over the indices that adds each slice of the gradient to where it was taken from."""
    data, indices = s.args
    index_type = s.types[1]
    assert isinstance(index_type, TensorType)
    if s.attrs.batch_dims or len(index_type.shape) > 1:
        return [_scattered(s), zeros_like(indices)]
    shape: tuple[int, ...] = s.shape()
    grad, result = s.grad, zeros_like(data)
    zero, one = _vector(0), _vector(1)
    axis = s.attrs.axis
    if axis is None:
        axis, size = 0, 1
        result = call("reshape", result, newshape=[-1])
        for extent in shape:
            size *= extent
        shape = (size,)
    axis = int(axis) % len(shape)
    if index_type.dtype != "int32":
        indices = call("cast", indices, dtype="int32")
    if not _is_inside(s, shape[axis]):
        indices = _brought_inside(s, indices, "int32", shape[axis])
    if not index_type.shape:
        count: Expr = one
        indices = call("reshape", indices, newshape=[1])
        grad = call("expand_dims", grad, axis=axis)
    else:
        count = call("take", call("shape_of", indices, dtype="int32"), zero, axis=0)
    loop = scatter_loop(shape, s.dtype, axis, indices, grad, count, zero, one)
    moved: Expr = TupleGetItem(Call(loop, (result, zero)), 0)
    if s.attrs.axis is None:
        moved = call("reshape_like", moved, data)
    return [moved, zeros_like(s.args[1])]


def _is_inside(s: GradientSite, extent: int) -> bool:
    """True if the indices are known to be those of elements."""
    known = s.sources[1] if len(s.sources) > 1 else None
    if not isinstance(known, Constant) or isinstance(known.data, MissingData):
        return False
    return bool(((known.data >= 0) & (known.data < extent)).all())


def _brought_inside(s: GradientSite, indices: Expr, dtype: str, extent: int, fast: str = "") -> Expr:
    """The indices of the elements that were taken: indices beyond the axis by the call's mode, `fast` standing for another one."""
    mode = fast if s.attrs.mode == "fast" else s.attrs.mode
    if mode == "wrap":
        return call("floor_mod", indices, scalar_constant(extent, dtype))
    return call("clip", indices, a_min=0.0, a_max=float(extent - 1)) if mode == "clip" else indices


def _scattered(s: GradientSite) -> Expr:
    """The gradient added by one `scatter_nd`, in an order of axes in which those of the indices come first."""
    import numpy as np

    data = s.args[0]
    index_type = s.types[1]
    assert isinstance(index_type, TensorType)
    shape, index_shape = s.shape(), s.shape(1)
    if s.attrs.axis is None:
        size = int(np.prod(shape))
        positions = call("expand_dims", _positions(s, size), axis=0)
        zeros = call("zeros", shape=(size,), dtype=s.dtype)
        return call("reshape_like", call("scatter_nd", zeros, positions, s.grad, mode="add"), data)
    axis, batch = s.attrs.places(len(shape), len(index_shape))
    positions = call("expand_dims", _positions(s, shape[axis]), axis=0)
    if batch:
        batches = array_constant(np.indices(index_shape)[:batch], index_type.dtype)
        positions = call("concatenate", Tuple((batches, positions)), axis=0)
    rank, inner = len(shape), len(index_shape) - batch
    before, behind = range(batch, axis), range(axis + inner, rank - 1 + inner)
    grad = _ordered(s.grad, [*range(batch), *range(axis, axis + inner), *before, *behind])
    order = [*range(batch), axis, *before, *range(axis + 1, rank)]
    zeros = call("zeros", shape=tuple(shape[a] for a in order), dtype=s.dtype)
    total = call("scatter_nd", zeros, positions, grad, mode="add")
    return _ordered(total, [order.index(a) for a in range(rank)])


def _positions(s: GradientSite, extent: int) -> Expr:
    """The positions of the elements that were taken, none of them out of range."""
    indices, type_ = s.args[1], s.types[1]
    assert isinstance(type_, TensorType)
    return indices if _is_inside(s, extent) else _brought_inside(s, indices, type_.dtype, extent, "clip")


def _ordered(e: Expr, axes: list[int]) -> Expr:
    return e if axes == sorted(axes) else call("transpose", e, axes=tuple(axes))


def _vector(value: int) -> Expr:
    return call("reshape", scalar_constant(value, "int32"), newshape=[1])


def _clamped(begin: Expr, data: Expr) -> Expr:
    """First indices, negative ones counted from the end, and none beyond it."""
    extents = call("slice_like", call("cast_like", call("shape_of", data, dtype="int32"), begin), begin, axes=None)
    below = call("less", begin, call("cast_like", scalar_constant(0, "int32"), begin))
    begin = call("where", below, add(begin, extents), begin)
    return call("where", call("greater_equal", begin, extents), extents, begin)


def scatter_loop(
    shape: tuple[int, ...], dtype: str, axis: int, indices: Expr, grad: Expr, count: Expr, zero: Expr, one: Expr
) -> Expr:
    """A function of (result, i) that calls itself until `i` reaches `count`."""
    loop = Var("while_loop")
    total = Var("data_grad", TensorType(shape, dtype))
    i = Var("i", TensorType((1,), "int32"))
    index = call("take", indices, i, axis=0)
    piece = call("take", grad, i, axis=axis)
    begin: list[Expr] = []
    end: list[Expr] = []
    for a, extent in enumerate(shape):
        size = _vector(extent)
        begin.append(zero if a != axis else index)
        end.append(size if a != axis else add(index, one))
    low = call("concatenate", Tuple(tuple(begin)), axis=0)
    high = call("concatenate", Tuple(tuple(end)), axis=0)
    ones = tensor_constant([1] * len(shape), "int32")
    sliced = call(
        "dyn.strided_slice",
        total,
        _clamped(low, total),
        high,
        ones,
        begin=None,
        end=None,
        strides=None,
        slice_mode="end",
        axes=None,
    )
    updated = call("strided_set", total, add(sliced, piece), low, high, ones)
    condition = call("squeeze", call("less", i, count), axis=None)
    body = If(condition, Call(loop, (updated, add(i, one))), Tuple((total, i)))
    return Let(loop, Function((total, i), body), loop)
