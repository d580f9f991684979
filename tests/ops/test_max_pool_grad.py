"""Gradients of max pooling: the first of the largest elements of each window gets the gradient, with the same bits in C."""

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
    "doubles": ((1, 2, 8, 8), (4, 4), "pool_size=[2, 2], strides=[2, 2]", "NCHW", "float64"),
    "integers": ((1, 2, 8, 8), (4, 4), "pool_size=[2, 2], strides=[2, 2]", "NCHW", "int32"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_c_and_interpreter_have_the_same_bits(case: str) -> None:
    shape, windows, options, layout, dtype = CASES[case]
    of_gradient = (*shape[:2], *windows) if layout == "NCHW" else (shape[0], *windows, shape[3])
    module = irtool.parse(f"""#[version = "0.0.5"]
def @main(%g: Tensor[{of_gradient}, {dtype}], %x: Tensor[{shape}, {dtype}]) {{
  nn.max_pool2d_grad(%g, %x, {options}, layout="{layout}")
}}""")
    g = np.random.default_rng(len(case))
    x = g.integers(-3, 4, shape).astype(dtype)  # several elements of a window are the largest
    gradient = g.integers(-50, 50, of_gradient).astype(dtype)
    if dtype.startswith("float"):
        gradient += g.standard_normal(of_gradient).astype(dtype)
        x[g.random(shape) < 0.05] = np.nan
        x[g.random(shape) < 0.1] = -np.inf
    expected = irtool.evaluate(module, [gradient, x])
    assert expected.any()
    for flags in ("", "{openmp=true,parallel_elements=1}", "{vector=none}"):
        np.testing.assert_array_equal(irtool.build(module, target=f"c{flags}").run([gradient, x]), expected)
