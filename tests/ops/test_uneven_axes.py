"""Layers whose axes have nothing in common: strides, dilations, kernels and paddings that differ on every side.

Where they are the same, what takes one for another is not seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.nests import agrees

rng = np.random.default_rng(11)


def real(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype("float32")


PADDED = {"strides": [1, 2], "padding": [0, 1, 2, 3]}
WINDOW = {"pool_size": [2, 3], "strides": [3, 1], "dilation": [2, 1], "padding": [0, 1, 1, 2]}
CASES: list[tuple[str, list[np.ndarray], dict[str, Any]]] = [
    ("nn.conv1d", [real(2, 4, 9), real(6, 2, 3)], {"padding": [2, 1], "strides": [2], "dilation": [3], "groups": 2}),
    ("nn.conv2d", [real(2, 4, 6, 9), real(6, 2, 2, 3)], {**PADDED, "dilation": [2, 1], "groups": 2}),
    ("nn.conv2d", [real(2, 4, 6, 9), real(8, 1, 2, 3)], {**PADDED, "dilation": [1, 2], "groups": 4, "channels": 8}),
    (
        "nn.conv2d",
        [real(2, 6, 9, 4), real(2, 3, 4, 5)],
        {**PADDED, "dilation": [2, 1], "data_layout": "NHWC", "kernel_layout": "HWIO"},
    ),
    (
        "nn.conv3d",
        [real(1, 4, 4, 5, 7), real(6, 2, 2, 3, 1)],
        {"strides": [1, 2, 3], "padding": [0, 1, 2, 3, 1, 0], "dilation": [2, 1, 1], "groups": 2},
    ),
    ("nn.conv1d_transpose", [real(2, 4, 5), real(4, 6, 3)], {"strides": [3], "padding": [1, 0], "output_padding": [2]}),
    (
        "nn.conv2d_transpose",
        [real(2, 4, 3, 5), real(4, 3, 2, 3)],
        {"strides": [2, 3], "padding": [0, 1, 1, 2], "output_padding": [1, 2], "groups": 2, "kernel_layout": "IOHW"},
    ),
    (
        "nn.conv3d_transpose",
        [real(1, 2, 2, 3, 4), real(2, 3, 2, 3, 1)],
        {"strides": [2, 1, 3], "padding": [0, 1, 0, 1, 1, 0], "output_padding": [1, 0, 2]},
    ),
    (
        "nn.deformable_conv2d",
        [real(2, 4, 6, 9), real(2, 24, 7, 5), real(6, 2, 2, 3)],
        {**PADDED, "dilation": [1, 2], "groups": 2, "deformable_groups": 2},
    ),
    (
        "image.dilation2d",
        [real(2, 3, 6, 9), real(3, 2, 3)],
        {"strides": [1, 2], "padding": [0, 1, 2, 3], "dilations": [2, 1]},
    ),
    ("nn.max_pool2d", [real(2, 3, 8, 9)], WINDOW),
    ("nn.avg_pool2d", [real(2, 3, 8, 9)], {**WINDOW, "count_include_pad": False}),
    ("nn.avg_pool2d", [real(2, 3, 8, 9)], {**WINDOW, "count_include_pad": True, "ceil_mode": True}),
    (
        "nn.max_pool3d",
        [real(1, 2, 5, 6, 7)],
        {"pool_size": [2, 3, 1], "strides": [1, 2, 3], "dilation": [2, 1, 1], "padding": [0, 1, 0, 1, 0, 0]},
    ),
    ("nn.avg_pool1d", [real(2, 3, 11)], {"pool_size": [3], "strides": [2], "dilation": [2], "padding": [2, 1]}),
]


@pytest.mark.parametrize(("name", "arguments", "attributes"), CASES, ids=[f"{c[0]}-{n}" for n, c in enumerate(CASES)])
def test_axes_are_kept_apart(name: str, arguments: list[np.ndarray], attributes: dict[str, Any]) -> None:
    agrees(name, arguments, attributes)
