"""Forms with lengths of operators whose results have a `?`: a shape that follows from values becomes one of lengths.

::

    argwhere(%c)                   ⇒   length.cut(length.set(%0.0, %0.1, lengths=[n], places=[0]), shape=[n, 2])
    dyn.full(%v, %s)               ⇒   full(length.set(%v, %s, lengths=[n], places=[0]), shape=[n])

An element of a shape that is known as a formula of earlier lengths needs no new one: `dyn.full(%v, shape_of(%x))` has the extents of `%x`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...infer.infer import infer_expr
from ...ir import Call, Constant, Expr, Op, TensorType, Tuple, TupleGetItem, TupleType
from ...ops.base import RelationError, call, op
from ...ops.dyn.base import Dynamic
from ...ops.shape.slice import MAX
from ...ops.shape.slice import Range as Slice
from ...ops.shapes import normalize_axis
from ...passes.core.constants import has_data, scalar_constant, tensor_constant, to_array
from ...symbolic_int import SymbolicInt, Undecided, bound
from .lengths import Lengths
from .ranges import Range, exactly
from .scaling import scaled
from .sparse import filled_rows
from .views import broadcast, expanded, reshaped, squeezed


class Forms(Lengths):
    """Makes the forms of calls of typed arguments."""

    def of(self, e: Call) -> Expr | None:
        """The typed form of a call, of the operator's meaning; None for an operator without one. Raises Unbounded."""
        assert isinstance(e.op, Op)
        make = _FORMS.get(e.op.name) or (_dynamic if issubclass(e.op.operator, Dynamic) else None)
        if make is None:
            return None
        for self.least in (0, 1) if make is _dynamic else (0,):  # some attributes have to be positive
            state = self.fresh.state()
            try:
                form = make(self, e)
                return None if form is None else infer_expr(form)
            except (IrError, RelationError, Undecided, TypeError, ValueError, ArithmeticError):
                self.fresh.restore(state)
        return None


def _positions(forms: Forms, e: Call) -> Expr:
    counted = infer_expr(call("length.positions", e.args[0], span=e.span))
    rows, number = TupleGetItem(counted, 0), infer_expr(TupleGetItem(counted, 1))
    possible = forms.ranges.whole(number)
    data, (count,) = forms.set_from(rows, number, [possible], e, "the number of rows")
    rank = len(e.args[0].checked_type.shape)  # type: ignore[union-attr]  # the argument is a tensor
    return call("length.cut", data, shape=[count, rank], span=e.span)


def _dynamic(forms: Forms, e: Call) -> Expr | None:
    """The static operator, whose attributes are lengths."""
    attrs = e.attrs
    names = attrs.names_of_arguments(len(e.args))
    rest = [a for n, a in enumerate(e.args) if n not in attrs.moving]
    dtype = getattr(attrs, "dtype", "") or "float32"
    data: Expr = rest[0] if rest else scalar_constant(attrs.name == "dyn.ones", dtype)
    values: list[np.ndarray] = []
    for n in attrs.moving:
        argument = e.args[n]
        if names[n] == "roi" and attrs.coordinate_transformation_mode != "tf_crop_and_resize":
            values.append(np.zeros(4, "float32"))  # nothing reads the region
            continue
        if isinstance(argument, Constant) and has_data(argument):
            values.append(to_array(argument))
            continue
        possible = forms.ranges.elements(e.args[n])
        if possible is None:
            return None
        data, numbers = forms.set_from(data, e.args[n], possible, e, names[n])
        values.append(_as_array(numbers, e.args[n]))
    if not rest:
        return call("full", data, shape=list(values[0]), dtype=dtype, span=e.span)
    static = attrs.freeze(*values)
    return Call(op(static.name), (data, *rest[1:]), static, (), e.span)


def _as_array(numbers: Sequence[int], like: Expr) -> np.ndarray:
    """Numbers and lengths in the shape of a tensor."""
    elements = np.empty(len(numbers), object)
    elements[:] = numbers
    t = like.checked_type
    assert isinstance(t, TensorType)
    return elements.reshape(t.extents)


