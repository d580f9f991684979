"""Forms of operators whose values say under which shape the elements of a tensor are seen, or how often they are repeated.

::

    dyn.reshape(%x, %s)        ⇒   reshape(length.cut(length.set(%flat, %extents, lengths=[a, b], places=[0, 1]), shape=[a*b]), newshape=[a, b])
    dyn.expand_dims, squeeze   ⇒   the same, with extents that follow from the axes
    dyn.broadcast_to(%x, %s)   ⇒   broadcast_to(%x, shape=[a, 3]), where %x is Tensor[(3)]

A run compares the number of elements, and extents that have to be those of the data; see `length.equal`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from ...ir import Call, Expr, TensorType, Tuple
from ...ir.dims import is_number
from ...ops.base import call
from ...passes.core.constants import scalar_constant, tensor_constant
from ...symbolic_int import bound
from ..values import dims
from .lengths import Lengths
from .ranges import Range, exactly

_MOST_ELEMENTS = 1 << 22
"""The most elements that a result has at bounds which follow from the number of elements alone; `--dim` gives others."""


def reshaped(forms: Lengths, e: Call) -> Expr | None:
    """`dyn.reshape`: a run resolves the codes among the extents as `reshape` does."""
    data, newshape = e.args
    t, codes = data.checked_type, forms.ranges.elements(newshape)
    if not isinstance(t, TensorType) or not t.is_static or codes is None:
        return None
    wide = call("cast", newshape, dtype="int64")
    extents = call("length.extents", wide, _shape(data), allowzero=e.attrs.allowzero)
    possible, presumed = _of_codes(t, codes, e.attrs.allowzero)
    return _viewed(forms, data, extents, possible, e, presumed)


def _of_codes(t: TensorType, codes: Sequence[Range], allowzero: bool) -> tuple[list[Range], list[int]]:
    """The ranges of extents, from those of codes, and the places of extents that a run has to compare.

    Codes below -1 take no axis of their own, or several. One of them alone, among as many codes as there are extents, leaves the others
    at their places; with more, an extent that is a number is presumed to be at the place of its code.
    """
    special = [k for k, r in enumerate(codes) if r.least is None or r.least < -1]
    first = special[0] if special else len(codes)
    shape = dims(t)
    extents: list[int | None] = [r.exact if (r.least or 0) >= 1 else None for r in codes]
    for k, r in enumerate(codes):
        if allowzero and r.exact is not None and (r.least or 0) >= 0:
            extents[k] = r.exact
        elif not allowzero and k < min(first, len(shape)) and r.exact is not None and r.exact in (0, shape[k]):
            extents[k] = shape[k]  # of no elements too: the code 0 copies the extent
    presumed = [k for k, d in enumerate(extents) if k > first and d is not None] if len(special) > 1 else []
    left, others = _without(shape, [d for d in extents if d is not None])
    is_single = extents.count(None) == 1
    if is_single and is_number(left) and is_number(others) and others and left % others == 0:
        return [exactly(left // others if d is None else d) for d in extents], presumed
    elements = bound(left) if is_single else bound(prod(shape))
    copied = [shape[k : k + 1] if k <= first else shape for k in range(len(codes))]
    most = [_most(codes[k], copied[k], elements) for k, d in enumerate(extents) if d is None]
    fits = prod(most) * bound(prod(d for d in extents if d is not None)) <= _MOST_ELEMENTS
    ends = iter(most if fits and all(most) else [None] * len(most))  # of no elements, any extent may stand beside a 0
    return [Range(0, next(ends)) if d is None else exactly(d) for d in extents], presumed


def _without(shape: Sequence[int], known: Sequence[int]) -> tuple[int, int]:
    """The product of the extents of a shape that are not among the known ones, and that of the known ones that are not in the shape."""
    left, others = list(shape), list[int]()
    for d in known:
        if d in left:
            left.remove(d)
        else:
            others.append(d)
    return prod(left), prod(others)


def _most(code: Range, copied: Sequence[int], elements: int) -> int:
    """The largest extent for a code that is not known, of at most so many elements, and those that a 0 may copy."""
    if code.least is None or code.least < 0 or code.most is None:
        return elements
    return min(elements, max(code.most, *map(bound, copied), 0))


def expanded(forms: Lengths, e: Call) -> Expr | None:
    """`dyn.expand_dims`: axes of extent 1 where the axis says; any other axis is an error of the run."""
    data, axis = e.args
    t = data.checked_type
    if not isinstance(t, TensorType) or not t.is_static:
        return None
    rank, more = len(t.shape), e.attrs.num_newaxis
    place = call("cast", axis, dtype="int64")
    place = call("where", call("less", place, _number(0)), call("add", place, _number(rank + 1)), place)
    number = _vector(range(rank + more))
    behind = call("where", call("less", number, call("add", place, _number(more))), _number(rank), _less(number, more))
    source = call("where", call("less", number, place), number, behind)
    extents = call("take", call("concatenate", Tuple((_shape(data), _vector([1]))), axis=0), source, axis=0)
    is_axis = call("logical_and", call("greater_equal", place, _number(0)), call("less_equal", place, _number(rank)))
    return _viewed(forms, data, call("where", is_axis, extents, _number(-1)), _any_of(t, rank + more), e)


def squeezed(forms: Lengths, e: Call) -> Expr | None:
    """`dyn.squeeze`: without axes of extent 1; a run compares the number of elements."""
    data, axes = e.args
    t, possible = data.checked_type, forms.ranges.elements(axes)
    if not isinstance(t, TensorType) or not t.is_static or possible is None:
        return None
    rank = len(t.shape)
    place = call("cast", axes, dtype="int64")
    place = call("where", call("less", place, _number(0)), call("add", place, _number(rank)), place)
    number = _vector(range(rank))
    same = call("equal", call("expand_dims", number, axis=1), call("expand_dims", place, axis=0))
    key = call("add", call("multiply", call("cast", call("any", same, axis=[1]), dtype="int64"), _number(rank)), number)
    order = call("argsort", key, axis=0, is_ascend=True, dtype="int64")
    source = call("strided_slice", order, begin=[0], end=[rank - len(possible)], strides=[1], axes=[0])
    return _viewed(forms, data, call("take", _shape(data), source, axis=0), _any_of(t, rank - len(possible)), e)


def broadcast(forms: Lengths, e: Call) -> Expr | None:
    """`dyn.broadcast_to`: an extent of the data that is a number above 1 is one of the result."""
    data, shape = e.args
    t, possible = data.checked_type, forms.ranges.elements(shape)
    if not isinstance(t, TensorType) or not t.is_static or possible is None or len(possible) < len(t.shape):
        return None
    first = len(possible) - len(t.shape)
    fixed = {
        first + k: d for k, d in enumerate(dims(t)) if is_number(d) and d != 1 and possible[first + k].exact is None
    }
    wide = call("cast", shape, dtype="int64")
    if fixed:
        asked = call("take", wide, _vector(fixed), axis=0)
        is_same = call("all", call("equal", asked, _vector(fixed.values())), axis=[0])
        data = call("length.equal", data, is_same, shape=[*dims(t)])
    extents = [exactly(fixed[k]) if k in fixed else r for k, r in enumerate(possible)]
    data, numbers = forms.set_from(data, wide, extents, e, "shape")
    return call("broadcast_to", data, shape=numbers, span=e.span)


def _viewed(
    forms: Lengths, data: Expr, extents: Expr, possible: Sequence[Range], e: Call, presumed: Sequence[int] = ()
) -> Expr:
    """The data under a shape, as many elements. A run compares their number, and the extents at the presumed places."""
    t = data.checked_type
    assert isinstance(t, TensorType)
    size = prod(dims(t))
    is_whole = call("equal", call("prod", extents, axis=[0]), _size(data))
    if presumed:
        own = call("take", extents, _vector(presumed), axis=0)
        matches = call("length.matches", own, shape=[possible[k].low for k in presumed])
        is_whole = call("logical_and", is_whole, matches)
    whole = call("reshape", data, newshape=[size], allowzero=True)
    flat: Expr = call("length.equal", whole, is_whole, shape=[size])
    flat, numbers = forms.set_from(flat, extents, possible, e, "the extent")
    return call(
        "reshape", call("length.cut", flat, shape=[prod(numbers)]), newshape=numbers, allowzero=True, span=e.span
    )


def _any_of(t: TensorType, count: int) -> list[Range]:
    """The range of extents each of which is one of the tensor's, or 1."""
    most = max(map(bound, dims(t)), default=1)
    return [Range(0, max(most, 1))] * count


def _shape(x: Expr) -> Expr:
    """The extents as a vector, of a scalar too."""
    t = x.checked_type
    return _vector([]) if isinstance(t, TensorType) and not t.shape else call("shape_of", x, dtype="int64")


def _size(x: Expr) -> Expr:
    return call("ndarray_size", x, dtype="int64")


def _less(x: Expr, by: int) -> Expr:
    return call("subtract", x, _number(by))


def _vector(numbers: Iterable[int]) -> Expr:
    return tensor_constant([*numbers], "int64")


def _number(value: int) -> Expr:
    return scalar_constant(value, "int64")
