"""Gradients of pooling in C and the interpreter: of a maximum, the first of the largest elements of each window gets the gradient.

Gradients are multiples of 1/8: their sums are exact in any order.
"""

from __future__ import annotations

import numpy as np
import pytest

import irtool

CASES = {
    "windows that meet": ((2, 3, 9, 11), (5, 6), "pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]", "NCHW", "float32"),
    "windows apart": ((2, 3, 8, 12), (4, 4), "pool_size=[2, 3], strides=[2, 3]", "NCHW", "float32"),
    "channels last": ((2, 9, 11, 20), (5, 6), "pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]", "NHWC", "float32"),
    "gaps": ((1, 2, 12, 12), (8, 8), "pool_size=[3, 3], dilation=[2, 2]", "NCHW", "float32"),
    "windows beyond the end": ((1, 3, 8, 8), (4, 4), "pool_size=[3, 3], strides=[2, 2], ceil_mode=True", "NCHW", "float32"),
    "padding on one side": ((1, 3, 8, 8), (4, 4), "pool_size=[3, 2], strides=[2, 2], padding=[0, 0, 1, 1]", "NCHW", "float32"),
    "strides that differ": ((2, 3, 13, 17), (4, 9), "pool_size=[3, 2], strides=[3, 2], padding=[0, 1, 1, 0]", "NCHW", "float32"),
    "elements between windows": ((1, 2, 14, 14), (3, 4), "pool_size=[2, 2], strides=[5, 4]", "NCHW", "float32"),
    "gaps and strides": ((1, 2, 16, 19), (7, 6), "pool_size=[3, 3], strides=[2, 3], dilation=[2, 3], padding=[1, 1, 1, 2]", "NCHW", "float32"),
    "as many strides as gaps": ((1, 2, 16, 16), (7, 6), "pool_size=[2, 3], strides=[2, 2], dilation=[2, 2]", "NCHW", "float32"),
    "padding of a window": ((1, 2, 8, 8), (5, 5), "pool_size=[2, 2], strides=[2, 2], padding=[2, 2, 1, 1]", "NCHW", "float32"),
    "one window": ((2, 3, 5, 7), (1, 1), "pool_size=[5, 7]", "NCHW", "float32"),
    "blocks of channels": ((1, 2, 6, 6, 4), (1, 2, 3, 3, 4), "pool_size=[2, 2], strides=[2, 2]", "NCHW4c", "float32"),
    "halves": ((1, 2, 8, 8), (4, 4), "pool_size=[3, 3], strides=[2, 2], padding=[1, 1]", "NCHW", "float16"),
    "doubles": ((1, 2, 8, 8), (4, 4), "pool_size=[2, 2], strides=[2, 2]", "NCHW", "float64"),
    "integers": ((1, 2, 8, 8), (4, 4), "pool_size=[2, 2], strides=[2, 2]", "NCHW", "int32"),
}  # fmt: skip


FLAGS = ("", "{openmp=true,parallel_elements=1}", "{vector=none}")


def _module(name: str, case: str) -> tuple[irtool.ir.Module, tuple[int, ...]]:
    """A gradient by the data, and the shape of the gradient by its result."""
    shape, windows, options, layout, dtype = CASES[case]
    of_gradient = {"NCHW": (*shape[:2], *windows), "NHWC": (shape[0], *windows, shape[3])}.get(layout, windows)
    module = irtool.parse(f"""#[version = "0.0.5"]
def @main(%g: Tensor[{of_gradient}, {dtype}], %x: Tensor[{shape}, {dtype}]) {{
  {name}(%g, %x, {options}, layout="{layout}")
}}""")
    return module, of_gradient


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_a_maximum_are_equal(case: str) -> None:
    module, of_gradient = _module("nn.max_pool2d_grad", case)
    shape, *_, dtype = CASES[case]
    g = np.random.default_rng(len(case))
    x = g.integers(-3, 4, shape).astype(dtype)  # several elements of a window are the largest
    gradient = g.integers(-50, 50, of_gradient).astype(dtype)
    if dtype.startswith("float"):
        gradient += g.integers(-8, 9, of_gradient).astype(dtype) / 8
        x[g.random(shape) < 0.05] = np.nan
        x[g.random(shape) < 0.1] = -np.inf
    expected = irtool.evaluate(module, [gradient, x])
    assert expected.any()
    for flags in FLAGS:
        np.testing.assert_array_equal(irtool.build(module, target=f"c{flags}").run([gradient, x]), expected)


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_a_mean_agree(case: str) -> None:
    module, of_gradient = _module("nn.avg_pool2d_grad", case)
    shape, *_, dtype = CASES[case]
    g = np.random.default_rng(len(case))
    gradient, x = g.integers(-50, 50, of_gradient).astype(dtype), np.zeros(shape, dtype)
    expected = irtool.evaluate(module, [gradient, x])
    assert expected.any()
    tolerance = {"float16": 2e-3, "float32": 1e-6}.get(dtype, 0 if dtype == "int32" else 1e-12)
    for flags in FLAGS:
        value = irtool.build(module, target=f"c{flags}").run([gradient, x])
        np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance * 50)