def _topk(forms: Forms, e: Call) -> Expr | None:
    """All elements in order, and the first ones of them."""
    data, k = e.args
    t, attrs = data.checked_type, e.attrs
    if not isinstance(t, TensorType):
        return None
    axis = normalize_axis(attrs.axis, len(t.shape))
    extent = t.shape[axis]
    if not isinstance(extent, int):
        return None
    asked_for = _flat(call("cast", k, dtype="int64"))
    size = call("take", call("shape_of", data, dtype="int64"), tensor_constant([axis], "int64"), axis=0)
    too_many = tensor_constant([-1], "int64")  # beyond the bounds: an error, as in the interpreter
    some = call("where", call("greater", asked_for, size), too_many, asked_for)
    count = infer_expr(call("where", call("less", asked_for, tensor_constant([1], "int64")), size, some))
    (asked,) = forms.ranges.elements(k) or (None,)
    possible = Range(0, extent)
    if asked is not None and asked.least is not None and asked.least >= 1:
        possible = Range(0, asked.high if asked.most is not None and asked.most < bound(extent) else extent)
        if asked.exact is not None and _is_at_most(asked.exact, extent):
            possible = asked
    ordered, (first,) = forms.set_from(data, count, [possible], e, "the number of elements")
    whole = infer_expr(
        call(
            "topk",
            ordered,
            k=-1,
            axis=attrs.axis,
            ret_type=attrs.ret_type,
            is_ascend=attrs.is_ascend,
            dtype=attrs.dtype,
        )
    )
    shape = [*t.shape[:axis], first, *t.shape[axis + 1 :]]
    if not isinstance(whole.checked_type, TupleType):
        return call("length.cut", whole, shape=shape, span=e.span)
    fields = [call("length.cut", TupleGetItem(whole, n), shape=shape, span=e.span) for n in range(2)]
    return Tuple(tuple(fields), e.span)


def _is_at_most(a: int, b: int) -> bool:
    try:
        return a <= b
    except Undecided:
        return False


def _flat(e: Expr) -> Expr:
    return call("reshape", e, newshape=[-1])


def _slice(forms: Forms, e: Call) -> Expr | None:
    """Begins and counts within the extents, computed from the vectors; the counts become lengths where nothing decides them before."""
    data, *vectors = e.args
    t, attrs = data.checked_type, e.attrs
    ranges = [forms.ranges.elements(v) for v in vectors]
    if not isinstance(t, TensorType) or not t.is_static or None in ranges:
        return None
    begins, ends, strides = ([*r] for r in ranges if r is not None)
    count = max(map(len, (begins, ends, strides)))
    by_size = attrs.slice_mode == "size"
    begin, end, stride = (
        _filled(call("cast", v, dtype="int64"), len(r), count, missing)
        for v, r, missing in zip(vectors, (begins, ends, strides), (0, -1 if by_size else MAX, 1), strict=True)
    )
    if any(len(r) < count for r in (begins, strides)) and not all(r.exact == 1 for r in strides):
        return None  # the first index depends on the sign of a stride that is not known
    if by_size:
        negative = call("less", end, tensor_constant([0] * count, "int64"))
        end = call("where", negative, tensor_constant([MAX] * count, "int64"), call("add", begin, end))
        stride = tensor_constant([1] * count, "int64")
        strides = [exactly(1)] * count
    whole = call("shape_of", data, dtype="int64")
    size = call("strided_slice", whole, begin=[0], end=[count], strides=[1], axes=None)
    zero, one = (tensor_constant([n] * count, "int64") for n in (0, 1))
    forward = call("greater", stride, zero)
    low = call("where", forward, zero, tensor_constant([-1] * count, "int64"))
    high = call("where", forward, size, call("subtract", size, one))
    first, last = (_clipped(v, size, low, high, zero) for v in (begin, end))
    distance = call("where", forward, call("subtract", last, first), call("subtract", first, last))
    step = call("abs", stride)
    steps = call("floor_divide", call("add", distance, call("subtract", step, one)), step)
    counts = infer_expr(call("maximum", steps, zero))
    begins += [exactly(0)] * (count - len(begins))
    ends += [exactly(-1 if by_size else MAX)] * (count - len(ends))
    strides += [exactly(1)] * (count - len(strides))
    possible = [_count(*row, by_size) for row in zip(begins, ends, strides, t.shape, strict=False)]
    cut, numbers = forms.set_from(data, counts, possible, e, "the count")
    shape = [*numbers, *t.shape[count:]]
    if all(b.exact == 0 and s.exact == 1 for b, s in zip(begins, strides, strict=True)):
        return call("length.cut", cut, shape=shape, span=e.span)
    return call("length.slice", cut, first, stride, shape=shape, span=e.span)


