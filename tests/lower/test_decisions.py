"""Patterns as decisions: the first clause that fits is found, and no tag is looked at twice."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import irtool
from irtool.lower.decisions import Need, decide
from irtool.tir.region import Decision
from tests.backends.data_programs import PROGRAMS, TYPES

PLACES: list[tuple[int, tuple[int, ...]]] = [(0, ()), (0, (8,)), (0, (8, 8)), (0, (16,)), (1, ()), (1, (8,))]
COUNTS = (3, 2, 2, 4, 1 + 2, 2)


def answer(decisions: Sequence[Decision], tags: Mapping[tuple[int, tuple[int, ...]], int]) -> int:
    """The answer for the tags of all objects; asserts that each is asked for once at most."""
    seen: set[tuple[int, tuple[int, ...]]] = set()
    n = 0
    while n >= 0:
        d = decisions[n]
        assert (d.root, d.path) not in seen
        seen.add((d.root, d.path))
        n = dict(d.cases).get(tags[d.root, d.path], d.other)
    return -1 - n


def test_the_first_clause_that_fits_is_the_answer() -> None:
    failures = 0
    for seed in range(300):
        g = random.Random(seed)
        clauses = []
        for _ in range(g.randint(1, 7)):
            chosen = sorted(g.sample(range(len(PLACES)), g.randint(1, 4)))
            clauses.append([Need(*PLACES[k], g.randrange(COUNTS[k]), COUNTS[k]) for k in chosen])
        if g.random() < 0.5:
            clauses.append([])
        decisions = decide(clauses, len(clauses))
        for _ in range(20):
            tags = {p: g.randrange(c) for p, c in zip(PLACES, COUNTS, strict=True)}
            fits = [all(tags[x.place] == x.tag for x in needs) for needs in clauses]
            first = fits.index(True) if any(fits) else len(clauses)
            failures += first == len(clauses)
            assert answer(decisions, tags) == first
    assert failures > 100


def test_patterns_with_very_many_decisions_are_tried_in_turn() -> None:
    """Clause n needs place n alone: what is left to try is another set after each tag, of which there are 2 ** 20."""
    size = 20
    g = random.Random(1)
    clauses = [[Need(0, (8 * k,), g.randrange(2), 3) for k in g.sample(range(size), 5)] for _ in range(40)]
    decisions = decide(clauses, len(clauses))
    assert 800 < len(decisions) < 5000
    for _ in range(200):
        tags = {(0, (8 * k,)): g.randrange(3) for k in range(size)}
        n, seen = 0, 0
        while n >= 0:
            d = decisions[n]
            n, seen = dict(d.cases).get(tags[d.root, d.path], d.other), seen + 1
        fits = [all(tags[x.place] == x.tag for x in needs) for needs in clauses]
        assert -1 - n == (fits.index(True) if any(fits) else len(clauses))


def test_a_match_is_a_switch_on_the_tag(tmp_path: Path) -> None:
    module = irtool.parse(TYPES + PROGRAMS["nested patterns"][0])
    irtool.build(module, emit="c", name="net", out_dir=tmp_path)
    text = (tmp_path / "net.c").read_text()
    assert "switch (irt_tag(region, *" in text and "goto decision" in text
    irtool.build(module, emit="tir", name="net", out_dir=tmp_path)
    listing = (tmp_path / "net.tir").read_text()
    assert "= decide 0: tag(" in listing and "switch (" in listing
