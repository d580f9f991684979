"""Sums of -0 alone are 0, as numpy gives them: a sum begins with 0, however few elements it has; one way of running as all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool

pytestmark = [pytest.mark.promise("compiled"), pytest.mark.usefixtures("quick_compiles")]

SUMS = {
    "sum(%x, axis=[3])": np.float32(0),
    "sum(%x, axis=[0, 2])": np.float32(0),
    "mean(%x, axis=[3])": np.float32(0),
    "nn.avg_pool2d(%x, pool_size=[1, 1])": np.float32(0),
    "nn.avg_pool2d(%x, pool_size=[2, 1], strides=[2, 1])": np.float32(0),
    "nn.adaptive_avg_pool2d(%x, output_size=[4, 1])": np.float32(0),
    "nn.adaptive_avg_pool2d(%x, output_size=[3, 1])": np.float32(0),
    "nn.global_avg_pool2d(%x)": np.float32(0),
    "nn.conv2d(%x, %w, groups=4, channels=4, kernel_size=[1, 1])": np.float32(0),
    'nn.conv2d_transpose(%x, %w, groups=4, channels=4, kernel_size=[1, 1], kernel_layout="IOHW")': np.float32(0),
    "nn.dense(%x, %d, units=3)": np.float32(0),
    "collapse_sum_like(%x, %s)": np.float32(0),
    "collapse_sum_like(%x, %x)": np.float32(-0.0),
    "max(%x, axis=[3])": np.float32(-0.0),
    "prod(%x, axis=[3])": np.float32(-0.0),
    "cumsum(%x, axis=2)": np.float32(-0.0),
    "nn.space_to_depth(%x, block_size=1)": np.float32(-0.0),
}
"""Operands of sums, and their elements; of nothing to sum, the element itself. Running sums are numpy's, which begin with an element."""

PARAMS = (
    "%x: Tensor[(2, 4, 4, 1), float32], %w: Tensor[(4, 1, 1, 1), float32], %d: Tensor[(3, 1), float32], "
    "%s: Tensor[(4, 1, 1), float32]"
)


def test_sums_of_negative_zeros() -> None:
    module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({PARAMS}) {{ ({", ".join(SUMS)}) }}'))
    ones = [np.ones(s, "float32") for s in ((4, 1, 1, 1), (3, 1), (4, 1, 1))]
    inputs = [np.full((2, 4, 4, 1), -0.0, "float32"), *ones]
    ways: dict[str, Any] = {"interpreter": irtool.evaluate(module, inputs)}
    for options in ({"opt_level": 0, "vector": False}, {"opt_level": 3}):
        ways[str(options)] = irtool.build(module, **options).run(inputs)  # type: ignore[arg-type]  # options differ in type
    for way, results in ways.items():
        for (call, want), got in zip(SUMS.items(), results, strict=True):
            assert (got == 0).all() and (np.signbit(got) == np.signbit(want)).all(), (way, call)
