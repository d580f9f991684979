"""Reductions: sums, products, extremes, and pairs such as argmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..tir import dtypes
from ..tir.expr import (
    Axis,
    Expr,
    Operand,
    Reduce,
    as_bool,
    as_expr,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    const,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    nan_maximum,
    nan_minimum,
    not_equal,
    select,
)

Values = tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Reducer:
    """The combination of values. `combine(x, y)` and `identity(dtypes)` are on tuples, one entry per reduced value.

    Where the first of the values is the number of the step, counted from 0, and steps are made in their order, `first(dtypes)` and
    `append(x, y)` do the same for less: `x` is of what came before `y`, and there is at least one step. None if nothing is saved.
    `extreme(x, y)` is what the second value is alone, if it is an extreme of which the first is the position; of equal ones the
    `last` one's, or the first one's.
    """

    name: str
    combine: Callable[[Values, Values], Values]
    identity: Callable[[Sequence[str]], Values]
    first: Callable[[Sequence[str]], Values] | None = None
    append: Callable[[Values, Values], Values] | None = None
    extreme: Callable[[Expr, Expr], Expr] | None = None
    last: bool = False


def _simple(name: str, combine: Callable[[Any, Any], Expr], identity: Callable[[str], Any]) -> Reducer:
    return Reducer(
        name,
        lambda x, y: (combine(x[0], y[0]),),
        lambda types: (as_expr(identity(types[0]), types[0]),),
    )


def _lowest(dtype: str) -> Expr:
    return const(float("-inf") if dtypes.is_float(dtype) else dtypes.lowest(dtype), dtype)


def _highest(dtype: str) -> Expr:
    return const(float("inf") if dtypes.is_float(dtype) else dtypes.largest(dtype), dtype)


SUM = _simple("sum", lambda x, y: x + y, lambda d: 0)
PROD = _simple("prod", lambda x, y: x * y, lambda d: 1)
MAX = _simple("max", nan_maximum, _lowest)
MIN = _simple("min", nan_minimum, _highest)
LARGEST_NUMBER = _simple("max", maximum, _lowest)
ALL = _simple("all", logical_and, lambda d: True)
ANY = _simple("any", logical_or, lambda d: False)
BIT_AND = _simple("bit_and", bitwise_and, lambda d: const(-1, d))
BIT_OR = _simple("bit_or", bitwise_or, lambda d: 0)
BIT_XOR = _simple("bit_xor", bitwise_xor, lambda d: 0)


def _arg(
    better: Callable[[Expr, Expr], Expr],
    worst: Callable[[str], Expr],
    extreme: Callable[[Any, Any], Expr],
    last: bool,
) -> Reducer:
    """Of (index, value) pairs, the better value, NaN before all; of equals, the first index (or the last).

    In their order: where no value is better than the worst there is, the first pair is index 0.
    """

    def combine(x: Values, y: Values) -> Values:
        earlier = x[0] > y[0] if last else x[0] < y[0]
        # -1 stands for nothing seen yet: it must lose every tie.
        wins, same = better(x[1], y[1]), x[1].equal(y[1])
        if dtypes.is_float(x[1].dtype):
            nan, other = not_equal(x[1], x[1]), not_equal(y[1], y[1])
            wins = logical_or(wins, logical_and(nan, logical_not(other)))
            same = logical_or(same, logical_and(nan, other))
        ties = logical_and(same, logical_or(y[0] < 0, logical_and(x[0] >= 0, earlier)))
        keep = logical_or(wins, ties)
        return select(keep, x[0], y[0]), select(keep, x[1], y[1])

    def append(x: Values, y: Values) -> Values:
        best, new = x[1], y[1]
        if last:
            taken = logical_not(better(best, new))
            if dtypes.is_float(new.dtype):  # of a NaN before, nothing is known to be better but another NaN
                taken = logical_or(logical_or(better(new, best), new.equal(best)), not_equal(new, new))
        elif dtypes.is_float(new.dtype):
            no_better = logical_or(better(best, new), best.equal(new))
            taken = logical_and(logical_not(no_better), best.equal(best))
        else:
            taken = better(new, best)
        return select(taken, y[0], x[0]), select(taken, new, best)

    return Reducer(
        "arg",
        combine,
        lambda types: (const(-1, types[0]), worst(types[1])),
        lambda types: (const(0, types[0]), worst(types[1])),
        append,
        extreme,
        last,
    )


def _axes(axis: Any) -> tuple[Axis, ...]:
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    for a in axes:
        if not isinstance(a, Axis) or not a.reduced:
            raise TypeError(f"{a!r} is not a reduction axis; make one with te.reduce_axis")
    return axes


def reduce(reducer: Reducer, sources: Sequence[Operand], axis: Any, where: Operand | None = None) -> tuple[Expr, ...]:
    """The reduction of `sources` over the axes: one expression per source. Without axes, the sources themselves."""
    values = tuple(as_expr(s) for s in sources)
    axes = _axes(axis)
    if not axes:
        return values
    condition = None if where is None else as_bool(where)
    return tuple(Reduce(reducer, values, axes, condition, k) for k in range(len(values)))


def _named(reducer: Reducer):
    def build(expr: Operand, axis: Any, where: Operand | None = None) -> Expr:
        return reduce(reducer, (expr,), axis, where)[0]

    build.__name__ = reducer.name
    build.__doc__ = f"The {reducer.name} of `expr` over the reduction axes, of the elements where `where` holds."
    return build


sum, prod, max, min = (_named(r) for r in (SUM, PROD, MAX, MIN))
largest_number = _named(LARGEST_NUMBER)
largest_number.__doc__ = (
    "`max`, but NaN may be left out: for what makes NaN of it anyway. One instruction instead of three."
)
bit_and, bit_or, bit_xor = (_named(r) for r in (BIT_AND, BIT_OR, BIT_XOR))


def reduce_all(expr: Operand, axis: Any, where: Operand | None = None) -> Expr:
    """True where every element is."""
    return reduce(ALL, (as_bool(expr),), axis, where)[0]


def reduce_any(expr: Operand, axis: Any, where: Operand | None = None) -> Expr:
    """True where any element is."""
    return reduce(ANY, (as_bool(expr),), axis, where)[0]


def argmax(pair: Sequence[Operand], axis: Any, where: Operand | None = None, select_last_index: bool = False) -> Values:
    """Of `(index, value)`, the pair of the largest value over the axes; of equals the first index (or the last)."""
    return reduce(_arg(lambda x, y: x > y, _lowest, nan_maximum, select_last_index), pair, axis, where)


def argmin(pair: Sequence[Operand], axis: Any, where: Operand | None = None, select_last_index: bool = False) -> Values:
    """Of `(index, value)`, the pair of the smallest value over the axes; of equals the first index (or the last)."""
    return reduce(_arg(lambda x, y: x < y, _highest, nan_minimum, select_last_index), pair, axis, where)


def comm_reducer(fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce"):
    """A reduction of one's own: `r = comm_reducer(lambda x, y: …, lambda dtype: …)`, then `r(expr, axis=k)`.

    On several values both functions take and give tuples: `fcombine(x, y)` with `x`, `y` tuples, `fidentity(t0, t1)`.
    """

    def build(expr: Any, axis: Any, where: Operand | None = None) -> Any:
        many = isinstance(expr, tuple | list)

        def combine(x: Values, y: Values) -> Values:
            return tuple(fcombine(x, y)) if many else (fcombine(x[0], y[0]),)

        def identity(types: Sequence[str]) -> Values:
            identity_values = fidentity(*types)
            return tuple(as_expr(v, t) for v, t in zip(identity_values if many else (identity_values,), types))

        done = reduce(Reducer(name, combine, identity), expr if many else (expr,), axis, where)
        return done if many else done[0]

    return build
