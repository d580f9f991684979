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
    [
        ("0f", "nan", [np.nan] * 4),
        ("nan", "1f", [np.nan] * 4),
        ("nan", "nan", [np.nan] * 4),
        ("-1f", "1f", [-0.5, 1, np.nan, -1]),
        ("2f", "1f", [2, 2, np.nan, 2]),
    ],
)
def test_bounds_that_are_nan(low: str, high: str, want: list[float]) -> None:
    clip = module(f"def @main(%x: Tensor[(4), float32]) {{ clip(%x, a_min={low}, a_max={high}) }}")
    x = np.array([-0.5, 3, np.nan, -np.inf], np.float32)
    np.testing.assert_array_equal(irtool.evaluate(clip, [x]), np.array(want, np.float32))
    for level in (0, 3):
        np.testing.assert_array_equal(irtool.build(clip, opt_level=level).run([x]), np.array(want, np.float32))
    if low != "2f":  # of bounds the wrong way round numpy takes the upper one, Relay the lower
        np.testing.assert_array_equal(np.clip(x, *(np.float32(b.rstrip("f")) for b in (low, high))), want)


@pytest.mark.parametrize("before, after", [("uint8", "bool"), ("bool", "int8")])
def test_bits_of_bools_are_not_those_of_bytes(before: str, after: str) -> None:
    with pytest.raises(IrError, match="the widths differ"):
        module(f'def @main(%x: Tensor[(4), {before}]) {{ reinterpret(%x, dtype="{after}") }}')


def test_one_axis_is_that_of_the_scales_whatever_its_number() -> None:
    text = """def @main(%a: Tensor[(2, 3), int8], %b: Tensor[(3), int8], %s: Tensor[(3), float32]) {{
      qnn.add(%a, %b, 0.5f, 0, %s, 0, 0.5f, 0{}) }}"""
    values = [np.array([[1, 2, 3], [4, 5, 6]], np.int8), np.array([8, 8, 8], np.int8)]
    scales = np.array([0.5, 1.0, 0.25], np.float32)
    results = [irtool.evaluate(module(text.format(more)), [*values, scales]) for more in ("", ", rhs_axis=1")]
    np.testing.assert_array_equal(results[0], [[9, 18, 7], [12, 21, 10]])
    np.testing.assert_array_equal(results[1], results[0])


def test_boxes_whose_size_is_nan_are_clipped_as_clip_does() -> None:
    text = "def @main(%x: Tensor[(1, 1, 1, 1), float32]) { vision.multibox_prior(%x, sizes=[nan], clip=True) }"
    x = np.zeros((1, 1, 1, 1), np.float32)
    want = np.full((1, 1, 4), np.nan, np.float32)
    np.testing.assert_array_equal(irtool.evaluate(module(text), [x]), want)
    np.testing.assert_array_equal(irtool.build(module(text)).run([x]), want)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32"])
def test_sums_of_quantized_products_need_32_bits(dtype: str) -> None:
    text = f"""def @main(%x: Tensor[(3, 8), uint8], %w: Tensor[(2, 2, 16, 4), int8]) {{
      qnn.contrib_dense_pack(%x, %w, 7, 3, 0.1f, 0.2f, units=32, out_dtype="{dtype}", weight_layout="NC16n4c") }}"""
    with pytest.raises(IrError, match=f"out_dtype must be int32 or int64, not {dtype}"):
        module(text)


@pytest.mark.parametrize("shape", ["", "(1)", "(1, 1)"])
def test_one_number_may_be_a_tensor_of_one_element(shape: str) -> None:
    kinds = [f"Tensor[{shape}, {t}]" if shape else t for t in ("int32", "float32", "float32")]
    network = module(f"""def @main(%b: Tensor[(1, 3, 4), float32], %s: Tensor[(1, 2, 3), float32],
      %m: {kinds[0]}, %i: {kinds[1]}, %t: {kinds[2]}) {{
      vision.all_class_non_max_suppression(%b, %s, %m, %i, %t, output_format="onnx") }}""")
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], np.float32)
    scores = np.array([[[0.9, 0.8, 0.7], [0.1, 0.6, 0.5]]], np.float32)
    rank = [1] * shape.count("1")
    numbers = [np.full(rank, v, d) for v, d in ((2, np.int32), (0.5, np.float32), (0.2, np.float32))]
    want = irtool.evaluate(network, [boxes, scores, *numbers])
    assert int(want[1][0]) == 4
    for a, b in zip(want, irtool.build(network).run([boxes, scores, *numbers]), strict=True):
        np.testing.assert_array_equal(a, b)
