"""3-D convolutions by Winograd's algorithm: rows and columns are transformed, slices are summed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.driver.prepare import prepare
from irtool.passes.core.bind import bind_params
from irtool.schedule import VectorTarget
from irtool.schedule.strategies.winograd.axes import DepthAxis
from irtool.tir.expr import Var
from tests.schedule.programs import V, check_nest, scheduled, strategies, values
from tests.schedule.replay import replayed


def network(
    data: tuple[int, int, int] = (4, 9, 11),
    kernel: tuple[int, int, int] = (3, 3, 3),
    padding: str = "1, 1, 1, 1, 1, 1",
    channels: int = 8,
    filters: int = 8,
    batch: int = 1,
    more: str = "",
    rest: str = "nn.relu(add(%1, %b))",
) -> irtool.Module:
    """A 3-D convolution between two others, as blocked layouts are for what lies between."""
    d, h, w = data
    kd, kh, kw = kernel
    return irtool.infer_types(
        irtool.parse(
            f"""{V}def @main(%x: Tensor[({batch}, 8, {d}, {h}, {w}), float32], %u: Tensor[({channels}, 8, 1, 1, 1), float32],
  %w: Tensor[({filters}, {channels}, {kd}, {kh}, {kw}), float32], %b: Tensor[({filters}, 1, 1, 1), float32],
  %v: Tensor[(8, {filters}, 1, 1, 1), float32]) {{
  %0 = nn.relu(nn.conv3d(%x, %u));
  %1 = nn.conv3d(%0, %w, padding=[{padding}]{more});
  %2 = {rest};
  nn.conv3d(%2, %v)
}}
"""
        )
    )


CASES: dict[str, dict[str, Any]] = {
    "padded": {},
    "no powers of two": {"channels": 24, "filters": 40, "data": (3, 7, 10)},
    "no padding": {"padding": "0, 0, 0, 0, 0, 0", "data": (5, 8, 6)},
    "padded in depth only": {"padding": "1, 0, 0, 1, 0, 0", "batch": 2},
    "two steps in depth": {"more": ", strides=[2, 1, 1]", "data": (7, 6, 9)},
    "dilated in depth": {"more": ", dilation=[2, 1, 1]", "padding": "2, 1, 1, 2, 1, 1", "data": (6, 9, 5)},
    "five slices": {"kernel": (5, 3, 3), "padding": "2, 1, 1, 2, 1, 1", "filters": 32},
    "two slices": {"kernel": (2, 3, 3), "padding": "0, 1, 0, 1, 1, 2", "batch": 2, "data": (3, 5, 8)},
    "rows and columns only": {"kernel": (1, 3, 3), "padding": "0, 1, 1, 0, 1, 1", "batch": 2},
    "rows and columns of some slices": {
        "kernel": (1, 3, 3),
        "padding": "0, 1, 1, 0, 1, 1",
        "more": ", strides=[3, 1, 1]",
        "data": (7, 6, 6),
    },
    "one slice": {"data": (1, 9, 11), "batch": 2},
    "one result in depth": {"data": (3, 9, 11), "padding": "0, 1, 1, 0, 1, 1"},
    "rows two steps apart": {"more": ", strides=[1, 2, 1]", "data": (4, 7, 9)},
    "one row": {"kernel": (3, 1, 3), "padding": "1, 0, 1, 1, 0, 1"},
    "residual": {"rest": "nn.relu(add(%1, %0))", "batch": 3, "data": (2, 5, 4)},
}
FLAGS = (
    "winograd=4",
    "winograd=2",
    "winograd=4,mcpu=x86-64-v3,tiles_bytes=20000,l2_cache_bytes=40000",
    "winograd=4,vector=none",
)


@pytest.mark.promise("winograd")
@pytest.mark.parametrize("case", CASES)
def test_results(case: str) -> None:
    """Errors are about 1e-6 of the largest result; threads change nothing."""
    module = network(**CASES[case])
    flags = FLAGS[list(CASES).index(case) % len(FLAGS)]
    inputs = values(module)
    x = inputs.pop("x")
    expected = np.asarray(irtool.evaluate(module, [x, *inputs.values()]))
    built = [
        irtool.build(module, params=inputs, inputs=["x"], target=f"c{{{flags}{threads}}}")
        for threads in ("", ",openmp=true,parallel_updates=1")
    ]
    assert ("winograd" in [k["strategy"] for k in built[0].report["kernels"]]) == ("vector=none" not in flags)
    one, two = (np.asarray(b.run([x])) for b in built)
    np.testing.assert_array_equal(one, two)
    assert float(np.abs(one - expected).max() / np.abs(expected).max()) < 1e-5


@pytest.mark.promise("winograd")
@settings(max_examples=8, deadline=None)
@given(
    st.tuples(st.integers(1, 6), st.integers(4, 7), st.integers(4, 7)),
    st.tuples(*[st.integers(0, 2)] * 6),
    st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 2)),
    st.sampled_from([1, 2]),
    st.sampled_from(["2", "4"]),
)
def test_every_shape_has_its_results(
    data: tuple[int, int, int], padding: tuple[int, ...], depth: tuple[int, int, int], batch: int, size: str
) -> None:
    """The nest, run in Python, beside the interpreter, for any taps, strides and dilation in depth."""
    (d, h, w), (taps, stride, dilation) = data, depth
    if d + padding[0] + padding[3] < (taps - 1) * dilation + 1:
        taps = 1
    module = irtool.infer_types(
        irtool.parse(
            f"""{V}def @main(%x: Tensor[({batch}, {d}, {h}, {w}, 4), float32], %w: Tensor[({taps}, 3, 3, 4, 4), float32]) {{
  nn.relu(nn.conv3d(%x, %w, padding={list(padding)}, strides=[{stride}, 1, 1], dilation=[{dilation}, 1, 1],
    kernel_size=[{taps}, 3, 3], channels=4, data_layout="NDHWC", kernel_layout="DHWIO"))
}}
"""
        )
    )
    program = scheduled(module, VectorTarget(16, 16, winograd=size))
    if not any(padding):  # what is padded may be parted, or read in place
        assert "winograd" in [k.choice.strategy for k in program.kernels]
    check_nest(module, program)


@pytest.mark.promise("winograd")
def test_where_it_is_taken() -> None:
    large, target = network((4, 28, 28), channels=64, filters=64), VectorTarget(64, 32)
    assert strategies(large, target) == ["register_tile", "winograd", "register_tile"]
    assert "winograd" not in strategies(large, VectorTarget(64, 32, winograd="off"))
    assert "winograd" not in strategies(network(), target)
    every = VectorTarget(64, 32, winograd="4")
    assert "winograd" in strategies(network(channels=16, filters=16), every)
    assert "winograd" not in strategies(network(channels=16, filters=16, more=", strides=[1, 3, 3]"), every)
    for more in (", dilation=[2, 1, 2]", ", strides=[2, 1, 1], dilation=[1, 2, 1]"):
        assert "winograd" in strategies(network(channels=16, filters=16, more=more), every)
    for kernel in ((3, 2, 2), (3, 1, 1), (1, 3, 1), (3, 6, 6)):
        assert "winograd" in strategies(network(channels=16, filters=16, kernel=kernel), every)
    for kernel in ((5, 5, 3), (3, 5, 5), (6, 1, 1)):
        assert "winograd" not in strategies(network(channels=16, filters=16, kernel=kernel), every)


def test_strict_sums_are_as_written() -> None:
    module = network((4, 28, 28), channels=64, filters=64)
    weights = values(module)
    del weights["x"]
    for target, is_winograd in (("c", True), ("c{math=strict}", False), ("c{winograd=off}", False)):
        program = irtool.build(module, params=weights, inputs=["x"], target=target, emit="c")
        assert ("winograd" in [k["strategy"] for k in program.report["kernels"]]) == is_winograd


@pytest.mark.promise("replay")
@pytest.mark.parametrize(
    "target",
    [VectorTarget(32, 16, winograd="4"), VectorTarget(16, 16, winograd="2", tiles_bytes=6000, l2_cache_bytes=12000)],
    ids=["on the stack", "in bands"],
)
def test_what_is_explained_is_read_again(target: VectorTarget) -> None:
    module = network((3, 6, 7), channels=16, filters=16)
    replayed(prepare(bind_params(module, {n: a for n, a in values(module).items() if n != "x"})), target)


@pytest.mark.promise("winograd")
def test_slices_that_do_not_exist_have_no_weights() -> None:
    """With one slice of data, two taps of three lie in the padding: the weights of the third are left."""
    for slices, taps in ((1, 1), (2, 3)):
        program = scheduled(network((slices, 6, 7), channels=16, filters=16), VectorTarget(32, 16, winograd="4"))
        (weights,) = (s for s in program.constants if s.name.endswith("_transformed"))
        assert weights.shape[1:3] == (36, taps * 16)


def test_taps_that_lie_in_the_padding() -> None:
    def axis(results: int, taps: int, stride: int, shift: int, slices: int) -> DepthAxis:
        return DepthAxis(shift, 0, slices - 1, Var("of"), results, Var("slice"), taps, stride, 1)

    def window(a: DepthAxis) -> tuple[int, int, int]:
        return a.skipped, a.taps, a.shift

    assert window(axis(4, 3, 1, -1, 4).trimmed()) == (0, 3, -1)
    assert window(axis(1, 3, 2, -1, 1).trimmed()) == (1, 1, 0)
    assert window(axis(1, 3, 2, -1, 2).trimmed()) == (1, 2, 0)
    assert window(axis(2, 5, 1, -4, 2).trimmed()) == (3, 2, -1)
    assert window(axis(1, 2, 1, -5, 1).trimmed()) == (0, 1, -5), "nothing but padding"
