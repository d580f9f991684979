"""Windows along one axis, and dilated ones, by Winograd's algorithm."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.schedule import VectorTarget
from irtool.schedule.strategies.winograd.axes import SpatialAxis
from irtool.tir.expr import Const, Var, const
from irtool.tir.simplify import Simplifier
from tests.schedule.convolutions import channels_last, network
from tests.schedule.programs import V, check_nest, error, scheduled, strategies


def sequence(length: int = 23, taps: int = 3, channels: int = 24, batch: int = 1, more: str = "") -> irtool.Module:
    """A convolution along one axis between two others."""
    text = f"""{V}def @main(%x: Tensor[({batch}, 8, {length}), float32], %u: Tensor[({channels}, 8, 1), float32],
  %w: Tensor[({channels}, {channels}, {taps}), float32], %b: Tensor[({channels}), float32], %v: Tensor[(8, {channels}, 1), float32]) {{
  %0 = nn.relu(nn.conv1d(%x, %u));
  %1 = nn.conv1d(%0, %w{more});
  %2 = nn.relu(add(nn.bias_add(%1, %b), {"%0" if "padding" in more else "0f"}));
  nn.conv1d(%2, %v)
}}
"""
    return irtool.infer_types(irtool.parse(text))


SEQUENCES: dict[str, dict[str, Any]] = {
    "no padding": {"length": 41},
    "padded": {"more": ", padding=[1, 1]", "batch": 3},
    "five taps": {"taps": 5, "length": 31},
    "dilated": {"more": ", padding=[3, 3], dilation=[3]", "length": 40},
    "phases without a last tile": {"more": ", padding=[7, 7], dilation=[7]", "length": 30},
    "causal": {"more": ", padding=[4, 0], dilation=[2]", "length": 79, "channels": 16},
}


@pytest.mark.promise("winograd")
@pytest.mark.parametrize("case", SEQUENCES)
def test_sequences(case: str) -> None:
    module = sequence(**SEQUENCES[case])
    size = 2 if SEQUENCES[case].get("taps") == 5 else 4
    assert strategies(module, VectorTarget(32, 16, winograd=str(size)))[1] == "winograd"
    for flags in ("", ",openmp=true,parallel_updates=1", ",tiles_bytes=3000,l2_cache_bytes=6000,streamed_bytes=6000"):
        assert error(module, f"c{{winograd={size},mcpu=x86-64-v3{flags}}}") < 1e-5


PLANES: dict[str, str] = {
    "dilated": ", dilation=[2, 2]",
    "dilated along columns": ", dilation=[1, 3]",
    "rows two steps apart": ", strides=[2, 1]",
    "columns two steps apart": ", strides=[1, 2], dilation=[2, 1]",
    "two steps apart": ", strides=[2, 2]",
}


@pytest.mark.promise("winograd")
@pytest.mark.parametrize("case", PLANES)
def test_planes(case: str) -> None:
    module = network(image=(13, 18), batch=2, padding="2, 3, 1, 2", more=PLANES[case])
    assert strategies(module, VectorTarget(32, 16, winograd="4"))[1] == "winograd"
    for flags in ("", ",mcpu=x86-64-v3,openmp=true,parallel_updates=1"):
        assert error(module, f"c{{winograd=4{flags}}}") < 1e-5


def test_windows_that_reach_over_all_data_stay_as_they_are() -> None:
    """Such as those of atrous pyramids on small images: most taps lie in the padding."""
    module = network(image=(9, 9), padding="14, 14, 14, 14", more=", dilation=[14, 14]")
    assert "winograd" not in strategies(module, VectorTarget(32, 16, winograd="4"))


@pytest.mark.parametrize("more", [", strides=[3, 3]", ", strides=[2, 2], dilation=[2, 2]"])
def test_windows_with_gaps_stay_as_they_are(more: str) -> None:
    module = network(image=(13, 18), padding="2, 2, 2, 2", more=more)
    assert "winograd" not in strategies(module, VectorTarget(32, 16, winograd="4"))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.integers(1, 7), st.sampled_from([1, 2, 4]))
def test_tiles_have_every_result_once(extent: int, dilation: int, size: int) -> None:
    axis = SpatialAxis(0, 0, extent, Var("x"), extent, 3, dilation)
    simplify = Simplifier({})
    places = [simplify(axis.place(const(t), size)) for t in range(axis.tiles(size))]
    firsts = [int(p.value) for p in places if isinstance(p, Const)]
    assert len(firsts) == axis.tiles(size) and max(firsts) == axis.last_place(size)
    results = sorted(p + n * dilation for p in firsts for n in range(size))
    assert results == sorted({*results}) and [r for r in results if r < extent] == list(range(extent))


@pytest.mark.promise("winograd")
@settings(max_examples=12, deadline=None)
@given(
    st.tuples(st.integers(6, 14), st.integers(6, 14)),
    st.tuples(*[st.integers(0, 3)] * 4),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 3), st.integers(1, 3)),
    st.sampled_from(["2", "4"]),
)
def test_every_window_has_its_results(
    image: tuple[int, int],
    padding: tuple[int, ...],
    kernel: tuple[int, int],
    steps: tuple[int, int, int, int],
    size: str,
) -> None:
    """The nest, run in Python, beside the interpreter, for any window, stride and dilation."""
    (h, w), (kh, kw), (sy, sx, dy, dx) = image, kernel, steps
    if h + padding[0] + padding[2] < (kh - 1) * dy + 1 or w + padding[1] + padding[3] < (kw - 1) * dx + 1:
        dy = dx = 1
    more = f"padding={list(padding)}, strides=[{sy}, {sx}], dilation=[{dy}, {dx}]"
    module = channels_last((2, h, w, 4), (kh, kw, 4, 4), more)
    program = scheduled(module, VectorTarget(16, 16, winograd=size))
    check_nest(module, program)
