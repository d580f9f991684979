"""Summaries of `benchmarks.cost` of a table of measurements."""

from __future__ import annotations

import pytest

from benchmarks.cost.table import share, stages_of, summary


def entry(chosen: str, **microseconds: float) -> dict[str, object]:
    return {"kernel": "k", "untuned": chosen, "untuned_microseconds": microseconds[chosen], "trials": microseconds}


def table(*entries: dict[str, object]) -> dict[str, object]:
    return {"machines": {"m": {"stages": {str(n): e for n, e in enumerate(entries)}}}}


def test_a_choice_within_five_percent_is_right() -> None:
    stages = stages_of(table(entry("loops", loops=104.0, tile=100.0), entry("tile", loops=90.0, tile=100.0)))
    assert [round(s.ratio, 3) for s in stages] == [1.04, 1.111]
    assert share(stages) == 0.5
    lines = summary(stages)
    assert lines[0].startswith("  1.11") and "k: tile; faster: loops" in lines[0]
    assert lines[1:3] == ["loops: 1 of 1 within 5% of the fastest", "tile: 0 of 1 within 5% of the fastest"]
    assert lines[-1].startswith("50.0% of 2 stages") and "1.074 times" in lines[-1]


def test_stages_without_an_alternative_do_not_count() -> None:
    assert stages_of(table(entry("loops", loops=1.0))) == []
    assert share([]) == 1.0


@pytest.mark.parametrize("chosen", ["loops", "tile"])
def test_the_fastest_candidate_is_at_least_as_fast_as_the_chosen_one(chosen: str) -> None:
    (stage,) = stages_of(table(entry(chosen, loops=3.0, tile=2.0)))
    assert stage.least <= stage.seconds
