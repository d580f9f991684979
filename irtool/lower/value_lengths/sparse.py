"""The form of `sparse_fill_empty_rows`: rows that no index names are positions, which follow the indices and are sorted among them."""

from __future__ import annotations

from ...infer.infer import infer_expr
from ...ir import Call, Expr, TensorType, Tuple, TupleGetItem
from ...ops.base import call
from ...passes.core.constants import scalar_constant, tensor_constant
from .lengths import Lengths
from .ranges import UNKNOWN, Range


def filled_rows(forms: Lengths, e: Call) -> Expr | None:
    """Indices, values, and the empty rows. An index of another row ends a run with the error of a value beyond its bounds."""
    indices, values, extents, default = e.args
    t = indices.checked_type
    if not isinstance(t, TensorType) or not t.is_static:
        return None
    wide = call("cast", indices, dtype="int64")
    row = call("take", wide, scalar_constant(0, "int64"), axis=1)
    start, (rows,) = forms.set_from(
        scalar_constant(0, "int64"), _rows(row, extents), [_possible(forms, extents)], e, "the number of rows"
    )
    number = call("length.steps", start, scalar_constant(1, "int64"), shape=[rows], dtype="int64")
    named = call("equal", call("expand_dims", number, axis=1), call("expand_dims", row, axis=0))
    empty = infer_expr(call("logical_not", call("any", named, axis=[1])))
    counted = infer_expr(call("length.positions", empty))
    some = infer_expr(TupleGetItem(counted, 1))
    places, (count,) = forms.set_from(
        TupleGetItem(counted, 0), some, [forms.ranges.whole(some)], e, "the number of empty rows"
    )
    place = call("cast", call("length.cut", places, shape=[count, 1]), dtype="int64")
    widths = [[0, 0], [0, t.extents[1] - 1]] if t.extents is not None else []
    filled = call("nn.pad", place, scalar_constant(0, "int64"), pad_width=widths)
    every = call("concatenate", Tuple((wide, filled)), axis=0)
    first = call("take", call("reshape", default, newshape=[-1]), scalar_constant(0, "int64"), axis=0)
    same = call("full_like", call("squeeze", place, axis=[1]), call("cast", first, dtype="int64"))
    numbers = call("concatenate", Tuple((call("cast", values, dtype="int64"), same)), axis=0)
    key = call("take", every, scalar_constant(0, "int64"), axis=1)
    order = call("argsort", key, axis=0, is_ascend=True, dtype="int64")
    sorted_fields = [call("take", x, order, axis=0) for x in (every, numbers)]
    return Tuple((*sorted_fields, call("cast", empty, dtype="int64")), e.span)


def _rows(row: Expr, extents: Expr) -> Expr:
    """The number of rows, a vector of one; -1 if an index names another row."""
    rows = call("take", call("cast", extents, dtype="int64"), tensor_constant([0], "int64"), axis=0)
    is_row = call("logical_and", call("greater_equal", row, scalar_constant(0, "int64")), call("less", row, rows))
    return infer_expr(call("where", call("all", is_row, axis=[0]), rows, tensor_constant([-1], "int64")))


def _possible(forms: Lengths, extents: Expr) -> Range:
    r = (forms.ranges.elements(extents) or [UNKNOWN])[0]
    return Range(0, r.high)
