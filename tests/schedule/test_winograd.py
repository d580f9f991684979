"""Convolutions by Winograd's algorithm: its matrices, where it is taken, and what it computes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.diagnostics import UsageError
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.passes.core.bind import bind_params
from irtool.schedule import VectorTarget, schedule_program
from irtool.schedule.core.matrix_sums import Matrix, sums
from irtool.schedule.scripts.script import scripted
from irtool.schedule.strategies.winograd.cook_toom import POINTS, transforms
from irtool.schedule.strategies.winograd.form import TransformedTiles
from irtool.selection.teams import divide
from irtool.tir.expr import Load, Var, post_order
from irtool.tir.simplify import Simplifier
from irtool.tir.stmt import Buffer, For, Store, expressions, pre_order
from tests.schedule.convolutions import channels_last, network
from tests.schedule.programs import V, check_nest, error, scheduled, strategies, values


def product(matrix: Matrix, vector: list[Fraction]) -> list[Fraction]:
    return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]


@pytest.mark.promise("winograd")
@pytest.mark.parametrize(("results", "taps"), [(2, 3), (4, 3), (3, 2), (1, 3), (6, 3), (2, 2), (4, 2), (2, 4), (2, 5)])
def test_matrices_filter(results: int, taps: int) -> None:
    """`A^T ((G g) * (B^T d))` is the filter, exactly, and so it is as sums that share parts."""
    check_matrices(results, taps, 1)


@pytest.mark.promise("winograd")
@pytest.mark.parametrize("results", [1, 2, 4])
@pytest.mark.parametrize(("taps", "stride"), [(3, 2), (4, 2), (5, 2), (7, 2), (5, 3), (2, 2)])
def test_matrices_of_results_that_are_apart(results: int, taps: int, stride: int) -> None:
    check_matrices(results, taps, stride)


def check_matrices(results: int, taps: int, stride: int) -> None:
    m = transforms(results, taps, stride, (*POINTS, Fraction(1, 2), Fraction(-1, 2)))
    numbers = [Fraction(7 * n * n - 3 * n + 1, n + 2) for n in range(m.inputs + taps)]
    d, g = numbers[: m.inputs], numbers[m.inputs :]
    assert m.products <= results * taps
    products = [a * b for a, b in zip(product(m.weights, g), product(m.data, d), strict=True)]
    assert product(m.inverse, products) == [sum(d[i * stride + k] * g[k] for k in range(taps)) for i in range(results)]
    for matrix, vector in ((m.data, d), (m.inverse, products)):
        how, values = sums(matrix), list(vector)
        values += [sum((c * values[n] for c, n in s), Fraction(0)) for s in how.shared]
        assert [sum((c * values[n] for c, n in s), Fraction(0)) for s in how.results] == product(matrix, vector)


def test_points_differ() -> None:
    with pytest.raises(ValueError, match="needs 5 different points"):
        transforms(4, 3, 1, (0, 1, -1, 1, 2))
    with pytest.raises(ValueError, match="needs 7 different points"):
        transforms(6)


def test_pairs_of_points_share_sums() -> None:
    assert [sums(transforms(m).data).operations for m in (2, 4)] == [4, 12]
    assert sums(transforms(4).inverse).operations == 10


CASES: dict[str, dict[str, Any]] = {
    "odd sizes": {"channels": 24, "filters": 20},
    "no padding": {"padding": "0, 0, 0, 0", "image": (8, 6), "batch": 2},
    "more on one side": {"padding": "0, 2, 3, 1", "image": (6, 13), "filters": 32},
    "residual": {"rest": "nn.relu(add(%1, %0))", "image": (5, 4), "batch": 3},
    "pooled": {"rest": "nn.max_pool2d(nn.relu(%1), pool_size=[2, 2], strides=[2, 2])", "image": (10, 12)},
}


@pytest.mark.promise("winograd")
@pytest.mark.parametrize("case", CASES)
def test_results(case: str) -> None:
    flags = [
        "winograd=4",
        "winograd=2,openmp=true",
        "winograd=4,mcpu=x86-64-v3",
        "winograd=4,vector=none",
        "winograd=4",
    ]
    module = network(**CASES[case])
    flag = flags[list(CASES).index(case)]
    assert error(module, f"c{{{flag}}}") < 1e-5


@pytest.mark.promise("winograd")
@settings(max_examples=5, deadline=None)
@given(
    st.tuples(st.integers(6, 9), st.integers(6, 9)),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.sampled_from([(1, 4, 4), (2, 4, 8), (1, 8, 4)]),
    st.sampled_from(
        [("2", (3, 3)), ("4", (3, 3)), ("4", (2, 2)), ("2", (2, 3)), ("4", (3, 2)), ("2", (4, 2)), ("2", (5, 3))]
    ),
    st.sampled_from([(1, 1), (1, 1), (2, 2), (1, 2), (2, 1)]),
)
def test_every_shape_has_its_results(
    image: tuple[int, int],
    padding: tuple[int, ...],
    sizes: tuple[int, int, int],
    tile: tuple[str, tuple[int, int]],
    strides: tuple[int, int],
) -> None:
    """Tiles at the edges, in the padding, and of several images: the nest, run in Python, beside the interpreter."""
    (h, w), (batch, channels, filters), (size, (rows, columns)) = image, sizes, tile
    more = f"padding={list(padding)}, strides={list(strides)}"
    module = channels_last((batch, h, w, channels), (rows, columns, channels, filters), more)
    program = scheduled(module, VectorTarget(16, 16, winograd=size))
    is_transformed = strides == (1, 1) or (rows > strides[0] and columns > strides[1])
    assert not is_transformed or [k.choice.strategy for k in program.kernels] == ["winograd"]
    check_nest(module, program)


def transposed(kernel: int, stride: int, image: tuple[int, int], more: str = "", channels: int = 16) -> irtool.Module:
    """A strided transposed convolution between two others."""
    h, w = image
    text = f"""{V}def @main(%x: Tensor[(1, 8, {h}, {w}), float32], %u: Tensor[({channels}, 8, 1, 1), float32],
  %w: Tensor[({channels}, {channels}, {kernel}, {kernel}), float32], %b: Tensor[({channels}), float32],
  %v: Tensor[(8, {channels}, 1, 1), float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %u));
  %1 = nn.conv2d_transpose(%0, %w, channels={channels}, kernel_size=[{kernel}, {kernel}], strides=[{stride}, {stride}]{more});
  %2 = nn.relu(nn.bias_add(%1, %b));
  nn.conv2d(%2, %v)
}}
"""
    return irtool.infer_types(irtool.parse(text))


TRANSPOSED: dict[str, tuple[irtool.Module, str, int]] = {
    "4 x 4": (transposed(4, 2, (7, 5), ", padding=[1, 1, 1, 1]"), "winograd=4", 4),
    "5 x 5": (transposed(5, 2, (6, 8), ", padding=[2, 2, 2, 2], output_padding=[1, 1]"), "winograd=2,openmp=true", 4),
    "3 x 3, three phases of four": (transposed(3, 2, (7, 6)), "winograd=4,mcpu=x86-64-v3", 3),
    "one step apart": (transposed(3, 1, (7, 6), ", padding=[1, 1, 1, 1]"), "winograd=4", 1),
}


@pytest.mark.promise("winograd")
@pytest.mark.parametrize("case", TRANSPOSED)
def test_phases_are_convolutions(case: str) -> None:
    """Each phase of a strided transposed convolution is one of its own, with its own weights."""
    module, flags, count = TRANSPOSED[case]
    inputs = values(module)
    x = inputs.pop("x")
    expected = np.asarray(irtool.evaluate(module, [x, *inputs.values()]))
    built = irtool.build(module, params=inputs, inputs=["x"], target=f"c{{{flags}}}")
    actual = np.asarray(built.run([x]))
    assert float(np.abs(actual - expected).max() / np.abs(expected).max()) < 1e-5
    stages = [s for k in built.report["kernels"] if "nn.conv2d_transpose" in k["operators"] for s in k["stages"]]
    assert sum(s["strategy"] == "winograd" for s in stages) == count


@pytest.mark.promise("winograd")
def test_phases_are_transformed_where_it_pays() -> None:
    assert strategies(transposed(4, 2, (32, 32), ", padding=[1, 1, 1, 1]", 64), VectorTarget(64, 32))[1] == "winograd"
    assert strategies(transposed(2, 2, (32, 32), "", 64), VectorTarget(64, 32))[1] != "winograd"


def test_bands_of_many_channels() -> None:
    """Weights beyond the second cache: several bands, each with data of its own."""
    module = network(channels=16, filters=16, image=(21, 10))
    assert error(module, "c{winograd=4,streamed_bytes=60000,tiles_bytes=20000,l2_cache_bytes=40000}") < 1e-5


@pytest.mark.promise("winograd")
def test_where_it_is_taken() -> None:
    large, small = network(64, 64, (28, 28)), network()
    assert strategies(large, VectorTarget(64, 32)) == ["register_tile", "winograd", "register_tile"]
    assert strategies(large, VectorTarget(16, 16)) == ["register_tile", "winograd", "register_tile"]
    assert "winograd" not in strategies(small, VectorTarget(32, 16))
    assert "winograd" in strategies(small, VectorTarget(32, 16, winograd="2"))
    assert "winograd" not in strategies(large, VectorTarget(64, 32, winograd="off"))
    assert "winograd" not in strategies(large, VectorTarget(0))


def test_a_schedule_by_hand_is_for_the_convolution_as_it_is() -> None:
    forced = VectorTarget(32, 16, winograd="4")
    with scripted(".*conv2d_add_nn_relu:\n  unroll(k1)\n"):
        assert strategies(network(), forced)[1] == "by_hand"
    with scripted(".*conv2d_nn_relu:\n  unroll(rc)\n"):
        assert strategies(network(), forced)[:2] == ["by_hand", "winograd"]


@pytest.mark.promise("winograd")
def test_an_offer_is_chosen_by_hand() -> None:
    """By its label: another size of tiles, another number of them, or a convolution that would stay as it is."""
    usual, module = VectorTarget(32, 16, transformed_updates=1 << 20), network(32, 32)
    assert "winograd" not in strategies(module, usual)
    assert "winograd" in strategies(module, replace(usual, transformed_updates=1 << 19))
    for label in ("F(2 x 2), 5 tiles on the stack, 8 channels", "F(4 x 4), 4 tiles on the stack, 16 channels"):
        with scripted(f'.*conv2d_add_nn_relu:\n  choose("winograd: {label}")\n'):
            kernel = scheduled(module, usual).kernels[1]
        assert kernel.choice.strategy == "by_hand"
        size, tiles = label[2:7], label.split()[3]
        assert f"F({size}, 3 x 3), {tiles} of" in kernel.choice.reason
    with (
        pytest.raises(UsageError, match=r"line 1 of the schedule: no strategy offers 'winograd: F\(4 x 4\), 99"),
        scripted('.*conv2d_add_nn_relu:\n  choose("winograd: F(4 x 4), 99 tiles")\n'),
    ):
        scheduled(module, usual)


@pytest.mark.promise("winograd")
def test_no_arena_for_tiles_that_fit_the_stack() -> None:
    """Transformed data is in the workspace only where that of a few tiles is too much for a stack."""
    for channels, image, places in ((64, 28, 0), (128, 20, 0), (2048, 8, 1)):
        kernel = scheduled(network(channels, 64, (image, image)), VectorTarget(64, 32, winograd="4")).kernels[1]
        assert kernel.choice.strategy == "winograd"
        assert len(kernel.temporaries) == places


@pytest.mark.promise("winograd")
def test_who_makes_the_data_of_bands() -> None:
    """Threads share bands, each with data of its own; that of a single one is made by every thread, which takes less than to read what
    another core wrote."""
    for image, bands in ((12, 1), (56, 12)):
        kernel = scheduled(network(128, 128, (image, image)), VectorTarget(64, 32, winograd="4")).kernels[1]
        plan = kernel.stages[-1]
        assert isinstance(plan, TransformedTiles) and plan.tiling.own
        division = divide(kernel.body)
        assert division is not None
        assert bool(division.each) == (bands == 1)
        (shared,) = division.shared
        assert isinstance(shared, For)
        assert shared.var.name == ("filters" if bands == 1 else "band")


def test_what_is_left_alone() -> None:
    """Strides, dilated windows, and weights that are no constants, or not finite."""
    every = VectorTarget(32, 16, winograd="4")
    for more in (", strides=[2, 2]", ", dilation=[2, 2]"):
        assert "winograd" not in strategies(network(more=more), every)
    module = network()
    program = lower_module(prepare(module))
    schedule_program(program, every)
    assert "winograd" not in [k.choice.strategy for k in program.kernels]
    weights = {n: a for n, a in values(module).items() if n != "x"}
    weights["w"][3, 4, 1, 2] = np.inf
    program = lower_module(prepare(bind_params(module, weights)))
    schedule_program(program, every)
    assert "winograd" not in [k.choice.strategy for k in program.kernels]


@pytest.mark.promise("winograd")
def test_strict_sums_are_as_written() -> None:
    from irtool.backends.c import C
    from irtool.diagnostics import UsageError

    assert C(math="strict").machine().winograd == "off"
    assert C().machine().winograd == "auto"
    with pytest.raises(UsageError, match="winograd=4 has no meaning"):
        C(math="strict", winograd="4").check(["main"], "so")


@pytest.mark.parametrize("channels", [64, 256, 512])
def test_rows_of_the_products_keep_to_sets_of_the_cache_of_their_own(channels: int) -> None:
    """Of the lines that one step of a tile reads, and of those that a window's transform writes one after the other, at most four
    fall into one set of a cache with ways of 4096 bytes."""
    module = network(channels, 16, (16, 16))
    body = scheduled(module, VectorTarget(64, 32, winograd="4")).kernels[1].body
    read, written = set(), set()
    for s in pre_order(body):
        for e in post_order(*expressions(s)):
            if isinstance(e, Load) and isinstance(e.source, Buffer) and e.source.name == "data":
                read.add(e)
        if isinstance(s, Store) and s.buffer.name == "data":
            written.add(Load(s.buffer, s.indices))
    assert read and written
    for indices, moving, count in ((read, "tile_t", 16), (written, "x", 6)):
        for e in indices:
            terms, _ = Simplifier({}).linear(e.source.offset(e.indices))  # type: ignore[attr-defined]
            step = sum(4 * k for v, k in terms.items() if isinstance(v, Var) and v.name == moving)
            sets = [step * n // 64 % 64 for n in range(count)]
            assert step and max(map(sets.count, sets)) <= 4, (channels, moving, step)


def in_halves(dtype: str, channels: int, image: tuple[int, int]) -> irtool.Module:
    """A 3 x 3 convolution of 16-bit numbers between two others."""
    h, w = image
    text = f"""{V}def @main(%x: Tensor[(1, 16, {h}, {w}), {dtype}], %u: Tensor[({channels}, 16, 1, 1), {dtype}],
  %w: Tensor[({channels}, {channels}, 3, 3), {dtype}], %v: Tensor[(8, {channels}, 1, 1), {dtype}]) {{
  %0 = cast(nn.relu(nn.conv2d(%x, %u, out_dtype="float32")), dtype="{dtype}");
  %1 = cast(nn.relu(nn.conv2d(%0, %w, padding=[1, 1], out_dtype="float32")), dtype="{dtype}");
  nn.conv2d(%1, %v, out_dtype="float32")
}}"""
    return irtool.infer_types(irtool.parse(text))


def half_values(module: irtool.Module, dtype: str) -> dict[str, Any]:
    kind = getattr(ml_dtypes, dtype) if dtype == "bfloat16" else np.dtype(dtype)
    return {n: (a / 8).astype(kind) for n, a in values(module).items()}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_convolutions_of_halves(dtype: str) -> None:
    """Widened as they are transformed: as near as sums in float32 are."""
    module = in_halves(dtype, 16, (9, 11))
    inputs = half_values(module, dtype)
    x = inputs.pop("x")
    want = np.asarray(irtool.evaluate(module, [x, *inputs.values()]))
    for target in ("c{winograd=4,blocked_updates=1}", "c{winograd=2,mcpu=x86-64-v3}"):
        artifact = irtool.build(module, params=inputs, inputs=["x"], target=target)
        assert "winograd" in [k["strategy"] for k in artifact.report["kernels"]]
        np.testing.assert_allclose(np.asarray(artifact.run([x])), want, rtol=1e-3, atol=1e-3)


@pytest.mark.promise("winograd")
@pytest.mark.parametrize("target", ["c{winograd=4}", "c{winograd=2,mcpu=x86-64-v3}", "c{mcpu=x86-64-v2}"])
def test_weights_that_are_held_as_bits(target: str) -> None:
    """Those that a build rounds to bfloat16 itself are no array of numbers: their bits are not taken for numbers."""
    c = 32
    text = f"""{V}def @main(%x: Tensor[(1, {c}, 20, 20), float32], %u: Tensor[({c}, {c}, 3, 3), float32],
  %w: Tensor[({c}, {c}, 3, 3), float32], %v: Tensor[({c}, {c}, 3, 3), float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %u, padding=[1, 1]));
  %1 = nn.relu(nn.conv2d(%0, %w, padding=[1, 1]));
  nn.conv2d(%1, %v, padding=[1, 1])
}}"""
    module = irtool.infer_types(irtool.parse(text))
    inputs = values(module)
    x = inputs.pop("x")
    want = np.asarray(irtool.evaluate(module, [x, *inputs.values()]))
    for precision, most in (("bfloat16", 0.02), ("float16", 0.004)):
        artifact = irtool.build(module, inputs, target=target, precision=f"{precision}{{layers=all}}")
        assert "winograd" in [k["strategy"] for k in artifact.report["kernels"]]
        assert np.abs(np.asarray(artifact.run([x])) - want).max() <= most * np.abs(want).max(), precision


def test_bits_of_infinity_are_not_finite() -> None:
    for value, most in ((np.inf, 0), (np.nan, 0), (3e38, 1)):
        module = in_halves("bfloat16", 16, (9, 11))
        inputs = half_values(module, "bfloat16")
        inputs["w"][3, 2, 1, 1] = value
        bits = {n: a.view("uint16") for n, a in inputs.items() if n != "x"}
        program = lower_module(prepare(bind_params(module, bits)))
        schedule_program(program, VectorTarget(32, 16, winograd="4", blocked_updates=1))
        assert ["winograd"] * most == [k.choice.strategy for k in program.kernels if k.choice.strategy == "winograd"]


@pytest.mark.promise("winograd")
def test_words_of_pairs_or_transformed_tiles() -> None:
    """An instruction for pairs of bfloat16 numbers must halve the sums to be the faster one."""
    for channels, size, one, two in ((64, 56, True, True), (256, 14, True, False), (512, 7, True, False)):
        module = in_halves("bfloat16", channels, (size, size))
        weights = {n: a for n, a in half_values(module, "bfloat16").items() if n != "x"}
        for products, is_winograd in ((1, one), (2, two)):
            program = lower_module(prepare(bind_params(module, weights)))
            schedule_program(program, VectorTarget(64, 32, paired_products=products))
            assert ("winograd" in [k.choice.strategy for k in program.kernels]) == is_winograd, (channels, products)
