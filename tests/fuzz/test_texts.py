"""The fuzzer of texts, on a sample: `python -m tests.fuzz.texts` draws any number."""

from __future__ import annotations

import pytest

from tests.fuzz.texts import failures

pytestmark = pytest.mark.promise("closed sets")


@pytest.mark.parametrize("seed", range(2))
def test_mutated_texts(seed):
    raised = [(wrong, text) for text, wrong in failures(seed, 1000) if "reads back" not in wrong]
    assert not raised, raised[:3]
