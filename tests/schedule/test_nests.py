"""Programs keep what they compute when they are scheduled, for any machine: nests run in Python, so that many can be tried.

Each network is one that has a schedule of its own; `strategy` says which, on a machine with vectors of 32 bytes.
"""

from __future__ import annotations

import numpy as np
import pytest

from irtool.lower import lower_module
from irtool.schedule import schedule_program
from irtool.tir.verify import verify
from tests.nests import run_program
from tests.schedule.networks import MACHINES, NETWORKS, build_network


@pytest.mark.parametrize("weights", [False, True], ids=["inputs", "weights"])
@pytest.mark.parametrize("key", NETWORKS)
def test_schedules_keep_values(key: str, weights: bool) -> None:
    if weights and len(NETWORKS[key][1]) == 1:
        return
    module, inputs, want = build_network(key, weights)
    for machine in MACHINES:
        program = lower_module(module)
        schedule_program(program, machine)
        for kernel in program.kernels:
            verify(kernel)
        (got,) = run_program(program, inputs)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=f"{machine}")
        strategy = NETWORKS[key][2]
        assert machine.vector_bytes != 32 or not strategy or strategy in {k.choice.strategy for k in program.kernels}
