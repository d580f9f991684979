"""Expressions are folded and rearranged as they are built: whatever becomes of them, their value is that of the operation.

Each operation is built once from variables that are then replaced by literals, once with a literal on either side, and once
from literals alone; all must give what Python's exact arithmetic, wrapped to the dtype, gives.
"""

from __future__ import annotations

import math
import operator

import pytest

from irtool.symbolic_int import estimate, symbolic
from irtool.tir import dtypes
from irtool.tir import expr as te
from irtool.tir.expr import Axis, Binary, Const, Expr, Not, Select, Var, const, substitute
from irtool.tir.simplify import Simplifier


def truncdiv(a: int, b: int) -> int:
    return math.trunc(a / b)


OPERATIONS = {
    "add": (te.add, operator.add),
    "sub": (te.sub, operator.sub),
    "mul": (te.mul, operator.mul),
    "floordiv": (te.floordiv, operator.floordiv),
    "floormod": (te.floormod, operator.mod),
    "truncdiv": (te.truncdiv, truncdiv),
    "truncmod": (te.truncmod, lambda a, b: a - b * truncdiv(a, b)),
    "minimum": (te.minimum, min),
    "maximum": (te.maximum, max),
    "less": (te.less, operator.lt),
    "less_equal": (te.less_equal, operator.le),
    "equal": (te.equal, operator.eq),
    "not_equal": (te.not_equal, operator.ne),
    "and": (te.bitwise_and, operator.and_),
    "or": (te.bitwise_or, operator.or_),
    "xor": (te.bitwise_xor, operator.xor),
}
NUMBERS = [-128, -7, -3, -2, -1, 0, 1, 2, 3, 5, 64, 127]


def literal(e: Expr) -> float:
    assert isinstance(e, Const), e
    return e.value


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_keep_their_values(name: str, dtype: str) -> None:
    build, compute = OPERATIONS[name]
    x, y = Var("x", dtype), Var("y", dtype)
    both = build(x, y)
    low, high = dtypes.int_range(dtype)
    for a in (n for n in NUMBERS if low <= n <= high):
        left = build(const(a, dtype), y)
        for b in (n for n in NUMBERS if low <= n <= high):
            if b == 0 and ("div" in name or "mod" in name):
                continue
            want = dtypes.round_to(compute(a, b), both.dtype)
            ca, cb = const(a, dtype), const(b, dtype)
            results = [build(ca, cb), substitute(both, {x: ca, y: cb}), substitute(left, {y: cb})]
            results.append(substitute(build(x, cb), {x: ca}))
            assert [literal(e) for e in results] == [want] * 4, (a, b)


@pytest.mark.parametrize("dtype", ["int8", "int32"])
@pytest.mark.parametrize("second", ["add", "sub", "mul", "floordiv"])
@pytest.mark.parametrize("first", ["add", "sub", "mul", "floordiv"])
def test_literals_that_meet_keep_their_values(first: str, second: str, dtype: str) -> None:
    x = Var("x", dtype)
    for a in (-3, 2, 5):
        for b in (-2, 3, 4):
            one = OPERATIONS[first][0](x, const(a, dtype))
            results = [OPERATIONS[second][0](one, const(b, dtype)), OPERATIONS[second][0](const(b, dtype), one)]
            for n in (-9, -1, 1, 6):
                within = dtypes.round_to(OPERATIONS[first][1](n, a), dtype)
                want = [OPERATIONS[second][1](within, b)]
                if within:
                    want.append(OPERATIONS[second][1](b, within))
                got = [literal(substitute(e, {x: const(n, dtype)})) for e in results[: len(want)]]
                assert got == [dtypes.round_to(w, dtype) for w in want], (n, a, b)


def test_what_is_known_of_a_difference() -> None:
    x, y = Var("x"), Var("y")
    assert literal(x - x) == 0
    assert (x + y) - x is y and (x + y) - y is x
    assert repr((x + 3) - y) == repr((x - y) + 3)


@pytest.mark.parametrize("name", ["less", "less_equal", "equal", "not_equal"])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_negation_is_the_opposite(name: str, dtype: str) -> None:
    build, compute = OPERATIONS[name]
    x, y = Var("x", dtype), Var("y", dtype)
    negation = te.logical_not(build(x, y))
    assert isinstance(negation, Not) == (dtype == "float32"), "of a NaN, nothing is the opposite"
    for a in (1, 2):
        for b in (1, 2):
            values = {x: const(a, dtype), y: const(b, dtype)}
            inner = negation.value if isinstance(negation, Not) else negation
            assert literal(substitute(inner, values)) == (compute(a, b) != (dtype == "int32"))


