"""Numbers that formulas stand for: the greatest value in estimates, none elsewhere."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from irtool.symbolic_int import (
    Symbol,
    SymbolicInt,
    Undecided,
    bound,
    estimate,
    extent_of,
    interval,
    maximum,
    minimum,
    proof,
    shifted,
    signs,
    symbolic,
    value_at,
)

N = symbolic("n", 1, 24)
FORMULAS = (N, 2 * N + 1, (N + 3) // 4, N * N // 8, 7 * N - N % 5)


def number(f: Any) -> SymbolicInt:
    assert isinstance(f, SymbolicInt)
    return f


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_shifts_powers_and_masks_are_formulas(formula: Any) -> None:
    symbol = next(iter(number(formula).symbols()))
    for n in range(1, 25):
        value = number(formula).at({symbol: n})
        for computed, expected in (
            (formula << 3, value << 3),
            (formula >> 2, value >> 2),
            (formula**3, value**3),
            (formula & 7, value & 7),
            (7 & formula, value & 7),
        ):
            assert (computed.at({symbol: n}) if isinstance(computed, SymbolicInt) else computed) == expected


@pytest.mark.parametrize(
    "operation",
    [lambda x: x | 1, lambda x: x ^ 1, lambda x: x & 5, lambda x: 2**x, lambda x: 1 << x, lambda x: 1024 >> x],
    ids=["or", "xor", "and", "power", "left", "right"],
)
def test_operations_without_a_formula_are_for_estimates(operation: Any) -> None:
    with pytest.raises(Undecided):
        operation(N)
    assert estimate(operation)(N) == operation(24)


@pytest.mark.parametrize("by", [0, 1, 9, 23, 100])
@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_estimates_bounds_and_hashes_are_those_of_the_upper_bounds(formula: Any, by: int) -> None:
    text, most, key = str(formula), bound(formula), hash(formula)
    with shifted(by):
        n = symbolic("n", 1, 24)
        again: Any = (n, 2 * n + 1, (n + 3) // 4, n * n // 8, 7 * n - n % 5)[FORMULAS.index(formula)]
        assert again == formula and hash(again) == key and str(again) == text and bound(again) == most
        assert estimate(int)(again) == formula.at_bounds == estimate(float)(again)
        assert estimate(operator.truediv)(again, 3) == formula.at_bounds / 3
        assert estimate(operator.truediv)(3, again) == 3 / formula.at_bounds
        assert estimate(operator.lt)(again, 20) == (formula.at_bounds < 20)


@pytest.mark.parametrize("formula", [N % 8, N - N // 12 * 12, (N - N // 8 * 8) // 3, 24 - N, N * (24 - N)])
def test_the_greatest_value_of_a_remainder_is_not_that_of_the_greatest_length(formula: Any) -> None:
    greatest = max(value_at(formula, {Symbol("n", 1, 24): n}) for n in range(1, 25))
    assert formula.at_bounds < greatest
    assert estimate(int)(formula) == greatest
    assert estimate(operator.gt)(formula, greatest - 1) and not estimate(operator.gt)(formula, greatest)


def test_formulas_within_a_shift_have_other_ints() -> None:
    with shifted(5):
        n: Any = symbolic("n", 1, 24)
        assert (int.__int__(n), int.__int__(2 * n), int.__int__(n // 4)) == (19, 38, 4)
        assert (n.at_bounds, (2 * n).at_bounds, (n // 4).at_bounds) == (24, 48, 6)
    assert int.__int__(number(N)) == 24


@pytest.mark.parametrize(
    "formula", [lambda n: n // 8, lambda n: (n + 7) // 8 // 2, lambda n: (n + 7) // 8 * 8, lambda n: 100 // n]
)
def test_bounds_belong_to_a_formula(formula: Callable[[SymbolicInt], int]) -> None:
    """Answers for a length of one build are not those for a length of the same name with other bounds, whichever comes first."""
    narrow, wide = (formula(symbolic("n", 17, high)) for high in (25, 512))
    for limit in range(120):
        for first, second in ((narrow, wide), (wide, narrow)):
            for value in (first, second):
                n = next(iter(number(value).symbols()))
                values = {value_at(value, {n: k}) for k in range(n.low, n.high + 1)}
                assert signs(value - limit) >= {(v > limit) - (v < limit) for v in values}
    assert narrow != wide


def random_extent(g: random.Random, leaves: list[Any]) -> Any:
    """A formula with minimums and maximums of sums and quotients."""
    value = g.choice(leaves)
    for _ in range(g.randrange(1, 4)):
        other = g.choice([*leaves, g.randrange(0, 12)])
        value = g.choice([minimum, maximum])(value + g.randrange(-3, 4), other)
        if g.randrange(2):
            value = maximum(value, 0) // g.randrange(1, 5) + g.choice(leaves)
    return value


@pytest.mark.parametrize("seed", range(80))
def test_minimums_have_the_values_of_numbers(seed: int) -> None:
    """The formula, its bound, its interval, its signs and its values in arrays, against numbers."""
    symbols = [Symbol("a", 1, 9), Symbol("b", 2, 10, 2)]
    f = random_extent(random.Random(seed), [extent_of(s) for s in symbols])
    lengths = list(itertools.product(*(range(s.low, s.high + 1, s.step) for s in symbols)))
    values = [random_extent(random.Random(seed), list(numbers)) for numbers in lengths]
    assert [value_at(f, dict(zip(symbols, numbers, strict=True))) for numbers in lengths] == values
    low, high = interval(f)
    assert low <= min(values) and max(values) <= high and bound(f) == max(values)
    assert signs(f) == {(v > 0) - (v < 0) for v in values}
    if isinstance(f, SymbolicInt):
        columns = dict(zip(symbols, np.array(lengths).T, strict=True))
        assert f.at(columns).tolist() == values
        assert f.at({s: extent_of(s) for s in symbols}) == f


def test_limits_of_sums_that_share_a_factor_are_those_of_the_rest() -> None:
    """Of many symbols too, whose combinations are not tried: `a * c * d - a * min(c, 1) * d` is not negative."""
    a, c, d = (symbolic(name, 0, 400) for name in "acd")
    rest = minimum(a, 50) * d * (c - minimum(c, 1))
    assert interval(rest) == (0, 50 * 400 * 399) and rest >= 0 and bound(rest) == 50 * 400 * 399
    assert interval(-rest) == (-50 * 400 * 399, 0) and signs(a * d * (minimum(c, 3) - c)) == {-1, 0}


def test_minimums_that_are_decided_are_no_formulas() -> None:
    n = symbolic("n", 3, 9)
    assert minimum(n, 2) == 2 and maximum(n, 2) is n and minimum(n, n + 1) is n and maximum(n, 9) == 9
    assert minimum(n, 5) == minimum(5, n) and minimum(n - 3, 2) == minimum(n, 5) - 3
    assert minimum(n, 5) <= n and maximum(n, 5) + minimum(n, 5) == n + 5


def test_floats_divide_by_formulas_that_are_0_at_the_bounds() -> None:
    """Python divides a float by the `int` value, as costs do in places."""
    n = symbolic("n", 0, 12)
    rest = maximum(minimum(2 * n, 4) + minimum(2 * n, 9) - 2 * n, 0)
    assert rest.at_bounds == 0 and bound(rest) == 4
    assert 1.0 / rest > 0 and 1.0 / (rest * n) > 0


@pytest.mark.parametrize(
    "formula",
    [
        (2 * N * N + 5) // (((N + 3) // 4) * ((N + 3) // 4)),
        (N * N) // (3 * N) - N // 5 * (7 * N // (2 * N)),
        (N * N + N) // (N + 2),
        -(N // 3) * N - (4 * N - N // 2 * 3) // (N * N),
    ],
)
def test_the_text_in_c_has_the_value(formula: Any) -> None:
    """A division by a product has it in parentheses: `x / (a * b)`."""
    for n in range(1, 25):
        assert eval(str(formula).replace("/", "//"), {"n": n}) == value_at(formula, {Symbol("n", 1, 24): n})


def test_equal_symbols_and_formulas_are_one_object() -> None:
    assert Symbol("n", 1, 24) is Symbol("n", 1, 24) is not Symbol("n", 1, 25)
    again = symbolic("n", 1, 24)
    for f, g in zip(
        FORMULAS, (again, 2 * again + 1, (again + 3) // 4, again * again // 8, 7 * again - again % 5), strict=True
    ):
        assert f is g


@pytest.mark.parametrize("formula", [*FORMULAS, minimum(N, 7)], ids=str)
def test_formulas_keep_their_identity_in_copies_and_pickles(formula: Any) -> None:
    assert copy.copy(formula) is copy.deepcopy(formula) is pickle.loads(pickle.dumps(formula)) is formula


def test_decided_comparisons_do_not_carry_over_to_other_modes() -> None:
    """Signs are kept with a formula; what follows from them depends on the mode."""
    for _ in range(2):
        assert proof(operator.lt)(N, 20) is proof(operator.ge)(N, 20) is False
        assert estimate(operator.lt)(N, 20) is False
        with pytest.raises(Undecided):
            _ = N < 20


def test_formulas_are_those_of_bounds_even_if_names_are_equal() -> None:
    short, long = symbolic("n", 1, 8), symbolic("n", 1, 80)
    assert short // 16 == 0 and long // 16 != 0
    assert (short < 9) is True and proof(operator.lt)(long, 9) is False


def test_the_terms_of_a_formula_do_not_depend_on_formulas_before_it() -> None:
    """A formula is found again by its terms in any order: they are in the order of its text."""
    a, b = symbolic("a", 1, 9), symbolic("b", 1, 9)
    first, second = number(b + a), number(a + b)
    assert first is second and [m[0].text for m in first.terms] == ["a", "b"]


def test_quotients_that_are_the_same_for_all_lengths_are_numbers() -> None:
    short = symbolic("s", 1, 16)
    assert type((short + 15) // 16) is int and (short + 15) // 16 == 1
    assert type((short + 47) // 16) is int and (short + 47) // 16 == 3
    assert isinstance((short + 14) // 16, SymbolicInt)  # 0 for a single one
    assert type((16 - short) // 16) is int and (16 - short) // 16 == 0


@pytest.mark.parametrize("seed", range(40))
def test_formulas_of_a_sum_of_lengths_have_the_signs_of_all_sums(seed: int) -> None:
    """With so many combinations of lengths that they are not tried one by one, as those of a cache's rows before a step and of the step."""
    rng = random.Random(seed)
    past, n = Symbol("past", 0, rng.choice((700, 4095))), Symbol("n", 1, rng.choice((128, 256)))
    rows = extent_of(past) + extent_of(n)
    size, times = rng.choice((4, 8, 16, 48)), rng.choice((2, 3, 5))
    a, b = rng.randrange(-2, 3), rng.randrange(-2, 3)
    formula = size * (rows // size) - size * times * (rows // (size * times)) * rng.choice((0, 1)) + a * rows + b
    sums = np.arange(1, past.high + n.high + 1)
    values = formula.at({past: sums - 1, n: 1}) if isinstance(formula, SymbolicInt) else np.full(1, formula)
    for zero in (0, int(values.min()), int(values.max()), int(values[0])):
        for compare in (operator.lt, operator.le, operator.ge, operator.gt):
            outcomes = set(compare(values, zero).tolist())
            if len(outcomes) == 1:
                assert compare(formula, zero) == outcomes.pop()
            else:
                with pytest.raises(Undecided):
                    compare(formula, zero)
    assert bound(formula) == values.max()


def test_formulas_of_other_combinations_of_lengths_keep_their_limits() -> None:
    past, n = (extent_of(Symbol(name, 1, 1000)) for name in ("past", "n"))
    assert 2 * past + n >= 3 and past * n >= 1 and (past + n) * n + past >= 1
    with pytest.raises(Undecided):
        bool((past - n) >= 0)
    with pytest.raises(Undecided):
        bool(((2 * past + n) // 4 * 4 - (past + n) // 4 * 4) >= 1)