def _filled(v: Expr, have: int, count: int, missing: int) -> Expr:
    if have == count:
        return v
    return call("concatenate", Tuple((v, tensor_constant([missing] * (count - have), "int64"))), axis=0)


def _clipped(v: Expr, size: Expr, low: Expr, high: Expr, zero: Expr) -> Expr:
    from_end = call("where", call("less", v, zero), call("add", v, size), v)
    return call("minimum", call("maximum", from_end, low), high)


def _count(begin: Range, end: Range, stride: Range, extent: Any, by_size: bool) -> Range:
    """The range of the number of elements of a slice."""
    by = stride.exact
    if begin.exact is not None and end.exact is not None and by is not None:
        last = end.exact if not by_size else (MAX if end.exact < 0 else begin.exact + end.exact)
        try:
            return exactly(Slice(0, begin.exact, last, by).within(extent)[1])
        except (Undecided, RelationError):
            pass
    most = extent if by is None or isinstance(by, SymbolicInt) or by == 0 else -(-extent // abs(by))
    if by == 1 and begin.least is not None and begin.least >= 0 and end.least is not None and end.least >= 0:
        # From the front: as many as the end says at most.
        limit = end.high if by_size or begin.exact is None else (None if end.high is None else end.high - begin.exact)
        if limit is not None and bound(limit) < bound(most):
            most = limit
    return Range(0, most)


def _arange(forms: Forms, e: Call) -> Expr | None:
    """Steps from the start on, as many as the distance has."""
    start, stop, step = e.args
    t = e.checked_type
    if not isinstance(t, TensorType):
        return None
    dtype = t.dtype
    if dtype.startswith("float"):
        number = [call("cast", x, dtype="float64") for x in (start, stop, step)]
        is_whole = call("greater_equal", call("abs", number[2]), scalar_constant(1, "float64"))
        first, last, by = (call("where", is_whole, call("trunc", x), x) for x in number)
        steps = call("cast", call("ceil", call("divide", call("subtract", last, first), by)), dtype="int64")
        possible = Range(0, None)
    else:
        first, last, by = (call("cast", x, dtype="int64") for x in (start, stop, step))
        distance = call("subtract", last, first)
        steps = call("negative", call("floor_divide", call("negative", distance), by))
        possible = _steps(*(forms.ranges.whole(x) for x in (start, stop, step)))
    count = infer_expr(call("maximum", steps, scalar_constant(0, "int64")))
    begin, (length,) = forms.set_from(start, count, [possible], e, "the number of steps")
    return call("length.steps", begin, step, shape=[length], dtype=dtype, span=e.span)


def _steps(start: Range, stop: Range, step: Range) -> Range:
    by = step.exact
    if by is None or isinstance(by, SymbolicInt) or by <= 0 or start.low is None or stop.high is None:
        return Range(0, None)
    if start.exact is not None and stop.exact is not None:
        distance = stop.exact - start.exact
        try:
            return exactly(-(-distance // by) if distance >= 0 else 0)
        except Undecided:
            pass
    return Range(0, -(-(stop.high - start.low) // by))


_FORMS: Mapping[str, Callable[[Forms, Call], Expr | None]] = {
    "argwhere": _positions,
    "arange": _arange,
    "dyn.broadcast_to": broadcast,
    "dyn.expand_dims": expanded,
    "dyn.reshape": reshaped,
    "dyn.squeeze": squeezed,
    "dyn.strided_slice": _slice,
    "dyn.topk": _topk,
    "dyn.nn.upsampling": scaled,
    "dyn.nn.upsampling3d": scaled,
    "sparse_fill_empty_rows": filled_rows,
}
