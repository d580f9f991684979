"""For every operator: its tensor expression, lowered and scheduled for several machines, computes what the reference does.

Nests run in Python (`tests.nests`): no C compiler is needed, a case takes milliseconds, and a read of memory that nobody
wrote fails.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irtool.ops import operators
from irtool.ops.base import Operator
from tests.ops import drawing, structural_cases
from tests.ops.cases import accepted_calls, calls_of_family
from tests.ops.nests import MACHINES, agrees

NETWORKS = [*calls_of_family("nn"), *calls_of_family("qnn"), *accepted_calls("tree_ensemble")]
DRAWN = [n for n in drawing.NAMES if operators.get(n).compute is not Operator.compute]
SEEDS = range(3)


@pytest.mark.parametrize(
    ("name", "arguments", "attributes"), NETWORKS, ids=[f"{c[0]}-{n}" for n, c in enumerate(NETWORKS)]
)
def test_operators_of_networks(name, arguments, attributes):
    agrees(name, arguments, attributes)


def test_a_tile_of_a_reduction_that_sums_nothing():
    """Axes of extent 1 leave no loop to sum over, and operands that move with an unrolled row must not look for one."""
    x, mean = np.ones((2, 4, 1, 1), "float16"), np.ones((2, 1, 1, 1), "float16")
    agrees("variance", [x, mean], {"axis": [3], "keepdims": False, "exclude": False, "unbiased": False})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", list(structural_cases.DRAWINGS))
def test_structural_operators(name, seed):
    arguments, attributes = structural_cases.draw_case(name, random.Random(seed).randint)
    agrees(name, arguments, attributes, MACHINES[::2])


@pytest.mark.parametrize("name", DRAWN)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), phases=["generate"])
@given(st.data())
def test_drawn_operators(name, data):
    agrees(name, *drawing.drawn(data.draw, name), MACHINES[1:2])
