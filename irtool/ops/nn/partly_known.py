"""Deductions from partly known shapes for convolutions, matrix products, biases and padding (see `ops.partial`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.dims import Dim, plain
from ..base import RelationError
from ..partial import Facts, Shape, meet, meet_dims
from ..shapes import normalize_axis


def per_channel(args: Sequence[Any], out: Shape, axis: int) -> Facts:
    """Data and result have one shape; every further argument is a vector along one axis of it."""
    data = meet(args[0], out)
    channels: Dim | None = None
    for v in (data[normalize_axis(axis, len(data))] if data is not None else None, *[v[0] for v in args[1:] if v]):
        channels = meet_dims(channels, v, "the number of channels")
    if data is not None:
        positive_axis = normalize_axis(axis, len(data))
        data = (*data[:positive_axis], channels, *data[positive_axis + 1 :])
    return [data, *[meet(v, (channels,)) for v in args[1:]]], data


def padded_known(args: Sequence[Any], out: Shape, widths: Sequence[Sequence[int]]) -> Facts:
    """Each extent of the result is that of the data plus the padding on both sides."""
    data = meet(args[0], (None,) * len(widths))
    result = meet(out, (None,) * len(widths))
    assert data is not None and result is not None
    inner, outer = list(data), list(result)
    for i, pair in enumerate(widths):
        more = sum(pair) if all(isinstance(w, int) for w in pair) else None
        d, o = inner[i], outer[i]
        if more is not None and isinstance(d, int):
            outer[i] = meet_dims(o, plain(d) + more, f"axis {i} of the result")
        elif more is not None and isinstance(o, int):
            if o < more:
                raise RelationError(f"axis {i} of the result is {o}, less than the {more} that are added")
            inner[i] = plain(o) - more
    return [tuple(inner), *args[1:]], tuple(outer)


def one_float(dtypes: Sequence[Any]) -> list[Any]:
    """The operands of a product: where one holds floats and nothing is known of the other, it holds the same.

    Of integers nothing is presumed: the product of uint8 and int8 is a common one.
    """
    a, b = dtypes[0], dtypes[1]
    known = a if isinstance(a, str) else b
    if not isinstance(known, str) or "float" not in known or (a is not None and b is not None):
        return list(dtypes)
    return [known, known, *dtypes[2:]]


def product_known(args: Sequence[Any], out: Shape, units: int | None, transpose_a: bool, transpose_b: bool) -> Facts:
    """Rows and depth of the first operand, depth and columns of the second, rows and columns of the result."""
    a, b = args[0], meet(args[1], (None, None))
    assert b is not None
    depth, columns = (b[1], b[0]) if transpose_b else b
    columns = meet_dims(columns, units, "the number of columns")
    if a is None and out is not None:
        a = (None,) * len(out)
    if a is not None:
        out = meet(out, (None,) * len(a))
        assert out is not None
        if len(a) < 1 + transpose_a:
            return list(args), out
        deep, row = (-2, -1) if transpose_a else (-1, -2)
        depth = meet_dims(depth, a[deep], "the depth")
        columns = meet_dims(columns, out[-1], "the number of columns")
        left, right = list(a), list(out)
        left[deep], right[-1] = depth, columns
        for i in range(-len(left), -1):
            place = row if i == -2 else i
            left[place] = right[i] = meet_dims(left[place], right[i], f"axis {len(left) + i} of the result")
        a, out = tuple(left), tuple(right)
    return [a, (columns, depth) if transpose_b else (depth, columns), *args[2:]], out


def batch_product_known(args: Sequence[Any], out: Shape, transpose_a: bool, transpose_b: bool) -> Facts:
    """The same for a batch of products; a batch of 1 serves all of the other's, so batches follow from the result only
    where the other is 1."""
    a, b, o = (list(meet(s, (None,) * 3) or ()) for s in (args[0], args[1], out))
    row, deep = (2, 1) if transpose_a else (1, 2)
    inner, column = (2, 1) if transpose_b else (1, 2)
    a[deep] = b[inner] = meet_dims(a[deep], b[inner], "the depth")
    a[row] = o[1] = meet_dims(a[row], o[1], "the number of rows")
    b[column] = o[2] = meet_dims(b[column], o[2], "the number of columns")
    x, y = a[0], b[0]
    if isinstance(x, int) and isinstance(y, int):
        o[0] = meet_dims(o[0], max(x, y), "the batch")
    elif (isinstance(x, int) and x > 1) or (isinstance(y, int) and y > 1):
        o[0] = meet_dims(o[0], x if isinstance(x, int) and x > 1 else y, "the batch")
    elif x == 1:
        b[0] = meet_dims(y, o[0], "the batch")
    elif y == 1:
        a[0] = meet_dims(x, o[0], "the batch")
    return [tuple(a), tuple(b), *args[2:]], tuple(o)
