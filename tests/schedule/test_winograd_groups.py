"""Convolutions of groups of channels, by Winograd's algorithm."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.diagnostics import UsageError
from irtool.schedule import VectorTarget
from irtool.schedule.scripts.script import scripted
from tests.schedule.convolutions import channels_last, check_transformed
from tests.schedule.programs import V, error, scheduled, strategies


def grouped(
    groups: int = 3,
    channels: int = 8,
    filters: int = 8,
    image: tuple[int, int] = (9, 11),
    batch: int = 1,
    more: str = ", padding=[1, 1, 1, 1]",
    rest: str = "nn.relu(nn.bias_add(%1, %b))",
) -> irtool.Module:
    """A 3 x 3 convolution of groups of so many channels and filters, between two others."""
    (h, w), inputs, results = image, groups * channels, groups * filters
    text = f"""{V}def @main(%x: Tensor[({batch}, 8, {h}, {w}), float32], %u: Tensor[({inputs}, 8, 1, 1), float32],
  %w: Tensor[({results}, {channels}, 3, 3), float32], %b: Tensor[({results}), float32], %v: Tensor[(8, {results}, 1, 1), float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %u));
  %1 = nn.conv2d(%0, %w, groups={groups}{more});
  %2 = {rest};
  nn.conv2d(%2, %v)
}}
"""
    return irtool.infer_types(irtool.parse(text))


CASES: dict[str, tuple[irtool.Module, str]] = {
    "as many filters as channels": (grouped(), "winograd=4"),
    "more filters than channels": (grouped(2, 8, 32, image=(10, 7)), "winograd=4,openmp=true,parallel_updates=1"),
    "fewer filters than channels": (grouped(4, 16, 8, batch=2), "winograd=2,mcpu=x86-64-v3"),
    "residual": (grouped(2, 16, 16, rest="nn.relu(add(%1, %0))"), "winograd=4,mcpu=x86-64-v3,openmp=true"),
    "strides": (grouped(more=", padding=[1, 1, 1, 1], strides=[2, 2]", image=(13, 18)), "winograd=4"),
    "in bands": (grouped(2, 24, 24), "winograd=4,tiles_bytes=3000,l2_cache_bytes=6000,streamed_bytes=6000"),
    "no vectors": (grouped(2, 8, 8), "winograd=4,vector=none"),
}


@pytest.mark.promise("winograd")
@pytest.mark.parametrize("case", CASES)
def test_results(case: str) -> None:
    module, flags = CASES[case]
    assert strategies(module, VectorTarget(16, 16, winograd=flags[9]))[1] == "winograd"
    assert error(module, f"c{{{flags}}}") < 1e-5


@pytest.mark.promise("winograd")
@settings(max_examples=8, deadline=None)
@given(
    st.tuples(st.integers(5, 9), st.integers(5, 9)),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.tuples(st.integers(1, 2), st.integers(2, 3), st.sampled_from([4, 8]), st.sampled_from([4, 8, 12])),
    st.sampled_from(["2", "4"]),
)
def test_every_shape_has_its_results(
    image: tuple[int, int], padding: tuple[int, ...], sizes: tuple[int, int, int, int], size: str
) -> None:
    """The nest, run in Python, beside the interpreter."""
    (h, w), (batch, groups, channels, filters) = image, sizes
    data, weights = (batch, h, w, groups * channels), (3, 3, channels, groups * filters)
    check_transformed(channels_last(data, weights, f"padding={list(padding)}, groups={groups}"), size)


def test_where_it_is_taken() -> None:
    """Groups of whole vectors of channels, of which sums are long enough."""
    auto = VectorTarget(32, 64)
    assert strategies(grouped(4, 64, 64, image=(28, 28)), auto)[1] == "winograd"
    assert strategies(grouped(16, 4, 4, image=(28, 28)), auto)[1] != "winograd"


@pytest.mark.parametrize("channels", [2, 6])
def test_groups_of_parts_of_vectors_stay_as_they_are(channels: int) -> None:
    assert "winograd" not in strategies(grouped(8, channels, channels), VectorTarget(32, 16, winograd="4"))


def test_blocks_of_filters_are_of_one_group() -> None:
    forced = VectorTarget(32, 16, winograd="4")
    with (
        pytest.raises(UsageError, match="16 output channels at a time are no whole vectors of 8, or do not divide 24"),
        scripted(".*conv2d_add_nn_relu:\n  winograd(tile=4, tiles=4, filters=16, lanes=8)\n"),
    ):
        scheduled(grouped(2, 8, 24), forced)
