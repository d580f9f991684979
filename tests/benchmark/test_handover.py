"""How long a processor waits for another: measured in bounded time, on a machine of any load."""

from __future__ import annotations

import os
import shutil

import pytest

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="it is measured by a compiled program")


def test_turns_end_in_time() -> None:
    from benchmarks import handover

    waited, turns = handover.measure(10**12, 0.01)
    assert waited > 0 and 0 <= turns < 10**12


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system assigns processors")
def test_turns_on_one_processor_end_in_time() -> None:
    """Neither thread sees the other's turn before the scheduler's next tick, unless it lets the other run."""
    from benchmarks import handover

    have = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(have)})
        waited, turns = handover.measure(10**12, 0.01)
    finally:
        os.sched_setaffinity(0, have)
    assert waited > 0 and 0 <= turns < 10**9


def test_few_turns_are_all_taken() -> None:
    from benchmarks import handover

    waited, turns = handover.measure(5, 30.0)
    assert turns == 5 and waited > 0
