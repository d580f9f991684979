"""Channels in blocks, of which one has a part of one operand and a part of another: the others have vectors all the same."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.passes.core.bind import bind_params
from irtool.schedule import VectorTarget, schedule_program
from irtool.tir.stmt import VECTORIZED, For, Stmt, pre_order
from tests.schedule.programs import values

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, {own}, 12, 10), float32], %y: Tensor[(1, 16, 12, 10), float32], %w: Tensor[({other}, 16, 3, 3), float32],
          %v: Tensor[(32, {all}, 3, 3), float32]) {{
  %0 = nn.relu(nn.conv2d(%y, %w, padding=[1, 1], channels={other}, kernel_size=[3, 3]));
  %1 = concatenate(({fields}), axis=1);
  nn.conv2d(tanh(%1), %v, padding=[1, 1], channels=32, kernel_size=[3, 3])
}}
"""


def network(own: int, other: int, fields: str) -> irtool.Module:
    return irtool.infer_types(irtool.parse(TEXT.format(own=own, other=other, all=own + other, fields=fields)))


def vectors(body: Stmt) -> set[int]:
    """The lengths of loops in vectors."""
    return {int(str(s.extent)) for s in pre_order(body) if isinstance(s, For) and s.kind == VECTORIZED}


CASES = {
    "blocks before": (3, 45, "%0, %x"),
    "blocks behind": (3, 45, "%x, %0"),
    "an end in the middle": (21, 43, "%0, %x"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_blocks_of_one_operand_are_vectors(case: str) -> None:
    module = network(*CASES[case])
    weights = {n: a for n, a in values(module).items() if n in ("w", "v")}
    program = lower_module(prepare(bind_params(module, weights)))
    schedule_program(program, VectorTarget(64, 32, blocked_updates=1))
    kernel = next(k for k in program.kernels if "concatenate" in k.name)
    steps = [p for s in kernel.choice.stages for p in asdict(s)["primitives"]]
    assert any("loop_partition(ax1_b" in str(p) for p in steps)
    assert 16 in vectors(kernel.body)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("flags", ["mcpu=x86-64-v4,blocked_updates=1", "mcpu=x86-64-v3,blocked_updates=1,openmp=true"])
def test_results(case: str, flags: str) -> None:
    module = network(*CASES[case])
    inputs = values(module)
    expected = np.asarray(irtool.evaluate(module, inputs))
    weights = {n: inputs.pop(n) for n in ("w", "v")}
    actual = irtool.build(module, params=weights, target=f"c{{{flags}}}", disabled_pass=["PadChannels"]).run(inputs)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
