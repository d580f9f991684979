"""any, all and sum of truth values: extremes of integers, with the values of the interpreter."""

from __future__ import annotations

from pathlib import Path

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


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "float16", "int8"])
@pytest.mark.parametrize("operator", ["any", "all"])
@pytest.mark.parametrize("axis", [0, 1])
def test_comparisons_of_every_width(dtype: str, operator: str, axis: int) -> None:
    """Each width of numbers gives masks of its own; the integer of the sum must hold them."""
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(40, 131), {dtype}], %y: Tensor[(131), {dtype}]) {{ {operator}(less(%x, %y), axis=[{axis}]) }}"""
    source = irtool.infer_types(irtool.parse(text))
    random = np.random.default_rng(2)
    x, y = random.integers(0, 9, (40, 131)).astype(dtype), random.integers(7, 10, 131).astype(dtype)
    if operator == "any":
        y = y - np.array(7, dtype)
    actual = irtool.build(source, target="c{mcpu=x86-64-v3}").run([x, y])
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(irtool.evaluate(source, [x, y])))


def test_the_width_of_comparisons(tmp_path: Path) -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(40, 130), float32]) { any(greater(%x, 4f), axis=[1]) }'
    irtool.build(irtool.parse(text), mcpu="x86-64-v3", emit="tir", out_dir=tmp_path, name="nest")
    nest = (tmp_path / "nest.tir").read_text(encoding="utf-8")
    assert "int32" in nest and "uint8" not in nest
