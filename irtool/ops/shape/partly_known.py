"""Deductions from partly known shapes for operators that move, join, cut and reshape tensors (see `ops.partial`).

Each takes the known parts of arguments and result, and returns them with the parts that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.dims import Dim, plain
from ..base import RelationError
from ..partial import Facts, Shape, fill_one, meet, meet_dims, product_of
from ..relations import reduce_axes
from ..shapes import normalize_axis


def same_axes(data: Shape, out: Shape, axes: Sequence[int]) -> Facts:
    """Data and result have one rank, and these axes in common."""
    rank = len(data if data is not None else out or ())
    left = list(data or (None,) * rank)
    right = list(out or (None,) * rank)
    if len(left) != len(right):
        raise RelationError(f"the ranks {len(left)} and {len(right)} differ")
    for i in axes:
        left[i] = right[i] = meet_dims(left[i], right[i], f"axis {i}")
    return [tuple(left)], tuple(right)


def joined_known(args: Sequence[Any], out: Shape, axis: int) -> Facts:
    """Tensors one behind the other along `axis`: their other axes are those of the result, and extents add up."""
    fields = args[0]
    known = next((s for s in (out, *(fields if isinstance(fields, list) else ())) if s is not None), None)
    if known is None or not isinstance(fields, list) or not fields:
        return list(args), out
    positive_axis, rank = normalize_axis(axis, len(known)), len(known)
    around = meet(*[None if s is None else _without(s, positive_axis) for s in (*fields, out)]) or (None,) * (rank - 1)
    extents = [None if s is None else s[positive_axis] for s in fields]
    whole = None if out is None else out[positive_axis]
    total = _total(extents)
    if total is not None:
        whole = meet_dims(whole, total, f"axis {positive_axis} of the result")
    missing = [i for i, d in enumerate(extents) if d is None]
    rest = _total([d for d in extents if d is not None])
    if len(missing) == 1 and isinstance(whole, int) and rest is not None:
        if rest > whole:
            raise RelationError(f"axis {positive_axis} of the result is {whole}, and the others have {rest} already")
        extents[missing[0]] = whole - rest
    return [[_with(around, positive_axis, d) for d in extents]], _with(around, positive_axis, whole)


def stacked_known(args: Sequence[Any], out: Shape, axis: int) -> Facts:
    """Tensors of one shape along a new axis."""
    fields = args[0]
    if not isinstance(fields, list) or not fields:
        return list(args), out
    one = meet(*fields)
    if one is None and out is None:
        return list(args), out
    positive_axis = normalize_axis(axis, len(one) + 1 if one is not None else len(out or ()))
    if out is not None:
        one = meet(one, _without(out, positive_axis))
    assert one is not None
    return [[one] * len(fields)], meet(out, _with(one, positive_axis, len(fields)))


def split_known(args: Sequence[Any], out: Any, sections: int | Sequence[int], axis: int) -> Facts:
    """A tensor cut along `axis`, into equal parts or at indices: the parts have its other axes."""
    count = sections if isinstance(sections, int) else len(sections) + 1
    fields = out if isinstance(out, list) else [None] * max(count, 0)
    data = args[0]
    known = next((s for s in (data, *fields) if s is not None), None)
    if len(fields) != count or known is None:
        return list(args), fields if count > 0 else out
    positive_axis = normalize_axis(axis, len(known))
    around = meet(*[None if s is None else _without(s, positive_axis) for s in (data, *fields)]) or (None,) * (
        len(known) - 1
    )
    extents = [None if s is None else s[positive_axis] for s in fields]
    if isinstance(sections, int):
        part: Dim | None = None
        for d in extents:
            part = meet_dims(part, d, f"axis {positive_axis} of a part")
        extents = [part] * count
    whole = None if data is None else data[positive_axis]
    total = _total(extents)
    if total is not None and isinstance(sections, int):
        whole = meet_dims(whole, total, f"axis {positive_axis}")
    return [_with(around, positive_axis, whole)], [_with(around, positive_axis, d) for d in extents]


def _total(extents: Sequence[Dim | None]) -> int | None:
    return sum(plain(d) for d in extents if isinstance(d, int)) if all(isinstance(d, int) for d in extents) else None


def _without(shape: Sequence[Dim | None], axis: int) -> tuple[Dim | None, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _with(around: Sequence[Dim | None], axis: int, extent: Dim | None) -> tuple[Dim | None, ...]:
    return (*around[:axis], extent, *around[axis:])


def reshaped_known(data: Shape, out: Shape, newshape: Sequence[int], copies: bool) -> Facts:
    """A reshape to numbers, to -1 (the remaining extent) and, if `copies`, to 0 (the axis of the input at that place).

    Both hold as many elements: the one axis that is unknown, of data or of result, has what the others leave.
    """
    required: list[Dim | None] = [None if d == -1 or (d == 0 and copies) else d for d in newshape]
    result = list(meet(out, tuple(required)) or ())
    source = None if data is None else list(data)
    for i, d in enumerate(newshape):
        if d == 0 and copies and source is not None and i < len(source):
            result[i] = source[i] = meet_dims(result[i], source[i], f"axis {i}")
    if source is not None:
        result = list(fill_one(result, product_of(source)))
        source = list(fill_one(source, product_of(result)))
    return [None if source is None else tuple(source)], tuple(result)


def expanded_known(data: Shape, out: Shape, axis: int, count: int) -> Facts:
    """`count` new axes of extent 1 in front of `axis`."""
    rank = len(data) if data is not None else len(out) - count if out is not None else None
    if rank is None:
        return [data], out
    if rank < 0 or count < 0:
        raise RelationError(f"the result has rank {rank + count}, and {count} axes are new")
    positive_axis = normalize_axis(axis, rank + 1)
    if out is not None:
        data = meet(data, (*out[:positive_axis], *out[positive_axis + count :]))
    assert data is not None
    return [data], meet(out, (*data[:positive_axis], *(1,) * count, *data[positive_axis:]))


def squeezed_known(data: Shape, out: Shape, axis: Sequence[int] | None) -> Facts:
    """Axes of extent 1 left out; nothing is certain where it is not said which."""
    if axis is None:
        return [data], out
    rank = len(data) if data is not None else len(out) + len(axis) if out is not None else None
    if rank is None:
        return [data], out
    removed = sorted({normalize_axis(a, rank) for a in axis})
    remaining = [i for i in range(rank) if i not in removed]
    if data is not None:
        out = meet(out, tuple(data[i] for i in remaining))
    assert out is not None
    if len(out) != len(remaining):
        return [data], out
    numbers = dict(zip(remaining, out, strict=True))
    return [meet(data, tuple(numbers.get(i, 1) for i in range(rank)))], out


def flattened_known(data: Shape, out: Shape) -> Facts:
    """The first axis and the product of all others."""
    if data is None:
        return [data], meet(out, (None, None))
    result = meet(out, (data[0], product_of(data[1:])) if data else None)
    source = None if result is None else (result[0], *fill_one(data[1:], _number(result[1])))
    return [meet(data, source)], result


def _number(d: Dim | None) -> int | None:
    return plain(d) if isinstance(d, int) else None


def reduced_known(args: Sequence[Any], out: Shape, axis: Sequence[int] | None, exclude: bool, keepdims: bool) -> Facts:
    """A reduction: the axes that stay are those of the input, and the others are 1 or gone."""
    data = args[0]
    if data is None and out is not None and keepdims:
        data = (None,) * len(out)
    if data is None and out is not None and axis and not exclude:
        data = (None,) * (len(out) + len(set(axis)))
    if data is None:
        return list(args), () if not axis and not keepdims and not exclude else out
    removed = set(reduce_axes(len(data), axis, exclude))
    remaining = [i for i in range(len(data)) if i not in removed]
    ones: tuple[Dim | None, ...] = tuple(1 if i in removed else d for i, d in enumerate(data))
    out_shape = meet(out, ones if keepdims else tuple(data[i] for i in remaining))
    assert out_shape is not None
    numbers = dict(zip(range(len(data)) if keepdims else remaining, out_shape, strict=True))
    back = tuple(d if i in removed else meet_dims(d, numbers[i]) for i, d in enumerate(data))
    return [back, *args[1:]], out_shape
