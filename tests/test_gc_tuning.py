"""Collections of reference cycles are rare during builds, and restored afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import irtool
from irtool.gc_tuning import YOUNG, rare_collections

SAMPLE = Path(irtool.__file__).parent.parent / "samples" / "mlp.relay"


@pytest.fixture
def usual() -> Iterator[None]:
    """Python's own settings, whatever those of the tests are."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_last_to_leave_restores_what_was_set(usual: None) -> None:
    first, second = rare_collections(), rare_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == (YOUNG, 10, 10)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("set_by_the_user", [0, 10 * YOUNG])
def test_searches_that_are_rarer_already_stay_so(usual: None, set_by_the_user: int) -> None:
    gc.set_threshold(set_by_the_user)
    with rare_collections():
        assert gc.get_threshold()[0] == set_by_the_user


def test_a_build_makes_few_searches_and_restores_the_settings_after_an_error(usual: None) -> None:
    module = irtool.infer_types(irtool.parse(SAMPLE.read_text(encoding="utf-8")))
    searches: list[str] = []
    note = lambda phase, info: searches.append(phase) if phase == "start" else None  # noqa: E731 - removed by itself
    gc.callbacks.append(note)
    try:
        irtool.build(module, emit="c")
    finally:
        gc.callbacks.remove(note)
    assert len(searches) < 10  # hundreds with Python's own settings
    with pytest.raises(irtool.IrError):
        irtool.build(module, entry="nothing")
    assert gc.get_threshold() == (700, 10, 10)
