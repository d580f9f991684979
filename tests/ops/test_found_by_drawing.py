"""Calls that the fuzzer found the interpreter and C to disagree on, written as the rules that they now follow."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError


def module(text: str) -> irtool.Module:
    return irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\n{text}'))


@pytest.mark.parametrize(
    "low, high, want",
    [("0f", "nan", [0, 0, 0, 0]), ("nan", "1f", [np.nan] * 4), ("-1f", "1f", [-0.5, 1, 1, -1])],
)
def test_bounds_that_are_nan(low: str, high: str, want: list[float]) -> None:
    clip = module(f"def @main(%x: Tensor[(4), float32]) {{ clip(%x, a_min={low}, a_max={high}) }}")
    x = np.array([-0.5, 3, np.nan, -np.inf], np.float32)
    np.testing.assert_array_equal(irtool.evaluate(clip, [x]), np.array(want, np.float32))
    np.testing.assert_array_equal(irtool.build(clip).run([x]), np.array(want, np.float32))


@pytest.mark.parametrize("before, after", [("uint8", "bool"), ("bool", "int8")])
def test_bits_of_bools_are_not_those_of_bytes(before: str, after: str) -> None:
    with pytest.raises(IrError, match="the widths differ"):
        module(f'def @main(%x: Tensor[(4), {before}]) {{ reinterpret(%x, dtype="{after}") }}')


def test_one_axis_is_that_of_the_scales_whatever_its_number() -> None:
    text = """def @main(%a: Tensor[(2, 3), int8], %b: Tensor[(3), int8], %s: Tensor[(3), float32]) {{
      qnn.add(%a, %b, 0.5f, 0, %s, 0, 0.5f, 0{}) }}"""
    values = [np.array([[1, 2, 3], [4, 5, 6]], np.int8), np.array([8, 8, 8], np.int8)]
    scales = np.array([0.5, 1.0, 0.25], np.float32)
    found = [irtool.evaluate(module(text.format(more)), [*values, scales]) for more in ("", ", rhs_axis=1")]
    np.testing.assert_array_equal(found[0], [[9, 18, 7], [12, 21, 10]])
    np.testing.assert_array_equal(found[1], found[0])
