"""Products by Strassen's algorithm: its matrices, where it is taken, and what it computes."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.backends.c import C
from irtool.diagnostics import UsageError
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.passes.core.bind import bind_params
from irtool.schedule import VectorTarget, schedule_program
from irtool.schedule.core.matrix_sums import Matrix, sums
from irtool.schedule.graph.threads import shared_loops
from irtool.schedule.scripts.script import scripted
from irtool.schedule.strategies.strassen.algorithm import DATA, PRODUCTS, RESULT, WEIGHTS
from irtool.tir.program import Program
from irtool.tir.stmt import PARALLEL, For, pre_order
from tests.nests import run_program
from tests.schedule.programs import error, values

V = '#[version = "0.0.5"]\n'


def added(matrix: Matrix, vector: list[Fraction]) -> list[Fraction]:
    """The matrix times a vector, as the sums that are written out."""
    how = sums(matrix)
    values = list(vector)
    values += [sum((c * values[n] for c, n in s), Fraction(0)) for s in how.shared]
    return [sum((c * values[n] for c, n in s), Fraction(0)) for s in how.results]


@pytest.mark.promise("strassen")
@given(st.lists(st.integers(-50, 50), min_size=8, max_size=8))
def test_seven_products_are_a_product_of_matrices(numbers: list[int]) -> None:
    a, b = [list(map(Fraction, n)) for n in (numbers[:4], numbers[4:])]
    products = [x * y for x, y in zip(added(DATA, a), added(WEIGHTS, b), strict=True)]
    expected = [a[2 * i] * b[j] + a[2 * i + 1] * b[2 + j] for i in (0, 1) for j in (0, 1)]
    assert len(products) == PRODUCTS == 7
    assert added(RESULT, products) == expected


def dense(
    rows: str = "20", steps: int = 16, columns: int = 24, rest: str = "nn.relu(nn.bias_add(%0, %b, axis=-1))"
) -> irtool.Module:
    text = f"""{V}def @main(%x: Tensor[({rows}, {steps}), float32], %w: Tensor[({columns}, {steps}), float32],
  %b: Tensor[({columns}), float32]) {{
  %0 = nn.dense(%x, %w, units={columns});
  {rest}
}}
"""
    return irtool.infer_types(irtool.parse(text))


def convolution(
    channels: int = 16,
    filters: int = 32,
    image: tuple[int, int] = (5, 7),
    kernel: int = 1,
    more: str = "",
    batch: int = 1,
) -> irtool.Module:
    """A convolution between two others, as blocked layouts are for what lies between."""
    h, w = image
    text = f"""{V}def @main(%x: Tensor[({batch}, 8, {h}, {w}), float32], %u: Tensor[({channels}, 8, 1, 1), float32],
  %w: Tensor[({filters}, {channels}, {kernel}, {kernel}), float32], %b: Tensor[({filters}), float32],
  %v: Tensor[(8, {filters}, 1, 1), float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %u));
  %1 = nn.conv2d(%0, %w{more});
  %2 = nn.relu(nn.bias_add(%1, %b));
  nn.conv2d(%2, %v)
}}
"""
    return irtool.infer_types(irtool.parse(text))


CASES: dict[str, tuple[irtool.Module, str]] = {
    "rows that are no pairs": (dense("21"), "mcpu=x86-64-v3"),
    "one row of many": (dense("1", 32, 32), "mcpu=x86-64-v3"),
    "batches of rows": (dense("3, 7", 32, 64), "openmp=true,parallel_updates=1"),
    "residual": (dense("9", 32, 32, "add(nn.relu(nn.bias_add(%0, %b, axis=-1)), %x)"), "mcpu=x86-64-v2"),
    "many columns": (dense("40", 16, 200), "mcpu=x86-64-v2"),
    "pixels": (convolution(), "mcpu=x86-64-v3"),
    "images of pixels": (convolution(32, 32, batch=3), "openmp=true"),
    "steps between windows": (
        convolution(16, 32, (9, 7), 3, ", strides=[2, 2], padding=[1, 1, 1, 1]"),
        "mcpu=x86-64-v3",
    ),
    "no vectors": (dense(), "vector=none"),
}


@pytest.mark.promise("strassen")
@pytest.mark.parametrize("case", CASES)
def test_results(case: str) -> None:
    module, flags = CASES[case]
    assert error(module, f"c{{strassen=on,winograd=off,{flags}}}") < 2e-6


def scheduled(module: irtool.Module, target: VectorTarget, inputs: dict[str, Any] | None = None) -> Program:
    weights = {n: a for n, a in (inputs or values(module)).items() if n != "x"}
    program = lower_module(prepare(bind_params(module, weights)))
    schedule_program(program, target)
    return program


def strategies(module: irtool.Module, target: VectorTarget) -> list[str]:
    return [k.choice.strategy for k in scheduled(module, target).kernels]


@pytest.mark.promise("strassen")
@settings(max_examples=12, deadline=None)
@given(
    st.integers(2, 40),
    st.sampled_from([(8, 8), (16, 8), (8, 24)]),
    st.sampled_from(
        [{}, {"l2_cache_bytes": 3000}, {"streamed_bytes": 1000}, {"streamed_bytes": 1000, "l2_cache_bytes": 2400}]
    ),
)
def test_every_shape_has_its_results(rows: int, sizes: tuple[int, int], limits: dict[str, int]) -> None:
    """Blocks on the stack and in bands, with much smaller rows or without, the last one with rows that do not exist: the nest, run in
    Python, beside the interpreter."""
    module = dense(str(rows), *sizes)
    inputs = values(module)
    inputs["x"][3::7] *= 1e-3
    expected = np.asarray(irtool.evaluate(module, list(inputs.values())))
    program = scheduled(module, VectorTarget(16, 16, strassen="on", **limits))
    assert [k.choice.strategy for k in program.kernels] == ["strassen"]
    (actual,) = run_program(program, [inputs["x"]])
    np.testing.assert_allclose(actual, expected, atol=1e-4)


OPEN_FLAGS = ("", "openmp=true,parallel_updates=1", "streamed_bytes=20000", "l2_cache_bytes=3000,openmp=true")


@pytest.mark.promise("strassen")
@pytest.mark.parametrize("flags", OPEN_FLAGS)
@pytest.mark.parametrize("bounds", ["rows<=150", "40<=rows<=150", "8<=rows<=144:8", "rows"])
def test_any_number_of_rows(bounds: str, flags: str) -> None:
    """Blocks and bands have a constant size; the last ones have the rest."""
    module = irtool.parse(
        irtool.to_text(dense("?", 32, 64)).replace(") ->", ', input_dim_names=[["rows", ""], [], []]) ->')
    )
    inputs = values(dense("150", 32, 64))
    inputs["x"][3::7] *= 1e-3
    weights = {n: inputs[n] for n in "wb"}
    target = f"c{{mcpu=x86-64-v3,strassen=on,{flags}}}"
    built = irtool.build(module, weights, target=target, dims={"rows": bounds if "=" in bounds else "?"})
    assert {k["strategy"] for k in built.report["kernels"]} == {"strassen"}
    for rows in range(40, 145, 8) if ":" in bounds else (40, 41, 63, 64, 65, 127, 128, 129, 150):
        expected = np.maximum(inputs["x"][:rows] @ inputs["w"].T + inputs["b"], 0)
        np.testing.assert_allclose(built.run([inputs["x"][:rows]]), expected, atol=1e-4)


@pytest.mark.promise("strassen")
def test_where_it_is_taken_for_lengths() -> None:
    """Where it is faster for the fewest rows, too: these read seven fourths of the weights."""
    many, few = "2048<=rows<=8192", "rows<=8192"
    chance = np.random.default_rng(0).uniform(-1, 1, (512, 512)).astype("float32")
    text = (
        V
        + 'def @main(%x: Tensor[(?, 512), float32], %w: Tensor[(512, 512), float32], input_dim_names=[["rows", ""]]) { nn.dense(%x, %w, units=512) }'
    )
    for bounds, strategy in ((many, "strassen"), (few, "register_tile")):
        built = irtool.build(
            irtool.parse(text),
            {"w": chance},
            target="c{mcpu=x86-64-v4,multiply_adds=1}",
            emit="tir",
            dims={"rows": bounds},
        )
        assert [k["strategy"] for k in built.report["kernels"]] == [strategy]


@pytest.mark.promise("strassen")
def test_where_it_is_taken() -> None:
    """Where the estimate says so: long sums, many rows and columns."""
    large, small = dense("512", 512, 512), dense()
    assert strategies(large, VectorTarget(64, 32)) == ["strassen"]
    assert strategies(large, VectorTarget(32, 16)) == ["register_tile"], "tiles of narrow vectors reach their peak"
    assert "strassen" not in strategies(small, VectorTarget(32, 16))
    assert "strassen" not in strategies(dense("512", 48, 512), VectorTarget(64, 32)), "sums cost more than is saved"
    assert "strassen" not in strategies(dense("1", 512, 512), VectorTarget(64, 32)), "weights are read once"
    assert "strassen" in strategies(small, VectorTarget(32, 16, strassen="on"))
    assert "strassen" not in strategies(large, VectorTarget(64, 32, strassen="off"))
    assert "strassen" not in strategies(large, VectorTarget(0))


@pytest.mark.promise("strassen")
def test_pixels_are_rows() -> None:
    every = VectorTarget(32, 16, strassen="on", winograd="off", blocked_updates=1)
    assert strategies(convolution(32, 32), every)[1] == "strassen"
    assert strategies(convolution(32, 32, (9, 9), 3, ", strides=[2, 2]"), every)[1] == "strassen"


def test_what_is_left_alone() -> None:
    """Halves that are no whole vectors, weights that are no constants or not finite."""
    every = VectorTarget(32, 16, strassen="on", winograd="off")
    assert "strassen" not in strategies(dense("20", 20, 20), every)
    module = dense()
    program = lower_module(prepare(module))
    schedule_program(program, every)
    assert "strassen" not in [k.choice.strategy for k in program.kernels]
    inputs = values(module)
    inputs["w"][3, 4] = np.inf
    assert "strassen" not in [k.choice.strategy for k in scheduled(module, every, inputs).kernels]


@pytest.mark.promise("strassen")
def test_strict_sums_are_as_written() -> None:
    assert C(math="strict").machine().strassen == "off"
    assert C().machine().strassen == "auto"
    with pytest.raises(UsageError, match="strassen=on has no meaning"):
        C(math="strict", strassen="on").check(["main"], "so")


def test_a_schedule_by_hand_is_for_the_product_as_it_is() -> None:
    with scripted(".*dense.*:\n  unroll(k)\n"):
        assert strategies(dense(), VectorTarget(32, 16, strassen="on")) == ["by_hand"]


@pytest.mark.promise("strassen")
def test_an_offer_is_chosen_by_hand() -> None:
    """By its label: other blocks than those of least cost, for a product that would stay as it is."""
    usual, module = VectorTarget(16, 16), dense()
    for label in ("4 pairs of rows on the stack, 12 columns", "10 pairs of rows on the stack, 4 columns"):
        with scripted(f'.*dense.*:\n  choose("strassen: {label}")\n'):
            (kernel,) = scheduled(module, usual).kernels
        assert kernel.choice.strategy == "by_hand"
        assert f"{label.split()[0]} of 10 pairs of rows and {label.split()[-2]} columns" in kernel.choice.reason
    with (
        pytest.raises(UsageError, match=r"line 1 of the schedule: no strategy offers 'strassen: 99 pairs"),
        scripted('.*dense.*:\n  choose("strassen: 99 pairs of rows")\n'),
    ):
        scheduled(module, usual)


@pytest.mark.promise("strassen")
@pytest.mark.parametrize("rows", [16, 49, 100, 196, 400, 1000])
def test_threads_have_parts_of_every_loop(rows: int) -> None:
    """Of few rows, the columns; and no loop that threads share stands in another one."""
    program = scheduled(dense(str(rows), 512, 512), VectorTarget(64, 32, strassen="on", tiles_bytes=1 << 19))
    (kernel,) = program.kernels
    assert kernel.choice.strategy == "strassen"
    shared = [s for s in pre_order(kernel.body) if isinstance(s, For) and s.kind == PARALLEL]
    heads = [loops for loops in map(shared_loops, shared) if not any(loops[0] in shared_loops(s)[1:] for s in shared)]
    assert all(prod(int(s.extent.value) for s in loops) >= 2 for loops in heads)
    assert not any(isinstance(s, For) and s.kind == PARALLEL for loops in heads for s in pre_order(loops[-1].body))


@pytest.mark.promise("strassen")
def test_no_arena_for_sums_that_fit_the_stack() -> None:
    """Sums, sizes of rows and marks of blocks are in the workspace only where weights are too many to be read again for every few rows."""
    for steps, results, places in ((128, 128, 0), (1024, 512, 3)):
        (kernel,) = scheduled(dense("512", steps, results), VectorTarget(64, 32, strassen="on")).kernels
        assert kernel.choice.strategy == "strassen"
        assert len(kernel.temporaries) == places


@pytest.mark.promise("strassen")
def test_sums_take_no_more_memory_than_tensors() -> None:
    """Seven sums of a quarter are more than the data, with few results beside them: bands, though weights are read once for each."""
    program = scheduled(dense("128", 3072, 768), VectorTarget(64, 32, strassen="on", l2_cache_bytes=1 << 20))
    (kernel,) = program.kernels
    (arena,) = [b for b in kernel.temporaries if b.name == "sums"]
    assert 128 * 3072 < arena.nbytes <= 4 * 128 * (3072 + 768)


WAYS: dict[str, Any] = {
    "stack": {"tiles_bytes": 40000},
    "bands": {"streamed_bytes": 1000, "tiles_bytes": 9000, "l2_cache_bytes": 4000},
    "threads": {
        "streamed_bytes": 1000,
        "tiles_bytes": 9000,
        "l2_cache_bytes": 4000,
        "openmp": True,
        "parallel_updates": 1,
    },
}


def product(x: np.ndarray, rest: str, way: str, **more: np.ndarray) -> np.ndarray:
    """The results of C for these rows, some of them times some weights, with nothing in the way of the algorithm."""
    rows, steps = x.shape
    module = dense(str(rows), steps, 64, rest)
    weights = {n: a for n, a in (values(module) | more).items() if n != "x"}
    options = ",".join(f"{n}={str(v).lower()}" for n, v in WAYS[way].items())
    built = irtool.build(module, params=weights, inputs=["x"], target=f"c{{strassen=on,{options}}}")
    assert built.report["kernels"][0]["strategy"] == "strassen"
    return np.asarray(built.run([x]))


@pytest.mark.promise("strassen")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rows", [64, 45, 3])
def test_errors_are_relative_to_each_row(way: str, rows: int) -> None:
    """What is added to a row's elements is taken from another row. Every row beside smaller and larger ones, and one of zeros."""
    generator = np.random.default_rng(7)
    x = generator.standard_normal((rows, 64)).astype("float32") * np.float32(10.0) ** generator.integers(
        -12, 12, (rows, 1)
    )
    x = x.astype("float32")
    x[rows // 2] = 0
    w = generator.standard_normal((64, 64)).astype("float32")
    actual = product(x, "%0", way, w=w)
    expected = x.astype("float64") @ w.T.astype("float64")
    assert not actual[rows // 2].any(), "zeros, as the product that is written has them"
    largest = np.maximum(np.abs(expected).max(axis=1, keepdims=True), 1e-30)
    assert (np.abs(actual - expected) / largest).max() < 3e-5


@pytest.mark.promise("strassen")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_what_is_not_finite_stays_in_its_row(way: str, value: float) -> None:
    x = np.random.default_rng(3).standard_normal((45, 64)).astype("float32")
    plain = product(x, "%0", way)
    for row in (0, 17, 44):
        changed = x.copy()
        changed[row, 5] = value
        result = product(changed, "%0", way)
        others = np.arange(45) != row
        np.testing.assert_allclose(result[others], plain[others], rtol=0, atol=1e-4)
        assert not np.isfinite(result[row]).all() or value == 3e38


@pytest.mark.promise("strassen")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("factor", [0, 1e-6])
def test_residuals_are_added_once(way: str, factor: float) -> None:
    """In blocks that are made in two turns as well, and where results take the place of what is added."""
    x = np.random.default_rng(3).standard_normal((45, 64)).astype("float32")
    x[4] *= np.float32(factor)
    plain = product(x, "nn.bias_add(%0, %b)", way)
    actual = product(x, "add(nn.bias_add(%0, %b), %x)", way)
    np.testing.assert_allclose(actual, plain + x, rtol=0, atol=1e-4)


@pytest.mark.promise("strassen")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("smallest", [1.0, 1e-6])
def test_a_norm_of_rows_of_zeros(way: str, smallest: float) -> None:
    """Zeros divided by a norm that is kept from zero by very little are zeros: padded windows of networks. In one turn, and in two."""
    x = np.random.default_rng(3).standard_normal((64, 64)).astype("float32")
    x[::5] = 0
    x[1] *= np.float32(smallest)
    normalised = product(x, "divide(%0, add(sqrt(sum(multiply(%0, %0), axis=[-1], keepdims=True)), 1e-12f))", way)
    assert not normalised[::5].any()
    others = np.arange(64) % 5 > 0
    np.testing.assert_allclose((normalised[others] ** 2).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.promise("strassen")
@pytest.mark.parametrize("place", [(5, slice(None)), (slice(None), 5)], ids=["filter", "channel"])
@pytest.mark.parametrize("factor", [0, 1e-3])
def test_weights_of_other_sizes_are_left_alone(place: Any, factor: float) -> None:
    """A filter of zeros has zeros for results, and what meets small weights only may be large."""
    every = VectorTarget(32, 16, strassen="on")
    module = dense("20", 16, 32)
    inputs = values(module)
    assert strategies(module, every) == ["strassen"]
    inputs["w"][place] *= factor
    assert "strassen" not in [k.choice.strategy for k in scheduled(module, every, inputs).kernels]
    inputs["w"][:] = 0
    assert [k.choice.strategy for k in scheduled(module, every, inputs).kernels] == ["strassen"]
