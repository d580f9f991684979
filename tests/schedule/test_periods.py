"""Operands that begin again after so many elements: the axis is split there, so that a period is copied in vectors."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule import VectorTarget, schedule_program
from irtool.tir.stmt import VECTORIZED, For, pre_order

V = '#[version = "0.0.5"]\n'
CASES = {
    "rows": ("tile(%x, reps=[1, 2, 2])", (3, 5, 70)),
    "one axis": ("tile(%x, reps=[2, 3, 2])", (1000,)),
    "each element": ("repeat(%x, repeats=100, axis=-1)", (3, 7)),
    "copies of copies": ("tile(repeat(%x, repeats=64, axis=0), reps=[3])", (9,)),
    "a formula of both": ("exp(tile(%x, reps=[2])) + repeat(%x, repeats=2, axis=0)", (129,)),
    "short periods": ("tile(%x, reps=[5])", (3,)),
}


def module(case: str, dtype: str = "float32") -> irtool.Module:
    body, shape = CASES[case]
    dims = ", ".join(map(str, shape)) + "," * (len(shape) == 1)
    return irtool.infer_types(irtool.parse(f"{V}def @main(%x: Tensor[({dims}), {dtype}]) {{ {body} }}"))


@pytest.mark.parametrize("flags", ["mcpu=x86-64-v3", "mcpu=x86-64-v4,openmp=true,parallel_elements=1", "vector=none"])
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_the_interpreter(case: str, flags: str) -> None:
    x = np.random.default_rng(0).uniform(-2, 2, CASES[case][1]).astype("float32")
    result = irtool.build(module(case), target=f"c{{{flags}}}").run([x])
    np.testing.assert_allclose(result, irtool.evaluate(module(case), [x]), rtol=3e-6)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("case", ["rows", "one axis", "each element", "copies of copies"])
def test_periods_are_copied_in_vectors(case: str, dtype: str) -> None:
    program = lower_module(prepare(module(case, dtype)))
    schedule_program(program, VectorTarget(32, 16))
    kernel = program.kernels[-1]
    assert any(isinstance(s, For) and s.kind == VECTORIZED for s in pre_order(kernel.body))
