"""Ranges of integers: lower and upper limits of the elements of tensors.

The elements of small vectors, such as shapes, have a range each; those of other tensors have one in common. An element that is known as
a formula of lengths has a range of it alone. Ranges are supersets: an operator without a rule has elements of its dtype. Those of floats
have whole ends, and leave out NaN: an extent that follows from one is beyond its bounds, which a run compares.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...deferred import np
from ...ir import Call, Constant, Expr, If, Let, MissingData, Op, TensorType, Tuple, TupleGetItem, TupleType, post_order
from ...ir.dims import is_number
from ...ops.base import is_call_to
from ...ops.reduce import reduce_axes
from ...symbolic_int import SymbolicInt, Undecided, bound, interval, maximum, minimum, signs, smaller

_MOST = 64
"""Elements of a tensor that have a range each."""

_EXACT = 1 << 24
"""Whole numbers below are exact in float32."""

_WIDTHS = {"bool": (0, 1), "uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}
"""The numbers of dtypes that are narrow enough to bound an extent."""


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`; None for an end that is not known. No number for numpy, which would take a formula's bound for it."""

    low: int | None
    high: int | None

    @property
    def exact(self) -> int | None:
        """The number, if there is one alone."""
        return self.low if self.low is not None and (self.low is self.high or self.low == self.high) else None

    @property
    def least(self) -> int | None:
        """A number that none is below."""
        return None if self.low is None else _floor(self.low)

    @property
    def most(self) -> int | None:
        """A number that none is above."""
        return None if self.high is None else bound(self.high)


UNKNOWN = Range(None, None)
Ranges = Any
"""A Range of all elements, or an array of them."""


def exactly(value: int) -> Range:
    """The range of one number."""
    return Range(value, value)


class RangeAnalysis:
    """The ranges of expressions, each computed once. `known` are those of expressions that are known from elsewhere."""

    def __init__(self) -> None:
        self.known: dict[Expr, Ranges] = {}

    def of(self, root: Expr) -> Ranges:
        """The ranges of the elements of an integer tensor."""
        known = self.known
        for e in post_order(root, enter=lambda x: x not in known):
            if e not in known:
                known[e] = self._of(e)
        return known[root]

    def elements(self, root: Expr) -> list[Range] | None:
        """The range of each element of a tensor of known shape; None for another tensor, or for one of too many elements."""
        t = root.checked_type
        shape = _shape(t)
        if shape is None:
            return None
        return list(_spread(self.of(root), shape).ravel())

    def whole(self, root: Expr) -> Range:
        """The range of all elements together."""
        return _whole(self.of(root))

    def _of(self, e: Expr) -> Ranges:
        t = e.checked_type
        if isinstance(e, Tuple) or not isinstance(t, TensorType):
            return UNKNOWN
        if isinstance(e, Constant):
            return _constant(e)
        try:
            result = self._computed(e)
        except (Undecided, ValueError, TypeError, ArithmeticError):
            result = UNKNOWN
        shape = _shape(t)
        if isinstance(result, np.ndarray) and (shape is None or result.shape != shape):
            result = _whole(result) if shape is None else UNKNOWN
        if t.dtype in _WIDTHS:
            return _mapped(lambda r: _within(r, *_WIDTHS[t.dtype]), result)
        bits = 31 if t.dtype == "int32" else 24 if _is_float(t.dtype) else 63
        if bits == 24:
            return _mapped(lambda r: r if _is_small(r) else UNKNOWN, result)
        return _mapped(lambda r: r if _fits(r, bits) else _without_wide(r, bits), result)

    def _computed(self, e: Expr) -> Ranges:
        if isinstance(e, If):
            return _joined(self.known[e.true_branch], self.known[e.false_branch])
        if isinstance(e, Let):
            return self.known[e.body]
        if isinstance(e, TupleGetItem):
            return _field(e)
        if not isinstance(e, Call) or not isinstance(e.op, Op):
            return UNKNOWN
        rule = _RULES.get(e.op.name)
        if rule is not None:
            return rule(self, e)
        if e.op.name in _MOVES:
            return self._moved(e)
        return UNKNOWN

    def _moved(self, e: Call) -> Ranges:
        """The ranges of an operator that only moves elements of its first argument, by its reference."""
        data, others = e.args[0], e.args[1:]
        parts = list(data.fields) if isinstance(data, Tuple) else [data]
        ranges = [self.known[p] for p in parts]
        shapes = [_shape(p.checked_type) for p in parts]
        known = all(isinstance(o, Constant) and not isinstance(o.data, MissingData) for o in others)
        result = e.checked_type
        if not known or None in shapes or _shape(result) is None:
            return _whole(np.array([_whole(r) for r in ranges], object)) if ranges else UNKNOWN
        arrays = [_spread(r, s) for r, s in zip(ranges, shapes, strict=True) if s is not None]
        value = tuple(arrays) if isinstance(data, Tuple) else arrays[0]
        return e.attrs.evaluate(value, *(np.asarray(o.data) for o in others if isinstance(o, Constant)))


