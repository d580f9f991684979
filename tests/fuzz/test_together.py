"""Random programs with data, closures, references, recursion, lengths and states at once: steps in C give what the interpreter gives."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz.programs import together_program_text
from tests.fuzz.together import run_together_programs
from tests.pages import Recorder

PROGRAMS = 24
PARTS = 6


@pytest.mark.robustness("compiled together")
@pytest.mark.parametrize("part", range(PARTS))
def test_steps_of_compiled_programs(part: int, record_property: Recorder) -> None:
    size = PROGRAMS // PARTS
    record_property("inputs", size)
    outcomes = [*run_together_programs(range(part * size, (part + 1) * size))]
    assert [o for o in outcomes if o.kind == "failed"] == []
    assert Counter(o.kind for o in outcomes)["agreed"] >= size // 2


def test_everything_is_drawn() -> None:
    texts = [together_program_text(seed) for seed in range(60)]
    for what in ("state_outputs", "Tensor[(n)", "(n, 1)", "ref(", "fn [A", "match (", "type Tree", "sum("):
        assert any(what in text for text in texts), what
