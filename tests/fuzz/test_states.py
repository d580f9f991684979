"""Random networks with states, next values of which are any values of their type: steps give the bits of the network without states."""

from __future__ import annotations

import pytest

import irtool
from tests.driver.programs import parse
from tests.fuzz.state_networks import check, draw, draw_growing

CASES = 24
GROWING_CASES = 16


@pytest.mark.robustness("compiled states")
@pytest.mark.parametrize("target", ["c", "c{openmp=true}"])
@pytest.mark.parametrize("seed", range(CASES))
def test_random_states(seed: int, target: str) -> None:
    check(draw(seed), target, seed)


@pytest.mark.robustness("growing states")
@pytest.mark.parametrize("seed", range(GROWING_CASES))
def test_random_states_that_grow(seed: int) -> None:
    check(draw_growing(seed), "c", seed)


@pytest.mark.parametrize("grow", [False, True])
def test_the_networks_copy_some_states_and_update_others(grow: bool) -> None:
    """The drawn networks come to both."""
    copied = set()
    for seed in range(CASES):
        network = (draw_growing if grow else draw)(seed)
        shapes = {"x": ("n<=3", 4), **dict.fromkeys(network.states, ("p<=9", 4))} if grow else None
        report = irtool.build(parse(network.text), states=network.states, shapes=shapes, emit="c").report
        copied |= {s["copied"] for s in report["states"]}
        if len(copied) == 2:
            return
    raise AssertionError(f"all states of {CASES} networks are {'copied' if True in copied else 'in place'}")
