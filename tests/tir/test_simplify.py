"""The simplifier keeps every value, and removes what bounds make needless."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtool.symbolic_int import symbolic
from irtool.tir.expr import (
    Axis,
    Binary,
    Const,
    Expr,
    Select,
    Var,
    bitwise_and,
    const,
    floordiv,
    floormod,
    maximum,
    minimum,
    post_order,
    select,
)
from irtool.tir.simplify import Simplifier

I, J, K = Axis("i", 5), Axis("j", 16), Axis("k", 3)


def value(e: Expr, env: dict[str, int]) -> int:
    """Plain evaluation of an integer expression."""
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Var):
        return env[e.name]
    if isinstance(e, Select):
        return value(e.then if value(e.cond, env) else e.other, env)
    assert isinstance(e, Binary)
    a, b = value(e.a, env), value(e.b, env)
    return {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "floordiv": lambda: a // b,
        "floormod": lambda: a % b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
        "<": lambda: int(a < b),
        "<=": lambda: int(a <= b),
        "==": lambda: int(a == b),
        "!=": lambda: int(a != b),
    }[e.op]()


def expressions() -> st.SearchStrategy[Expr]:
    small = st.integers(-20, 20)
    leaves = st.one_of(st.sampled_from([I, J, K]), small.map(lambda n: I * 0 + n))
    return st.recursive(
        leaves,
        lambda e: st.one_of(
            st.tuples(e, e).map(lambda p: p[0] + p[1]),
            st.tuples(e, e).map(lambda p: p[0] - p[1]),
            st.tuples(e, st.integers(-16, 16)).map(lambda p: p[0] * p[1]),
            st.tuples(e, st.integers(1, 64)).map(lambda p: floordiv(p[0], p[1])),
            st.tuples(e, st.integers(1, 64)).map(lambda p: floormod(p[0], p[1])),
            st.tuples(e, e).map(lambda p: minimum(p[0], p[1])),
            st.tuples(e, e).map(lambda p: maximum(p[0], p[1])),
            st.tuples(e, e, e).map(lambda p: select(p[0] < p[1], p[2], p[0])),
            st.tuples(e, small, e).map(lambda p: select(p[0] <= p[1], p[2], p[0])),
        ),
        max_leaves=8,
    )


@settings(max_examples=300, deadline=None)
@given(expressions())
def test_values_are_kept_and_ranges_hold(e: Expr) -> None:
    simplify = Simplifier()
    simplified = simplify(e)
    low, high = simplify.range(simplified)
    for i in range(5):
        for j in (0, 1, 7, 15):
            for k in range(3):
                env = {"i": i, "j": j, "k": k}
                assert value(simplified, env) == value(e, env), (e, simplified, env)
                assert low <= value(simplified, env) <= high


def test_divisions_of_blocked_indices_vanish() -> None:
    simplify = Simplifier()
    c = I * 16 + J
    assert simplify(c // 16) is I
    assert simplify(c % 16) is J
    assert simplify((c // 16) * 16 + c % 16) is simplify(c)
    assert repr(simplify(c // 64)) == repr(simplify(I // 4))


def test_rows_of_a_tile_are_within_a_length() -> None:
    """The first row is negative for lengths that have no full tile: the loop over tiles does not run then."""
    n = symbolic("n", 1, 100)
    first, simplify = Var("first"), Simplifier({I: (0, 34)})
    simplify.bind(first, 0, n - 35)
    row = simplify((first + I) % const(n))
    assert repr(row) == repr(simplify(first + I)) and repr(simplify((first + I) // const(n))) == repr(const(0))


def test_three_loops_run_as_one() -> None:
    simplify = Simplifier()
    fused = Var("f")
    simplify.bind(fused, 0, 15 * 18 * 23 - 1)
    i, jk = fused // (18 * 23), fused % (18 * 23)
    assert simplify((i * 18 + jk // 23) * 23 + jk % 23) is fused
    assert repr(simplify(i * 18 + jk // 23)) == repr(simplify(fused // 23))
    part = fused % (18 * 23)
    assert repr(simplify((part // 23) * 46 + (part % 23) * 2)) == repr(simplify(part * 2))
    assert repr(simplify((fused // 23 % 18) * 23 + fused % 23)) == repr(simplify(part))
    assert repr(simplify(((fused // 23 + 2) % 18) * 23 + fused % 23)) == repr(simplify((fused + 46) % (18 * 23)))


def test_guards_that_shapes_decide_vanish() -> None:
    simplify = Simplifier()
    always, never = simplify(I * 16 + J < 80), simplify(I * 16 + J >= 80)
    assert isinstance(always, Const) and always.value
    assert isinstance(never, Const) and not never.value
    partly = simplify(I * 16 + J < 64)
    assert not any(e is J for e in post_order(partly)), "the guard does not depend on the place in the block"


def test_data_is_not_taken_for_bounded() -> None:
    x = Var("x")
    simplify = Simplifier()
    assert isinstance(simplify(x + 1 > x), Binary), "the sum may wrap"


FACTORS = st.sampled_from([-64, -32, -16, -6, -4, -3, -1, 0, 1, 2, 3, 4, 8, 16, 32, 64])


@settings(max_examples=150, deadline=None)
@given(st.tuples(FACTORS, FACTORS, FACTORS), st.integers(-70, 70), st.sampled_from(["<", "<=", "==", "!="]), st.data())
def test_comparisons_of_sums_keep_their_truth(
    factors: tuple[int, int, int], by: int, op: str, data: st.DataObject
) -> None:
    left = right = I * 0
    for axis, k in zip((I, J, K), factors):
        if data.draw(st.booleans()):
            left = left + axis * k
        else:
            right = right - axis * k
    simplified = Simplifier()(Binary(op, left + by, right, "bool"))
    for i in range(5):
        for j in (0, 1, 8, 14, 15):
            for k in (0, 2):
                env = {"i": i, "j": j, "k": k}
                total = factors[0] * i + factors[1] * j + factors[2] * k + by
                want = {"<": total < 0, "<=": total <= 0, "==": total == 0, "!=": total != 0}[op]
                assert value(simplified, env) == want, (simplified, env)


@pytest.mark.parametrize(("low", "high"), [(-1000, 1000), (-7, -3), (0, 300), (300, 400)])
@pytest.mark.parametrize("mask", [0, 1, 255])
def test_range_of_masked_numbers(low: int, high: int, mask: int) -> None:
    x = Var("x", "int32")
    simplify = Simplifier({x: (low, high)})
    values = [n & mask for n in range(low, high + 1)]
    for e in (bitwise_and(x, const(mask)), bitwise_and(const(mask), x)):
        first, last = simplify.range(e)
        assert 0 <= first <= min(values) and max(values) <= last <= mask