def _shape(t: Any) -> tuple[int, ...] | None:
    """The shape of a tensor of few elements."""
    if not isinstance(t, TensorType) or not all(map(is_number, t.shape)):
        return None
    shape = tuple(int(d) for d in t.shape if isinstance(d, int))
    return shape if math.prod(shape) <= _MOST else None


def _spread(r: Ranges, shape: Sequence[int]) -> np.ndarray:
    if isinstance(r, np.ndarray):
        return r
    result = np.empty(tuple(shape), object)
    result.fill(r)
    return result


def _whole(r: Ranges) -> Range:
    if isinstance(r, Range):
        return r
    parts = list(r.ravel())
    result = parts[0] if parts else Range(0, 0)
    for p in parts[1:]:
        result = _union(result, p)
    return result


def _mapped(function: Callable[[Range], Range], r: Ranges) -> Ranges:
    if isinstance(r, Range):
        return function(r)
    result = np.empty(r.shape, object)
    for place in np.ndindex(r.shape):
        result[place] = function(r[place])
    return result


def _constant(e: Constant) -> Ranges:
    if isinstance(e.data, MissingData) or np.asarray(e.data).dtype.kind not in "iubf":
        return UNKNOWN
    data = np.asarray(e.data)
    if data.dtype.kind == "f" and not (np.abs(data) < _EXACT).all():
        return UNKNOWN
    if data.size > _MOST:
        return Range(math.floor(data.min()), math.ceil(data.max()))
    result = np.empty(data.shape, object)
    for place in np.ndindex(data.shape):
        low, high = math.floor(data[place]), math.ceil(data[place])
        result[place] = exactly(low) if low == high else Range(low, high)
    return result


# -- numbers


def _floor(value: int) -> int:
    """A number not above a formula."""
    low = interval(value)[0]
    return low.numerator // low.denominator


def _lower(a: int | None, b: int | None) -> int | None:
    """A number that is not above either."""
    if a is None or b is None:
        return None
    try:
        return smaller(a, b)
    except Undecided:
        return min(_floor(a), _floor(b))


def _upper(a: int | None, b: int | None) -> int | None:
    """A number that is not below either."""
    if a is None or b is None:
        return None
    try:
        return a if smaller(a, b) is b else b
    except Undecided:
        return max(bound(a), bound(b))


def _union(a: Range, b: Range) -> Range:
    if a == b:
        return a
    return Range(_lower(a.low, b.low), _upper(a.high, b.high))


def _within(r: Range, low: int, high: int) -> Range:
    """The range, or that of the whole dtype for numbers beyond it, which wrap around."""
    if r.least is not None and r.most is not None and low <= r.least and r.most <= high:
        return r
    return Range(low, high)


