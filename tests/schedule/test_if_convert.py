"""Maps whose conditions change from lane to lane: both values are computed in vectors, as the interpreter has them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule import schedule_program
from irtool.tir.stmt import VECTORIZED, For, pre_order
from irtool.tir.verify import verify
from tests.nests import run_program
from tests.schedule.networks import MACHINES
from tests.schedule.rows import hostile

CALLS = {
    "two interleaved": ("%x: Tensor[(9, 64), D], %y: Tensor[(9, 64), D]", "stack((%x, %y), axis=-1)"),
    "three interleaved": ("%x: Tensor[(64, 16), D], %y: Tensor[(64, 16), D]", "stack((%x, %y, %x), axis=2)"),
    "joined pairs": ("%x: Tensor[(128, 2), D], %y: Tensor[(128, 1), D]", "concatenate((%x, %y), axis=1)"),
    "padding of pairs": ("%x: Tensor[(64, 2), D]", "nn.pad(%x, 1, pad_width=[[0, 0], [1, 1]])"),
    "padding of short rows": ("%x: Tensor[(70, 5), D]", "nn.pad(%x, 2, pad_width=[[1, 1], [0, 3]])"),
    "a border between rows": ("%x: Tensor[(3, 5, 3), D]", "nn.pad(%x, 2, pad_width=[[1, 1], [0, 3], [2, 1]])"),
    "zeros between elements": ("%x: Tensor[(40, 33), D]", "nn.dilate(%x, strides=[1, 2])"),
}  # fmt: skip


def _module(case: str, dtype: str) -> tuple[irtool.Module, list[np.ndarray]]:
    arguments, body = CALLS[case]
    text = f'#[version = "0.0.5"]\ndef @main({arguments.replace("D", dtype)}) {{ {body} }}'
    shapes = [tuple(map(int, s.split(","))) for s in re.findall(r"Tensor\[\(([\d, ]+)\)", arguments)]
    return irtool.parse(text), [hostile(shape, dtype, n) for n, shape in enumerate(shapes)]


@pytest.mark.parametrize("case", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int32", "int64"])
def test_values_on_every_machine(case: str, dtype: str) -> None:
    module, inputs = _module(case, dtype)
    expected = irtool.evaluate(module, inputs)
    for machine in MACHINES:
        program = lower_module(prepare(module))
        schedule_program(program, machine)
        for kernel in program.kernels:
            verify(kernel)
        (value,) = run_program(program, inputs)
        np.testing.assert_array_equal(value, expected, err_msg=str(machine))


@pytest.mark.parametrize("case", CALLS)
def test_values_in_c(case: str) -> None:
    module, inputs = _module(case, "float32")
    expected = irtool.evaluate(module, inputs)
    for flags in ("", "{mcpu=x86-64-v2}", "{vector=none}", "{openmp=true,parallel_elements=1}"):
        np.testing.assert_array_equal(irtool.build(module, target=f"c{flags}").run(inputs), expected)


@pytest.mark.parametrize("case", ["two interleaved", "three interleaved", "padding of pairs"])
def test_they_are_vectors(case: str) -> None:
    module, _ = _module(case, "float32")
    program = lower_module(prepare(module))
    schedule_program(program, MACHINES[-1])
    loops = [s for k in program.kernels for s in pre_order(*k.nests) if isinstance(s, For)]
    assert any(s.kind == VECTORIZED for s in loops)
