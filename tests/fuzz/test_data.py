"""Random programs that take and give data: C gives what the interpreter gives."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz.data import run_data_programs
from tests.pages import Recorder

PROGRAMS = 12
PARTS = 4


@pytest.mark.robustness("compiled data")
@pytest.mark.parametrize("part", range(PARTS))
def test_compiled_programs_take_and_give_data(part: int, record_property: Recorder) -> None:
    size = PROGRAMS // PARTS
    record_property("inputs", size)
    outcomes = [*run_data_programs(range(part * size, (part + 1) * size))]
    assert [o for o in outcomes if o.kind == "failed"] == []
    assert Counter(o.kind for o in outcomes)["agreed"] >= size // 3