def _add(a: Range, b: Range) -> Range:
    return _of_ends(lambda x, y: x + y, (a.low, b.low), (a.high, b.high))


def _subtract(a: Range, b: Range) -> Range:
    return _of_ends(lambda x, y: x - y, (a.low, b.high), (a.high, b.low))


def _of_ends(
    function: Callable[[int, int], int], low: tuple[int | None, int | None], high: tuple[int | None, int | None]
) -> Range:
    first = None if low[0] is None or low[1] is None else function(low[0], low[1])
    if low == high and low[0] is high[0] and low[1] is high[1]:
        return Range(first, first)
    return Range(first, None if high[0] is None or high[1] is None else function(high[0], high[1]))


def _multiply(a: Range, b: Range) -> Range:
    if a.exact is not None and b.exact is not None:
        return exactly(a.exact * b.exact)
    if a.least is None or b.least is None or a.least < 0 or b.least < 0:
        return UNKNOWN
    return _of_ends(lambda x, y: x * y, (a.low, b.low), (a.high, b.high))


def _divide(a: Range, b: Range) -> Range:
    """Quotients of numbers that are not negative, rounded down."""
    by = b.exact
    if by is None or isinstance(by, SymbolicInt) or by <= 0 or a.least is None or a.least < 0 or a.low is None:
        return UNKNOWN
    if a.exact is not None:
        return exactly(a.exact // by)
    return Range(a.low // by, None if a.high is None else a.high // by)


def _minimum(a: Range, b: Range) -> Range:
    if a.exact is not None and b.exact is not None:
        return exactly(minimum(a.exact, b.exact))
    highs = [h for h in (a.high, b.high) if h is not None]
    high: int | None = None
    for h in highs:  # each of them is a bound
        high = h if high is None or bound(h) < bound(high) else high
    return Range(_lower(a.low, b.low), high)


def _maximum(a: Range, b: Range) -> Range:
    if a.exact is not None and b.exact is not None:
        return exactly(maximum(a.exact, b.exact))
    lows = [x for x in (a.low, b.low) if x is not None]
    low: int | None = None
    for x in lows:
        low = x if low is None or _floor(x) > _floor(low) else low
    return Range(low, _upper(a.high, b.high))


def _absolute(r: Range) -> Range:
    if r.least is not None and r.least >= 0:
        return r
    return UNKNOWN if r.least is None or r.most is None else Range(0, max(-r.least, r.most))


# -- rules of operators

_Rule = Callable[[RangeAnalysis, Call], Ranges]


def _of_two(function: Callable[[Range, Range], Range]) -> _Rule:
    def apply(analysis: RangeAnalysis, e: Call) -> Ranges:
        a, b = (analysis.known[x] for x in e.args)
        if isinstance(a, Range) and isinstance(b, Range):
            return function(a, b)
        shapes = [_shape(x.checked_type) for x in e.args]
        if None in shapes:
            return function(_whole(a), _whole(b))
        pairs = np.broadcast(*(_spread(r, s) for r, s in zip((a, b), shapes, strict=True) if s is not None))
        result = np.empty(pairs.shape, object)
        result.ravel()[:] = [function(x, y) for x, y in pairs]
        return result

    return apply


def _same(analysis: RangeAnalysis, e: Call) -> Ranges:
    return analysis.known[e.args[0]]


def _same_of_all(analysis: RangeAnalysis, e: Call) -> Ranges:
    return analysis.whole(e.args[0])


def _cast(analysis: RangeAnalysis, e: Call) -> Ranges:
    source = e.args[0].checked_type
    t = e.checked_type
    if not isinstance(source, TensorType) or not isinstance(t, TensorType):
        return UNKNOWN
    known = _is_whole(source.dtype) or _is_float(source.dtype)
    if not known or (t.dtype in _WIDTHS and not _is_whole(source.dtype)):
        return UNKNOWN
    if _is_float(t.dtype):
        return analysis.known[e.args[0]]
    if t.dtype == "int32":
        return _mapped(lambda r: r if _fits(r, 31) else UNKNOWN, analysis.known[e.args[0]])
    return analysis.known[e.args[0]] if t.dtype == "int64" or t.dtype in _WIDTHS else UNKNOWN


def _fits(r: Range, bits: int) -> bool:
    return r.least is not None and r.most is not None and -(1 << bits) <= r.least and r.most < 1 << bits


def _without_wide(r: Range, bits: int) -> Range:
    """The range without ends that are not known: a number beyond the dtype wraps around."""
    wide = [x for x in (r.least, r.most) if x is not None and not -(1 << bits) <= x < 1 << bits]
    return UNKNOWN if wide else r


def _is_whole(dtype: str) -> bool:
    return dtype.startswith(("int", "uint", "bool"))


def _is_float(dtype: str) -> bool:
    """True for a dtype in which whole numbers below `_EXACT` are exact."""
    return dtype in ("float32", "float64")


def _is_small(r: Range) -> bool:
    """True for a range of floats without large numbers, which are rounded."""
    return all(x is None or abs(x) <= _EXACT for x in (r.least, r.most))


def _compare(test: Callable[[int, int], bool]) -> Callable[[Range, Range], Range]:
    """The outcome of a comparison with 0 of the difference, where all numbers have the same."""

    def compare(a: Range, b: Range) -> Range:
        difference = _subtract(a, b)
        if difference.exact is not None:
            outcomes = {test(s, 0) for s in signs(difference.exact)}
        else:
            low, high = difference.least, difference.most
            possible = [
                s
                for s, is_possible in ((-1, low is None or low < 0), (0, True), (1, high is None or high > 0))
                if is_possible
            ]
            if (low is not None and low > 0) or (high is not None and high < 0):
                possible.remove(0)
            outcomes = {test(s, 0) for s in possible}
        return exactly(int(outcomes.pop())) if len(outcomes) == 1 else Range(0, 1)

    return compare


def _of_whole(rule: _Rule) -> _Rule:
    """The rule for whole numbers; nothing is known of floats, of which a NaN is in no order."""

    def apply(analysis: RangeAnalysis, e: Call) -> Ranges:
        types = [a.checked_type for a in e.args]
        return UNKNOWN if any(isinstance(t, TensorType) and _is_float(t.dtype) for t in types) else rule(analysis, e)

    return apply


def _truth(analysis: RangeAnalysis, e: Call) -> Ranges:
    return Range(0, 1)


def _shape_of(analysis: RangeAnalysis, e: Call) -> Ranges:
    t = e.args[0].checked_type
    if not isinstance(t, TensorType) or not t.is_static:
        return UNKNOWN
    result = np.empty(len(t.shape), object)
    result[:] = [exactly(d) for d in t.shape if isinstance(d, int)]
    return result


def _size(analysis: RangeAnalysis, e: Call) -> Ranges:
    count = _count(e.args[0].checked_type)
    return UNKNOWN if count is None else exactly(count)


def _count(t: Any) -> int | None:
    if not isinstance(t, TensorType) or not t.is_static:
        return None
    count: int = 1
    for d in t.shape:
        if isinstance(d, int):
            count = count * d
    return count


def _sum(analysis: RangeAnalysis, e: Call) -> Ranges:
    """The sum of as many elements as an axis has."""
    t = e.args[0].checked_type
    if not isinstance(t, TensorType) or not t.is_static:
        return UNKNOWN
    terms: int = 1
    for axis in reduce_axes(len(t.shape), e.attrs.axis, e.attrs.exclude):
        extent = t.shape[axis]
        terms = terms * extent if isinstance(extent, int) else terms
    r = analysis.whole(e.args[0])
    low = None if r.low is None else r.low * terms if (r.least or 0) < 0 else 0
    return Range(low, None if r.high is None or (r.most or 0) < 0 else r.high * terms)


def _product(analysis: RangeAnalysis, e: Call) -> Ranges:
    """The product of all elements of a vector."""
    t = e.args[0].checked_type
    shape = _shape(t)
    if shape is None or len(reduce_axes(len(shape), e.attrs.axis, e.attrs.exclude)) != len(shape):
        return UNKNOWN
    result = exactly(1)
    for r in _spread(analysis.known[e.args[0]], shape).ravel():
        result = _multiply(result, r)
    return _spread(result, (1,) * len(shape) if e.attrs.keepdims else ())


def _extreme(function: Callable[[Range, Range], Range]) -> _Rule:
    def apply(analysis: RangeAnalysis, e: Call) -> Ranges:
        r = analysis.known[e.args[0]]
        shape = _shape(e.args[0].checked_type)
        if shape is None or len(reduce_axes(len(shape), e.attrs.axis, e.attrs.exclude)) != len(shape):
            return _whole(r)
        parts = list(_spread(r, shape).ravel())
        result = parts[0] if parts else UNKNOWN
        for p in parts[1:]:
            result = function(result, p)
        return _spread(result, (1,) * len(shape) if e.attrs.keepdims else ())

    return apply


def _clip(analysis: RangeAnalysis, e: Call) -> Ranges:
    low, high = e.attrs.a_min, e.attrs.a_max
    if isinstance(e.checked_type, TensorType) and _is_float(e.checked_type.dtype):
        return Range(math.floor(low), max(math.ceil(high), math.floor(low) + 1))  # not one number: there may be NaN
    low, high = int(low), int(high)
    return _mapped(lambda r: _maximum(_minimum(r, exactly(high)), exactly(low)), analysis.known[e.args[0]])


def _where(analysis: RangeAnalysis, e: Call) -> Ranges:
    """An element of either operand, or of one where the condition is known. `where(equal(x, c), c, x)` is `x`."""
    shape = _shape(e.checked_type)
    shapes = [s for s in (_shape(a.checked_type) for a in e.args) if s is not None]
    if shape is None or len(shapes) < len(e.args):
        return _joined(analysis.known[e.args[1]], analysis.known[e.args[2]])
    operands = [_spread(analysis.known[a], s) for a, s in zip(e.args, shapes, strict=True)]
    compared = _compared_with(analysis, e, shapes)
    result = np.empty(shape, object)
    rows = zip(*(np.broadcast_to(x, shape).ravel() for x in (*operands, compared)), strict=True)
    for place, (c, a, b, same) in zip(np.ndindex(shape), rows, strict=True):
        if c.exact is not None:
            result[place] = a if c.exact else b
        elif same.exact is not None and a.exact is not None and same.exact == a.exact:
            result[place] = b
        else:
            result[place] = _union(a, b)
    return result


def _compared_with(analysis: RangeAnalysis, e: Call, shapes: Sequence[tuple[int, ...]]) -> np.ndarray:
    """The number that the last operand of a `where` is compared with; unknown for another condition."""
    test, last = e.args[0], e.args[2]
    if is_call_to(test, "equal") and last in test.args and shapes[2] == shapes[0]:
        other = test.args[1 - test.args.index(last)]
        shape = _shape(other.checked_type)
        if shape in ((), shapes[0]):
            return np.asarray(np.broadcast_to(_spread(analysis.known[other], shape or ()), shapes[0]))
    return _spread(UNKNOWN, shapes[0])


def _joined(a: Ranges, b: Ranges) -> Ranges:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.shape != b.shape:
        return _union(_whole(a), _whole(b))
    result = np.empty(a.shape, object)
    result.ravel()[:] = [_union(x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True)]
    return result


def _index(analysis: RangeAnalysis, e: Call) -> Ranges:
    """Positions along an axis."""
    t = e.args[0].checked_type
    if not isinstance(t, TensorType) or not t.is_static:
        return UNKNOWN
    most: int | None = 0
    for d in t.shape:
        most = _upper(most, d - 1 if isinstance(d, int) else None)
    return Range(0, most)


def _field(e: TupleGetItem) -> Ranges:
    """A field of an operator that counts: each says how many of its places are taken, or where they are."""
    if not isinstance(e.tuple, Call) or not isinstance(e.tuple.op, Op):
        return UNKNOWN
    source = e.tuple.args[0].checked_type
    count = _count(source)
    name = e.tuple.op.name
    if name == "unique" and e.index:
        return UNKNOWN if count is None else Range(0, count)
    if name == "length.positions" and count is not None:
        return Range(0, count)
    if name == "vision.all_class_non_max_suppression":
        of_tuple = e.tuple.checked_type
        assert isinstance(of_tuple, TupleType)
        rows, t = of_tuple.fields[0], of_tuple.fields[e.index]
        counts = e.index == 2 or (e.index == 1 and isinstance(t, TensorType) and len(t.shape) == 1)
        extent = rows.shape[-2] if isinstance(rows, TensorType) else None
        return Range(0, extent) if counts and isinstance(extent, int) else UNKNOWN
    if name == "vision.non_max_suppression" and e.index == 1:
        boxes = source.shape[1] if isinstance(source, TensorType) else None
        return Range(0, boxes) if isinstance(boxes, int) else UNKNOWN
    if name == "vision.get_valid_counts" and e.index == 0:
        boxes = source.shape[1] if isinstance(source, TensorType) else None
        return Range(0, boxes) if isinstance(boxes, int) else UNKNOWN
    if name in ("topk", "dyn.topk") and e.index == 1:
        return _index(RangeAnalysis(), e.tuple)
    return UNKNOWN


_MOVES = frozenset(
    ("broadcast_to", "concatenate", "copy", "expand_dims", "gather_nd", "repeat", "reshape", "reverse")
    + ("squeeze", "stack", "strided_slice", "take", "tile", "transpose")
)

_RULES: Mapping[str, _Rule] = {
    "add": _of_two(_add),
    "subtract": _of_two(_subtract),
    "multiply": _of_two(_multiply),
    "floor_divide": _of_two(_divide),
    "trunc_divide": _of_two(_divide),
    "divide": _of_whole(_of_two(_divide)),
    "minimum": _of_two(_minimum),
    "maximum": _of_two(_maximum),
    "abs": lambda analysis, e: _mapped(_absolute, analysis.known[e.args[0]]),
    "cast": _cast,
    **dict.fromkeys(("floor", "ceil", "round", "trunc"), _same),
    "length.set": _same,
    "zeros": lambda analysis, e: exactly(0),
    "ones": lambda analysis, e: exactly(1),
    "full": _same_of_all,
    "length.cut": lambda analysis, e: analysis.whole(e.args[0]),
    "length.slice": lambda analysis, e: analysis.whole(e.args[0]),
    "dyn.strided_slice": lambda analysis, e: analysis.whole(e.args[0]),
    "shape_of": _shape_of,
    "vm.shape_of": _shape_of,
    "ndarray_size": _size,
    "sum": _sum,
    "prod": _product,
    "max": _extreme(_maximum),
    "min": _extreme(_minimum),
    "clip": _clip,
    "where": _where,
    "argwhere": _index,
    "argsort": _index,
    "argmax": _index,
    "argmin": _index,
    **dict.fromkeys(
        ("all", "any", "isfinite", "isnan"),
        _truth,
    ),
    **{
        name: _of_whole(_of_two(_compare(test)))
        for name, test in {
            "equal": operator.eq,
            "not_equal": operator.ne,
            "less": operator.lt,
            "less_equal": operator.le,
            "greater": operator.gt,
            "greater_equal": operator.ge,
        }.items()
    },
    **dict.fromkeys(("logical_and", "logical_or", "logical_not", "logical_xor"), _truth),
}
