"""Stages and strategies that are switched off: what `without` leaves out, what stays, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.schedule import SCHEDULE, strategies, without
from irtool.schedule.core.switches import is_on, switched_off

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 12, 12), float32], %w: Tensor[(16, 16, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  mean(%1, axis=[2, 3])
}
"""
NEEDED = {"elementwise", "winograd", "ScheduleKernels"}
"""Switches without which this network is not built, or computes other values."""


def built(*off: str) -> irtool.driver.artifact.Artifact:
    weights = np.random.default_rng(0).normal(size=(16, 16, 3, 3)).astype("float32")
    with without(*off):
        return irtool.build(irtool.parse(TEXT), {"w": weights}, mcpu="x86-64-v3", emit="so")


def chosen(artifact: irtool.driver.artifact.Artifact) -> set[str]:
    return {stage["strategy"] for kernel in artifact.report["kernels"] for stage in kernel["stages"]}


def x() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(1, 16, 12, 12)).astype("float32")


def test_a_strategy_that_is_off_is_not_chosen() -> None:
    every = chosen(built())
    assert "register_tile" in every or "winograd" in every
    for name in sorted(every - NEEDED):
        assert name not in chosen(built(name))


def test_a_stage_that_is_off_is_not_run() -> None:
    assert "winograd" not in chosen(built("TransformConvolutions"))


@pytest.mark.parametrize("name", [s.name for s in SCHEDULE if s.name not in NEEDED])
def test_results_are_the_same_without_a_stage(name: str) -> None:
    np.testing.assert_allclose(built(name).run([x()]), irtool_reference(), rtol=1e-4, atol=1e-4)


def irtool_reference() -> np.ndarray:
    weights = np.random.default_rng(0).normal(size=(16, 16, 3, 3)).astype("float32")
    return irtool.evaluate(irtool.parse(TEXT), [x(), weights])


def test_no_strategy_left_is_said() -> None:
    with pytest.raises(UsageError, match=r"no strategy is left for stage 0 of .*: elementwise is off"):
        built("elementwise")


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match=r"no stage and no strategy is called 'FuseKernel'") as error:
        without("FuseKernel")
    assert "FuseKernels" in str(error.value.diagnostics[0].help)


def test_switches_add_up_and_end_with_their_context() -> None:
    with without("FuseKernels"), without("winograd", "strassen"):
        assert switched_off() == ("FuseKernels", "strassen", "winograd")
        assert not is_on("winograd") and is_on("loops")
    assert switched_off() == ()


def test_names_of_stages_and_strategies_are_different() -> None:
    strategies.load()
    assert not {s.name for s in SCHEDULE} & {cls.name for cls in strategies}
