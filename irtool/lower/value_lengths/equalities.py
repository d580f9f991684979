"""Extents that follow from values, and that a call needs to be equal to others: runs compare them.

::

    concatenate((%a, %b), axis=1)   ⇒   %c = length.equal(%b, length.matches(shape_of(%b), shape=[count_0, 4]), shape=[count_0, 4]);
                                        concatenate((%a, %c), axis=1)                where %a is [count_0, 4], and %b is [count_1, 4]

Inference says which comparisons of extents failed. The extents are made equal one by one, until the call has a type. A length that has to
be a multiple becomes one of another length::

    split(%a, indices_or_sections=2)   ⇒   %b = length.set(%a, shape_of(%a) // 2, lengths=[count_1], places=[0]);
                                           %c = length.equal(%b, length.matches(shape_of(%b), shape=[2 * count_1, 4]), …);
                                           split(%c, indices_or_sections=2)           where %a is [count_0, 4]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from ...diagnostics import IrError
from ...infer.equal_lengths import factors, replaced, solutions
from ...infer.infer import infer_expr
from ...ir import Call, Expr, Module, TensorType, Tuple
from ...ir.dims import is_number
from ...ops.base import call, is_call_to
from ...passes.core.constants import scalar_constant, tensor_constant
from ...symbolic_int import Symbol, bound, extent_of, symbol_of, symbols_of, uncertain_equalities_kept
from ..values import dims
from .fresh import Fresh
from .ranges import Range

Pairs = Sequence[tuple[int, int]]
Required = tuple[Expr, Expr]
"""A tensor, and the condition that it is behind."""

_MOST = 16
"""Extents of one call that are made equal."""


def typed(e: Expr, module: Module, fresh: Fresh) -> Expr:
    """The expression with its type, over typed operands whose lengths are made equal where it has none otherwise."""
    for _ in range(_MOST):
        try:
            with uncertain_equalities_kept():
                return infer_expr(e, module)
        except IrError as error:
            if not isinstance(e, Call):
                raise
            pairs = error.diagnostics[0].lengths
            changed = (
                _with_equal_extents(e, pairs, fresh)
                or _with_solutions(e, pairs, module, fresh)
                or _as_values_say(e, module, fresh)
            )
            if changed is None:
                raise
            e = changed
    return infer_expr(e, module)


def _with_equal_extents(e: Call, pairs: Pairs, fresh: Fresh) -> Expr | None:
    """The call after one more extent was made equal to another one; None if no comparison was of a length that follows from values."""
    for a, b in sorted(pairs, key=lambda p: 1 in p):  # a broadcast compares with 1 too
        for extent, other in ((a, b), (b, a)) if _comes_before(b, a, fresh) else ((b, a), (a, b)):
            if not fresh.has_any([extent]):
                continue
            changed = _mapped(e, partial(_equal, extent, other))
            if changed is not None:
                return changed
    return None


def _with_solutions(e: Call, pairs: Pairs, module: Module, fresh: Fresh) -> Expr | None:
    """The typed call after a length became a number, or an extent a multiple of a new length; None if no comparison asks for that."""
    for a, b in pairs:
        for solution in solutions(a, b, ()):
            if all(is_number(d) and fresh.has_any([extent_of(s)]) for s, d in solution.items()):
                changed = _mapped(e, partial(_replaced, solution))
                if changed is not None and (result := _typed_as_is(changed, module)) is not None:
                    return result
        divisors = dict.fromkeys(factor for _, factor in factors(a, b))
        for extent, factor in product(_extents(e, fresh), divisors):
            state = fresh.state()
            part = fresh.length(Range(0, bound(extent) // factor), e, f"the {factor}th part of an extent")
            changed = _mapped(e, partial(_multiple, extent, factor, part))
            if changed is not None and (result := _typed_as_is(changed, module)) is not None:
                return result
            fresh.restore(state)
    return None


def _as_values_say(e: Call, module: Module, fresh: Fresh) -> Expr | None:
    """A `reshape` to extents that only a run can compare with those of the data, as `dyn.reshape` of the same codes; None for another call."""
    if not is_call_to(e, "reshape") or not all(map(is_number, e.attrs.newshape)):
        return None
    t = e.args[0].checked_type
    if not isinstance(t, TensorType) or not t.is_static or not fresh.has_any(dims(t)):
        return None
    codes = tensor_constant([*e.attrs.newshape], "int64")
    dynamic = call("dyn.reshape", e.args[0], codes, newshape=(), allowzero=e.attrs.allowzero, span=e.span)
    return _typed_as_is(dynamic, module)


def _typed_as_is(e: Expr, module: Module) -> Expr | None:
    try:
        return infer_expr(e, module)
    except IrError:
        return None


def _extents(e: Call, fresh: Fresh) -> list[int]:
    """The extents of operands that follow from values."""
    shapes = [
        dims(t) for x in e.args for p in _fields(x) if isinstance(t := p.checked_type, TensorType) and t.is_static
    ]
    return list(dict.fromkeys(d for shape in shapes for d in shape if fresh.has_any([d])))


def _comes_before(a: int, b: int, fresh: Fresh) -> bool:
    """True if `a` is to stand for both: a number, a length of callers, or the simpler formula."""
    return (fresh.has_any([a]), symbol_of(a) is None and bool(symbols_of([a]))) < (
        fresh.has_any([b]),
        symbol_of(b) is None and bool(symbols_of([b])),
    )


def _mapped(e: Call, change: Callable[[Expr], Required | None]) -> Expr | None:
    """The call with changed operands, and fields of operands; None if none changed.

    The others are behind the same conditions: a pass may leave out an operand whose elements do not matter.
    """
    operands = list(dict.fromkeys(p for x in e.args for p in _fields(x)))
    required = {p: r for p in operands if (r := change(p)) is not None}
    if not required:
        return None
    conditions = list(dict.fromkeys(condition for _, condition in required.values()))
    changed: dict[Expr, Expr] = {p: tensor for p, (tensor, _) in required.items()}
    for p in operands:
        t = p.checked_type
        if p not in changed and isinstance(t, TensorType) and t.is_static:
            for condition in conditions:
                before = changed.get(p, p)
                changed[p] = infer_expr(call("length.equal", before, condition, shape=dims(t), span=p.span))
    args = [
        infer_expr(Tuple(tuple(changed.get(f, f) for f in x.fields), x.span))
        if isinstance(x, Tuple)
        else changed.get(x, x)
        for x in e.args
    ]
    return Call(e.op, tuple(args), e.attrs, e.type_args, e.span)


def _fields(x: Expr) -> Sequence[Expr]:
    return x.fields if isinstance(x, Tuple) else (x,)


def _equal(old: int, new: int, x: Expr) -> Required | None:
    """A tensor under a shape that has one extent in the place of another; None for a tensor without that one."""
    t = x.checked_type
    if not isinstance(t, TensorType):
        return None
    axes = [n for n, d in enumerate(t.shape) if isinstance(d, int) and d == old]
    return _under(x, [new if n in axes else d for n, d in enumerate(t.shape)]) if axes else None


def _replaced(extents: Mapping[Symbol, int], x: Expr) -> Required | None:
    """A tensor under a shape in which lengths are these extents; None for a tensor without them."""
    t = x.checked_type
    if not isinstance(t, TensorType) or not t.is_static or extents.keys().isdisjoint(symbols_of(dims(t))):
        return None
    return _under(x, [replaced(d, extents) for d in dims(t)])


def _multiple(extent: int, factor: int, part: int, x: Expr) -> Required | None:
    """A tensor with a multiple of a new length in the place of an extent; None for a tensor without the extent."""
    t = x.checked_type
    if not isinstance(t, TensorType) or not t.is_static or extent not in dims(t):
        return None
    values = call("floor_divide", call("shape_of", x, dtype="int64"), scalar_constant(factor, "int64"))
    x = infer_expr(call("length.set", x, values, lengths=[part], places=[dims(t).index(extent)]))
    symbol = symbol_of(extent)
    if symbol is not None:
        return _replaced({symbol: part * factor}, x)
    return _under(x, [part * factor if d == extent else d for d in dims(t)])


def _under(x: Expr, shape: Sequence[Any]) -> Required:
    """A tensor under a shape that it has to have."""
    matches = call("length.matches", call("shape_of", x, dtype="int64"), shape=shape)
    return infer_expr(call("length.equal", x, matches, shape=shape, span=x.span)), matches
