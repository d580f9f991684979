"""Gradients of operators that read or write elements by indices.

Indices are read as the operators read them: those that read clip an index out of range, those that write count negative ones from
the end and write nothing for one out of range. Of several updates of one element the last one stays, and has the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from ...deferred import np
from ...ir import Constant, Expr, TensorType, Tuple, TupleGetItem, TupleType
from ...ops.base import call
from ..core.arithmetic import add, divide, multiply
from ..core.constants import array_constant, has_data, scalar_constant, to_array
from ..core.reshaping import reshape_to
from .axis_map import padded
from .rule import GradientSite, gradient, ones_like, zeros_like


def _clipped(indices: Expr, extent: int, source: Expr | None) -> Expr:
    """The indices within `0 … extent - 1`, themselves where their values are known to be."""
    if isinstance(source, Constant) and has_data(source):
        known = to_array(source)
        if bool(((known >= 0) & (known < extent)).all()):
            return indices
    return call("clip", indices, a_min=0.0, a_max=float(extent - 1))


@gradient("gather")
def gather(s: GradientSite) -> list[Expr]:
    """The gradient added to where it was gathered from."""
    data, indices = s.args
    axis = s.attrs.axis % len(s.shape())
    positions = _clipped(indices, s.shape()[axis], s.sources[1] if s.sources else None)
    return [call("scatter_add", zeros_like(data), positions, s.grad, axis=axis), zeros_like(indices)]


@gradient("adv_index")
def adv_index(s: GradientSite) -> list[Expr]:
    """The gradient added to where it was taken from."""
    fields = s.types[0]
    assert isinstance(fields, TupleType) and isinstance(s.type, TensorType)
    data, *indices = (TupleGetItem(s.args[0], i) for i in range(len(fields.fields)))
    data_type = fields.fields[0]
    assert isinstance(data_type, TensorType)
    if not data_type.is_static or not s.type.is_static:
        raise s.refuse("needs static shapes")
    extents = data_type.static_shape
    common = s.type.static_shape[: len(s.type.shape) - len(extents) + len(indices)]
    rows = []
    for i, extent in zip(indices, extents, strict=False):
        inside = call("cast", call("clip", i, a_min=0.0, a_max=float(extent - 1)), dtype="int32")
        rows.append(call("expand_dims", call("broadcast_to", inside, shape=common), axis=0))
    positions = call("concatenate", Tuple(tuple(rows)), axis=0)
    of_data = call("scatter_nd", zeros_like(data), positions, s.grad, mode="add")
    return [Tuple((of_data, *map(zeros_like, indices)))]


@dataclass(frozen=True)
class _Places:
    """The destinations of the updates of a scattering call.

    Attributes:
        put: `put(data, updates, meeting)`, the call on other data and updates.
        get: `get(data)`, for each update the element of a tensor of the data's shape; any element where it names none.
        inside: for each update, whether it names an element; broadcasts to the updates.
        shape: the shape of the updates.
    """

    put: Callable[[Expr, Expr, str], Expr]
    get: Callable[[Expr], Expr]
    inside: Expr
    shape: tuple[int, ...]


def _through(s: GradientSite, data: Expr, updates: Expr, places: _Places, meeting: str) -> tuple[Expr, Expr]:
    """The gradients with respect to data and updates of one shape with their indices."""
    zeros = zeros_like(updates)

    def of_updates(grads: Expr, having: Expr | None = None) -> Expr:
        having = places.inside if having is None else call("logical_and", places.inside, having)
        return call("where", having, grads, zeros)

    if meeting == "add":
        return s.grad, of_updates(places.get(s.grad))
    if meeting == "update":
        numbers = array_constant(_row_major(places.shape), "int32")
        nobody = call("full", scalar_constant(-1, "int32"), shape=s.shape(), dtype="int32")
        last = call("equal", places.get(places.put(nobody, numbers, "update")), numbers)
        return places.put(s.grad, zeros, "update"), of_updates(places.get(s.grad), last)
    if meeting in ("min", "max"):  # shared evenly by all that are equal to the result
        stays, comes = call("equal", data, s.out), call("equal", updates, places.get(s.out))
        ones, others = (call("cast", e, dtype=s.dtype) for e in (stays, comes))
        share = divide(s.grad, call("maximum", places.put(ones, others, "add"), ones_like(data)))
        return call("where", stays, share, zeros_like(data)), of_updates(places.get(share), comes)
    if meeting != "mul":
        raise s.refuse(f'is defined for any reduction but "{meeting}"')

    # As of `prod`: the product of all others, which are divided by where they are not zero.
    def split(e: Expr) -> tuple[Expr, Expr, Expr]:
        is_zero = call("equal", e, zeros_like(e))
        return is_zero, call("cast", is_zero, dtype="int32"), call("where", is_zero, ones_like(e), e)

    (none, is_none, own), (zero, is_zero, factor) = split(data), split(updates)
    product = multiply(s.grad, places.put(own, factor, "mul"))
    zero_count = places.put(is_none, is_zero, "add")

    def of_others(is_zero: Expr, factor: Expr, product: Expr, count: Expr) -> Expr:
        own_zero = call("cast", is_zero, dtype="int32")  # an element is one of the zeros, or there are none
        return call("where", call("equal", count, own_zero), divide(product, factor), zeros_like(product))

    return of_others(none, own, product, zero_count), of_updates(
        of_others(zero, factor, places.get(product), places.get(zero_count))
    )


@gradient("scatter", "scatter_add", "scatter_elements")
def scatter(s: GradientSite) -> list[Expr]:
    """To each update the gradient of the element where it is, as far as it counts there; to the data, the rest."""
    data, indices, updates = s.args
    shape, index_shape = s.shape(), s.shape(1)
    if 0 in index_shape or 0 in shape:
        return [s.grad, zeros_like(indices), zeros_like(updates)]
    axis = s.attrs.axis % len(shape)
    positions, inside = _counted_from_the_end(indices, shape[axis])
    reached = tuple(shape[axis] if a == axis else n for a, n in enumerate(index_shape))

    def put(data: Expr, updates: Expr, meeting: str) -> Expr:
        if meeting in ("update", "add"):
            return call("scatter" if meeting == "update" else "scatter_add", data, indices, updates, axis=axis)
        return call("scatter_elements", data, indices, updates, axis=axis, reduction=meeting)

    def get(data: Expr) -> Expr:
        return call("gather", _front(data, shape, reached), positions, axis=axis)

    places = _Places(put, get, inside, index_shape)
    of_data, taken = _through(s, data, _front(updates, s.shape(2), index_shape), places, s.attrs.meeting)
    widths = [(0, n - m) for n, m in zip(s.shape(2), index_shape, strict=True)]
    return [of_data, zeros_like(indices), padded(taken, s.dtype, widths)]


def _front(e: Expr, shape: tuple[int, ...], ends: tuple[int, ...]) -> Expr:
    """The front part of a tensor of that shape, up to `ends`."""
    if ends == shape:
        return e
    begin, strides = (0,) * len(ends), (1,) * len(ends)
    return call("strided_slice", e, begin=begin, end=ends, strides=strides, slice_mode="end", axes=None)


def _row_major(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(prod(shape)).reshape(shape)


def _counted_from_the_end(indices: Expr, extent: int) -> tuple[Expr, Expr]:
    """Indices within the axis, for those that are not any one, and whether each of them names an element."""
    zero, size = (call("cast_like", scalar_constant(v, "int32"), indices) for v in (0, extent))
    positions = call("where", call("less", indices, zero), add(indices, size), indices)
    inside = call("logical_and", call("greater_equal", positions, zero), call("less", positions, size))
    return call("clip", positions, a_min=0.0, a_max=float(extent - 1)), inside


@gradient("scatter_nd")
def scatter_nd(s: GradientSite) -> list[Expr]:
    """To each slice of the updates the gradient of the place where it is, as far as it counts there; to the data, the rest."""
    data, indices, updates = s.args
    shape, (count, *inner) = s.shape(), s.shape(1)
    if 0 in (*shape, *inner):
        return [s.grad, zeros_like(indices), zeros_like(updates)]
    if not count:
        raise s.refuse("is defined for index tuples of at least one index")
    rows, insides = [], []
    for k in range(count):
        row = call("take", indices, scalar_constant(k, "int32"), axis=0)
        positions, inside = _counted_from_the_end(row, shape[k])
        rows.append(call("expand_dims", positions, axis=0))
        insides.append(inside)
    within = call("concatenate", Tuple(tuple(rows)), axis=0) if count > 1 else rows[0]
    stays = insides[0]
    for inside in insides[1:]:
        stays = call("logical_and", stays, inside)
    if len(shape) > count:
        stays = call("expand_dims", stays, axis=len(inner), num_newaxis=len(shape) - count)
    places = _Places(
        lambda data, updates, meeting: call("scatter_nd", data, indices, updates, mode=meeting),
        lambda data: call("gather_nd", data, within),
        stays,
        (*inner, *shape[count:]),
    )
    of_data, of_updates = _through(s, data, updates, places, s.attrs.mode)
    return [of_data, zeros_like(indices), of_updates]


@gradient("sparse_to_dense")
def sparse_to_dense(s: GradientSite) -> list[Expr]:
    """As of a scatter into a tensor of the default value, which has the sum over the places without a value."""
    indices, values, default = s.args
    index_shape, shape = s.shape(), s.result_shape
    count = index_shape[0] if index_shape else 1
    if prod(s.shape(1)) != count:
        raise s.refuse(f"needs a value for each of the {count} places")
    if 0 in shape or not count:
        of_default = call("cast_like", call("sum", s.grad, axis=None), default)
        return [zeros_like(indices), zeros_like(values), of_default]
    rows = call("transpose", reshape_to(indices, (count, len(shape))), axes=(1, 0))
    zero, beyond = (call("cast_like", scalar_constant(v, "int32"), rows) for v in (0, max(shape)))
    places = call("where", call("less", rows, zero), beyond, rows)  # a scatter would count it from the end
    types = (TensorType(shape, s.result_dtype), TensorType((len(shape), count), "int64"))
    args = (call("full", default, shape=shape, dtype=s.result_dtype), places, reshape_to(values, (count,)))
    out = call("scatter_nd", *args, mode="update")
    value_type = TensorType((count,), s.result_dtype)
    site = replace(s, args=args, types=(*types, value_type), attrs=out.attrs, out=out, sources=())
    of_data, _, of_values = scatter_nd(site)
    of_default = call("cast_like", call("sum", of_data, axis=None), default)
    return [zeros_like(indices), call("reshape_like", of_values, values), of_default]


@gradient("matrix_set_diag")
def matrix_set_diag(s: GradientSite) -> list[Expr]:
    """0 on the diagonals; of those, the gradient of the elements that they became."""
    diagonal = s.args[1]
    shape, lines = s.shape(), s.shape(1)
    of_data = s.again(s.grad, zeros_like(diagonal))
    if 0 in (*shape, *lines):
        return [of_data, zeros_like(diagonal)]
    rank = len(shape)
    own = lines[rank - 2 :]
    numbers = np.arange(prod(own)).reshape(own)
    sources = s.attrs.evaluate(np.full(shape[rank - 2 :], -1), numbers).reshape(-1)
    positions = np.flatnonzero(sources >= 0)
    places = array_constant(sources[positions][None], "int32")
    lead = shape[: rank - 2]
    rows = call("reshape", s.grad, newshape=(prod(lead), prod(shape[rank - 2 :])))
    taken = call("transpose", call("take", rows, array_constant(positions, "int32"), axis=1), axes=(1, 0))
    zeros = call("zeros", shape=(prod(own), prod(lead)), dtype=s.dtype)
    total = call("transpose", call("scatter_nd", zeros, places, taken, mode="add"), axes=(1, 0))
    return [of_data, call("reshape_like", total, diagonal)]
