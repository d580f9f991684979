"""Large windows as sums of small ones, by Winograd's algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.schedule import VectorTarget
from irtool.schedule.strategies.winograd.weights import WindowShape, transform_weights
from tests.schedule.convolutions import channels_last, check_transformed
from tests.schedule.programs import V, error, strategies


def network(
    window: tuple[int, ...],
    image: tuple[int, ...],
    channels: int = 16,
    groups: int = 1,
    batch: int = 1,
    more: str = "",
    rest: str = "nn.relu(nn.bias_add(%1, %b))",
) -> irtool.Module:
    """A convolution with one window between two others, of as many dimensions as the image has."""
    conv, ones = f"nn.conv{len(image)}d", ["1"] * len(image)
    data, taps = ", ".join(map(str, (batch, 8, *image))), ", ".join(map(str, window))
    text = f"""{V}def @main(%x: Tensor[({data}), float32], %u: Tensor[({channels}, 8, {", ".join(ones)}), float32],
  %w: Tensor[({channels}, {channels // groups}, {taps}), float32], %b: Tensor[({channels}), float32], %v: Tensor[(8, {channels}, {", ".join(ones)}), float32]) {{
  %0 = nn.relu({conv}(%x, %u, channels={channels}, kernel_size=[{", ".join(ones)}]));
  %1 = {conv}(%0, %w, channels={channels}, kernel_size=[{taps}], groups={groups}{more});
  %2 = {rest};
  {conv}(%2, %v, channels=8, kernel_size=[{", ".join(ones)}])
}}
"""
    return irtool.infer_types(irtool.parse(text))


CASES: dict[str, tuple[irtool.Module, str]] = {
    "11 taps": (network((11,), (37,), more=", padding=[5, 5]"), "winograd=4"),
    "7 taps, two apart": (network((7,), (40,), more=", padding=[6, 6], dilation=[2]"), "winograd=2,mcpu=x86-64-v3"),
    "17 taps, a batch": (network((17,), (21,), batch=3, more=", padding=[8, 8]"), "winograd=4,openmp=true"),
    "rows": (network((7, 1), (11, 10), more=", padding=[3, 0]"), "winograd=4"),
    "columns": (network((1, 7), (11, 10), more=", padding=[0, 3]"), "winograd=4,mcpu=x86-64-v3"),
    "rows and columns": (network((7, 9), (12, 13), more=", padding=[3, 4]"), "winograd=4"),
    "rows in one part": (network((3, 8), (12, 13), more=", padding=[1, 4]"), "winograd=4"),
    "rows that are strided": (network((13, 7), (25, 13), more=", padding=[6, 3], strides=[2, 1]"), "winograd=4"),
    "slices": (network((2, 7, 6), (4, 9, 8), more=", padding=[1, 3, 2]"), "winograd=4,openmp=true"),
    "residual": (network((7, 7), (9, 8), more=", padding=[3, 3]", rest="add(%1, %0)"), "winograd=2"),
    "groups": (network((7, 7), (9, 8), 24, groups=3, more=", padding=[3, 3]"), "winograd=4"),
    "in bands": (
        network((7, 7), (14, 15), more=", padding=[3, 3]"),
        "winograd=4,tiles_bytes=3000,l2_cache_bytes=6000,streamed_bytes=6000",
    ),
    "no vectors": (network((7,), (41,), more=", padding=[3, 3]"), "winograd=4,vector=none"),
}


@pytest.mark.promise("winograd")
@pytest.mark.parametrize("case", CASES)
def test_results(case: str) -> None:
    module, flags = CASES[case]
    assert "winograd" in strategies(module, VectorTarget(16, 16, winograd=flags[9]))
    assert error(module, f"c{{{flags}}}") < 1e-5


@pytest.mark.promise("winograd")
@settings(max_examples=10, deadline=None)
@given(
    st.tuples(st.integers(4, 13), st.integers(4, 11)),
    st.tuples(st.integers(6, 9), st.sampled_from([1, 3, 6, 7])),
    st.tuples(*[st.integers(0, 4)] * 4),
    st.integers(1, 2),
    st.sampled_from(["2", "4"]),
)
def test_every_shape_has_its_results(
    image: tuple[int, int], window: tuple[int, int], padding: tuple[int, ...], apart: int, size: str
) -> None:
    """The nest, run in Python, beside the interpreter."""
    h, w = (n + (taps - 1) * apart for n, taps in zip(image, window))
    more = f"padding={list(padding)}, dilation=[{apart}, {apart}]"
    check_transformed(channels_last((1, h, w, 4), (*window, 4, 8), more), size)


def test_where_it_is_taken() -> None:
    """Windows of many taps, of which sums are long enough."""
    auto = VectorTarget(32, 64)
    assert "winograd" in strategies(network((11,), (400,), 64, more=", padding=[5, 5]"), auto)
    assert "winograd" in strategies(network((7, 7), (24, 24), 64, more=", padding=[3, 3]"), auto)
    assert "winograd" not in strategies(network((11,), (400,), 64, more=", padding=[5, 5], strides=[2]"), auto)


def test_weights_of_parts_lie_before_channels() -> None:
    """Parts are steps of the sum; the last one is filled up with zeros."""
    w = np.arange(1.0, 15.0, dtype="float32").reshape(1, 2, 7)
    transformed = transform_weights(w, (0, 1, 2), 4, WindowShape((1, 3), (1, 1), (1, 3)), 1, range(6))
    first = transformed[0, 0, :, 0]  # at the point 0, that is the first tap, over the differences from the other points
    np.testing.assert_allclose(first / first[0], [1, 8, 4, 11, 7, 14])
    last = transformed[0, -1, :, 0]  # at infinity, the last tap
    np.testing.assert_array_equal(last, [3, 10, 6, 13, 0, 0])
