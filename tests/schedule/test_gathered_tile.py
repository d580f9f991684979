"""Sums without an axis along which all operands are contiguous: vectors are assembled from elements that lie apart."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.ir.values import value_leaves
from irtool.lower import lower_module
from irtool.schedule import VectorTarget, schedule_program

V = '#[version = "0.0.5"]\n'
CASES = {
    "strided elements": ("sum(transpose(%x, axes=[0, 2, 1]) * %y, axis=[2])", (5, 7, 36), (5, 36, 7)),
    "columns of both": ("nn.batch_matmul(%x, %y, transpose_a=False, transpose_b=False)", (2, 9, 5), (2, 5, 24)),
    "reversed": ("sum(reverse(%x, axis=1) * %y, axis=[0])", (6, 40), (6, 40)),
}
GRADIENTS = {
    "behind a layer": "nn.relu(nn.conv2d(%x, %y, padding=[1, 1], strides=[2, 2], channels=32, kernel_size=[3, 3]))",
    "grouped": "nn.conv2d(%x, %y, padding=[1, 1], groups=2, channels=32, kernel_size=[3, 3])",
}


def module(case: str) -> tuple[irtool.Module, list[np.ndarray]]:
    if case in CASES:
        body, x, y = CASES[case]
    else:
        body, x, y = GRADIENTS[case], (2, 16, 8, 12), (32, 8 if case == "grouped" else 16, 3, 3)
    parsed = irtool.infer_types(
        irtool.parse(f"{V}def @main(%x: Tensor[{x}, float32], %y: Tensor[{y}, float32]) {{ {body} }}")
    )
    if case in GRADIENTS:
        parsed = irtool.infer_types(irtool.run_passes(parsed, "FirstOrderGradient"))
    g = np.random.default_rng(3)
    return parsed, [g.standard_normal(s).astype("float32") for s in (x, y)]


@pytest.mark.parametrize("flags", ["mcpu=x86-64-v4", "mcpu=x86-64-v3,openmp=true,parallel_elements=1", "vector=none"])
@pytest.mark.parametrize("case", [*CASES, *GRADIENTS])
def test_results_are_those_of_the_interpreter(case: str, flags: str) -> None:
    parsed, values = module(case)
    outputs = irtool.build(parsed, target=f"c{{{flags}}}").run(values)
    for got, want in zip(value_leaves(outputs), value_leaves(irtool.evaluate(parsed, values)), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 * np.abs(want).max())


@pytest.mark.parametrize("target", [VectorTarget(64, 32), VectorTarget(32, 16)])
@pytest.mark.parametrize("case", GRADIENTS)
def test_gradients_are_made_in_vectors(case: str, target: VectorTarget) -> None:
    program = lower_module(prepare(module(case)[0]))
    schedule_program(program, target)
    assert "scalar_reduction" not in [s.strategy for k in program.kernels for s in k.choice.stages]
