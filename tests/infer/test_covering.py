"""Whether patterns take every value is decided as by enumeration of the values, and in work that is theirs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from irtool.infer.covering import covers
from irtool.ir import Constructor, Module, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard, Var
from irtool.parser import parse

MODULE = parse('#[version = "0.0.5"]\ntype Kind { A, B, C(Kind), D(Kind, Kind) }\n')
KINDS = MODULE.type_definitions["Kind"].constructors


def _values(depth: int) -> list[tuple[Constructor, tuple]]:
    """Every value that is at most so deep."""
    smaller = _values(depth - 1) if depth else []
    return [(c, parts) for c in KINDS for parts in itertools.product(smaller, repeat=len(c.inputs))]


def _drawn(rng: random.Random, depth: int) -> Pattern:
    if depth == 0 or rng.random() < 0.3:
        return PatternWildcard() if rng.random() < 0.5 else PatternVar(Var("v"))
    c = rng.choice(KINDS)
    return PatternConstructor(c, tuple(_drawn(rng, depth - 1) for _ in c.inputs))


def _fits(pattern: Pattern, value: tuple) -> bool:
    if isinstance(pattern, PatternConstructor):
        constructor, parts = value
        return pattern.constructor.name == constructor.name and all(map(_fits, pattern.patterns, parts))
    return not isinstance(pattern, PatternTuple) or all(map(_fits, pattern.patterns, value))


def _matrices() -> Iterator[list[Pattern]]:
    for seed in range(400):
        rng = random.Random(seed)
        width = rng.randint(1, 2)
        rows = [tuple(_drawn(rng, 2) for _ in range(width)) for _ in range(rng.randint(1, 14))]
        yield [PatternTuple(r) if width > 1 else r[0] for r in rows]


def test_the_answer_is_that_of_trying_every_value():
    values = _values(2)
    pairs = [*itertools.product(values, repeat=2)]
    answers = set()
    for patterns in _matrices():
        some = pairs if isinstance(patterns[0], PatternTuple) else values
        want = all(any(_fits(p, v) for p in patterns) for v in some)
        assert covers(patterns, MODULE, 100_000) is want, patterns
        answers.add(want)
    assert answers == {True, False}


@pytest.mark.parametrize("limit", [0, 3])
def test_it_gives_up_at_the_limit(limit: int):
    patterns: list[Pattern] = [PatternConstructor(c, tuple(PatternWildcard() for _ in c.inputs)) for c in KINDS]
    assert covers(patterns, MODULE, limit) is None
    assert covers(patterns, MODULE, 8) is True


def test_no_patterns_cover_nothing():
    assert covers([], Module({}), 10) is False
