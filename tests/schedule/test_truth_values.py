"""any, all and sum of truth values: extremes of bytes, with the values of the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule import VectorTarget, schedule_program

BODIES = {
    "any of rows": "any(%x, axis=[1])",
    "all of columns": "all(%x, axis=[0])",
    "everything": "all(%x)",
    "sum": "sum(%x, axis=[1])",
    "of comparisons": "any(greater(cast(%x, dtype='float32'), 0.5f), axis=[1])",
    "with an epilogue": "logical_not(any(%x, axis=[0]))",
    "an empty sum": "all(strided_slice(%x, begin=[0, 0], end=[9, 0], strides=[1, 1], axes=[0, 1]), axis=[1])",
}


def module(body: str) -> irtool.Module:
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(40, 130), bool]) {{ {body} }}'.replace("'", '"')
    return irtool.infer_types(irtool.parse(text))


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.98, 1.0])
def test_values(name: str, share: float) -> None:
    source = module(BODIES[name])
    x = np.random.default_rng(1).random((40, 130)) < share
    expected = irtool.evaluate(source, [x])
    actual = irtool.build(source, target="c{mcpu=x86-64-v3}").run([x])
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


@pytest.mark.parametrize("name", ["any of rows", "all of columns", "of comparisons"])
def test_vectors_of_bytes(name: str) -> None:
    program = lower_module(prepare(module(BODIES[name])))
    schedule_program(program, VectorTarget(32))
    (kernel,) = program.kernels
    assert kernel.choice is not None
    assert kernel.choice.strategy in ("register_tile", "row_reduction")