def test_truth_values() -> None:
    x, y = Var("x", "bool"), Var("y", "bool")
    true, false = const(True), const(False)
    assert te.logical_and(true, x) is x and te.logical_and(x, true) is x and te.logical_and(x, x) is x
    assert literal(te.logical_and(false, x)) == 0 and literal(te.logical_and(x, false)) == 0
    assert te.logical_or(false, x) is x and te.logical_or(x, false) is x and te.logical_or(x, x) is x
    assert literal(te.logical_or(true, x)) == 1 and literal(te.logical_or(x, true)) == 1
    assert te.logical_not(te.logical_not(te.logical_and(x, y))) is not x
    assert te.logical_not(te.logical_not(x)) is x and literal(te.logical_not(true)) == 0
    assert te.as_bool(x) is x and repr(te.as_bool(Var("n"))) == "(n != 0)"
    assert [repr(f(x, y)) for f in (te.add, te.sub, te.mul)] == [
        repr(f(x, y)) for f in (te.logical_or, te.not_equal, te.logical_and)
    ]


@pytest.mark.parametrize("build, lazy", [(te.select, False), (te.if_then_else, True)])
def test_a_choice(build, lazy) -> None:
    x, y, c = Var("x"), Var("y"), Var("c", "bool")
    choice = build(c, x, y)
    assert isinstance(choice, Select) and (choice.then, choice.other, choice.lazy) == (x, y, lazy)
    assert build(const(True), x, y) is x and build(const(False), x, y) is y and build(c, x, x) is x


def test_casts_of_literals() -> None:
    assert literal(te.cast(const(2.9, "float64"), "int32")) == 2 and literal(te.cast(const(-2.9), "int32")) == -2
    assert literal(te.cast(const(300), "uint8")) == 44 and literal(te.cast(const(200), "int8")) == -56
    assert literal(te.cast(const(3), "float32")) == 3.0 and te.cast(const(3), "float32").dtype == "float32"
    assert literal(te.cast(const(3), "bool")) == 1
    assert [literal(te.cast(const(v, "float32"), "int8")) for v in (127.0, -128.0)] == [127, -128]
    for number in (128.0, -129.0, math.inf, math.nan):
        assert isinstance(te.cast(const(number, "float32"), "int8"), te.Cast), "left to the rule of casts at run time"
    x = Var("x")
    assert te.cast(x, "int32") is x


def test_shifts_beyond_the_width() -> None:
    shifted = [literal(te.shift_left(const(3), const(n))) for n in (0, 1, 30, 63, 64, -1)]
    assert shifted == [3, 6, -1073741824, 0, 0, 0]
    assert [literal(te.shift_right(const(v), const(n))) for v, n in ((-8, 1), (9, 2), (-1, 64), (9, 80))] == [
        -4,
        2,
        -1,
        0,
    ]


def test_operators_of_floats_are_left_alone() -> None:
    x = Var("x", "float32")
    assert x * 1.0 is x and te.div(x, const(1.0, "float32")) is x
    assert all(isinstance(e, Binary) for e in (x + 0.0, x - 0.0, x * 0.0, x - x, te.div(x, const(0.0, "float32"))))
    assert literal(te.div(const(1.0), const(4.0))) == 0.25
    with pytest.raises(TypeError, match="int32"):
        te.div(const(1), const(2))


@pytest.mark.parametrize("name", ["floordiv", "floormod", "truncdiv", "truncmod", "minimum", "maximum", "and"])
def test_ranges_are_as_narrow_as_they_can_be(name: str) -> None:
    """Of `axis op literal`; where a remainder takes all values in between, they are those below the divisor."""
    build, compute = OPERATIONS[name]
    for begin in (-9, -4, -1, 0, 2, 8):
        for extent in (1, 2, 3, 5, 9):
            for by in (1, 2, 3, 4, 7):
                if name == "and" and begin < 0:
                    continue
                axis = Axis("i", extent, begin)
                low, high = Simplifier({axis: (begin, begin + extent - 1)}).range(build(axis, const(by)))
                values = [compute(n, by) for n in range(begin, begin + extent)]
                assert low <= min(values) and max(values) <= high
                if name == "floormod" and begin // by != (begin + extent - 1) // by:
                    assert (low, high) == (0, by - 1)
                elif name not in ("truncmod", "and"):
                    assert (low, high) == (min(values), max(values)), (begin, extent, by)
                else:
                    assert high <= by and low > -by


def test_an_estimate_folds_no_length() -> None:
    n = symbolic("n", 0, 9)
    for build, number in ((te.minimum, 1), (te.maximum, 8)):
        e = estimate(build)(const(n, "int32"), const(number, "int32"))
        assert isinstance(e, Binary)
