"""Attention, Winograd's algorithm and windows of different sizes: one call makes several stages, each with a schedule of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.passes.core.bind import bind_params
from irtool.schedule import VectorTarget, schedule_program
from irtool.schedule.scripts.script import scripted
from irtool.tir.program import Program
from tests.nests import run_program
from tests.schedule.convolutions import network
from tests.schedule.masked_attention import MASKED, SHAPES
from tests.schedule.programs import values
from tests.schedule.replay import explained, replayed

MACHINES = [VectorTarget(16, 16), VectorTarget(64, 32)]
LONG = (
    "nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=False)), %v, transpose_b=True)",
    {"q": (3, 50, 16), "k": (3, 16, 4101), "v": (3, 17, 4101)},
)
SHORT = (
    "nn.batch_matmul(nn.softmax(multiply(nn.batch_matmul(%q, %k, transpose_b=False), 0.125f)), %v, transpose_b=False)",
    {"q": (2, 24, 8), "k": (2, 8, 9), "v": (2, 9, 4)},
)
POOL = ("nn.adaptive_avg_pool2d(%x, output_size=[3, 5])", {"x": (1, 1, 10, 17)})
CASES = {
    "attention with a mask": ((MASKED, SHAPES), "attention"),
    "attention in the workspace": (LONG, "attention"),
    "mean of windows": (POOL, "uneven_windows"),
    "largest of windows": (
        ("nn.adaptive_max_pool2d(%x, output_size=[7, 1])", {"x": (1, 16, 33, 33)}),
        "uneven_windows",
    ),
}


def of_text(text: str, shapes: dict[str, tuple[int, ...]]) -> irtool.IRModule:
    params = ", ".join(f"%{n}: Tensor[{s}, float32]" for n, s in shapes.items())
    return irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{\n{text}\n}}\n'))


def convolution(size: int = 16, image: tuple[int, int] = (13, 12)) -> irtool.IRModule:
    """Between two others, with constant weights."""
    module = network(size, size, image)
    return bind_params(module, {n: a for n, a in values(module).items() if n != "x"})


def scheduled(module: irtool.IRModule, target: VectorTarget, script: str = "") -> Program:
    program = lower_module(prepare(module))
    with scripted(script):
        schedule_program(program, target)
    return program


def strategies(program: Program) -> set[str]:
    return {s.strategy for k in program.kernels for s in k.choice.stages}


def check_values(module: irtool.IRModule, program: Program) -> None:
    generator = np.random.default_rng(3)
    shapes = [[int(d) for d in p.checked_type.shape] for p in module["main"].params]
    inputs = [generator.standard_normal(s).astype("float32") for s in shapes]
    want = np.asarray(irtool.evaluate(module, inputs))
    (got,) = run_program(program, inputs)
    np.testing.assert_allclose(got, want, atol=1e-4 * float(np.abs(want).max()))


@pytest.mark.promise("replay")
@pytest.mark.parametrize("threads", [False, True], ids=["serial", "threads"])
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.vector_bytes}x{m.registers}")
@pytest.mark.parametrize("case", CASES)
def test_what_is_explained_is_read_again(case: str, machine: VectorTarget, threads: bool) -> None:
    (text, shapes), strategy = CASES[case]
    target = replace(machine, parallel_updates=1, parallel_elements=1) if threads else machine
    module = of_text(text, shapes)
    assert strategy in strategies(scheduled(module, target))
    replayed(prepare(module), target)


@pytest.mark.promise("replay")
@pytest.mark.parametrize(
    "target",
    [
        VectorTarget(16, 16, winograd="2"),
        VectorTarget(16, 16, winograd="2", tiles_bytes=4000, l2_cache_bytes=8000),
        VectorTarget(16, 16, winograd="4", tiles_bytes=9000, l2_cache_bytes=18000, streamed_bytes=20000),
        VectorTarget(64, 32, winograd="4"),
    ],
    ids=["2", "2 in a band", "4 in bands", "4"],
)
def test_transformed_tiles_are_read_again(target: VectorTarget) -> None:
    module = convolution(image=(17, 16))
    first = scheduled(module, target)
    assert "winograd" in strategies(first)
    assert ("bands=" in explained(first.kernels)) == (target.tiles_bytes < 10000)
    assert ("prefetch(p1, p" in explained(first.kernels)) == (target.winograd == "4"), "weights come from memory"
    replayed(prepare(module), target)


def test_a_script_chooses_the_tiles() -> None:
    """Other than those of least cost, other blocks of filters, bands; stages that nothing is said of stay as plain loops."""
    module = convolution()
    usual = VectorTarget(32, 16)
    for call in (
        "winograd(tile=4, tiles=3, filters=8, lanes=8)",
        "winograd(tile=2, tiles=42, filters=16, lanes=8)",
        "winograd(4, 5, filters=16, lanes=8, bands=2)",
        "winograd(4, 5, filters=16, lanes=8, bands=2, own=1)",
        "winograd(4, 2, filters=8, lanes=8, bands=1, own=1)",
    ):
        program = scheduled(module, usual, f".*conv2d_add_nn_relu:\n  {call}\n  data:\n    vectorize(v)\n")
        (explanation,) = (explained([k]) for k in program.kernels if k.name.endswith("conv2d_add_nn_relu"))
        assert f"# by_hand — line 1 of the schedule\n  {call}\n  data:\n    vectorize(v)\n" in explanation
        check_values(module, program)


@pytest.mark.parametrize(
    "lines",
    [
        ["attention(rows=5, keys=4, lanes=4)"],
        ["attention(rows=24, keys=8, lanes=8, parts=2)", "scores:", "  cache_write(j)", "  vectorize(j)"],
        ["attention(rows=7, keys=8, lanes=2)", "out_at_end:", "  unroll(k)", "T_softmax_exp:", "  split(j, [5, 2])"],
    ],
)
def test_a_script_chooses_the_rows(lines: list[str]) -> None:
    module = of_text(*SHORT)
    script = "\n  ".join([".*softmax.*:", *lines])
    check_values(module, scheduled(module, VectorTarget(16, 16, parallel_updates=1), script))


def test_a_script_is_built_and_run() -> None:
    """In C: what would be registers are arrays, where a stage is not in vectors."""
    inputs = values(network(16, 16, (13, 12)))
    script = ".*conv2d_add_nn_relu:\n  winograd(tile=4, tiles=3, filters=8, lanes=4)\n  half_data:\n    vectorize(v)\n"
    module = convolution()
    actual = irtool.build(module, schedule=script).run([inputs["x"]])
    np.testing.assert_allclose(actual, irtool.evaluate(module, [inputs["x"]]), atol=1e-3)


MISTAKES = [
    ("conv", ["winograd(tile=3, tiles=3, filters=8, lanes=4)"], "line 2 of the schedule: tiles have 2 or 4 results"),
    (
        "conv",
        ["winograd(tile=4, tiles=3, filters=8, lanes=5)"],
        "operands and results are no contiguous vectors of 5 channels",
    ),
    ("conv", ["winograd(tile=4, tiles=3, filters=12, lanes=4)"], "12 output channels at a time are no whole vectors"),
    ("conv", ["winograd(tile=4, tiles=99, filters=8, lanes=4)"], "there are 12 tiles, and a block cannot have 99"),
    ("conv", ["winograd(tile=4, tiles=3, filters=8, lanes=4, bands=5)"], "4 blocks of 3 tiles cannot form 5"),
    ("conv", ["winograd(tile=4, tiles=3, filters=8, lanes=4, own=1)"], "own=1 is for bands"),
    ("conv", ["winograd(tile=4, tiles=3, filters=8, lanes=4, bands=1, own=2)"], "own=1 is for bands"),
    ("conv", ["winograd(tile=4, tiles=3, filters=8)"], "missing a required argument: 'lanes'"),
    ("conv", ["winograd(tile=4, tiles=3, filters=all, lanes=4)"], "filters is a number, not all"),
    (
        "conv",
        ["winograd(tile=4, tiles=3, filters=8, lanes=4)", "date:", "  vectorize(v)"],
        "line 3 of the schedule: the nest has no stage date",
    ),
    (
        "conv",
        ["winograd(tile=4, tiles=3, filters=8, lanes=4)", "data:", "  vectorize(w)"],
        "line 4 of the schedule: no loop is called w",
    ),
    (
        "conv",
        ["winograd(tile=4, tiles=3, filters=8, lanes=4)", "data:", "  parallel(x)"],
        "line 3 of the schedule: threads share the loops around data",
    ),
    (
        "conv",
        ["winograd(tile=4, tiles=3, filters=8, lanes=4)", "data:", "  unroll(x)", "data:", "  vectorize(v)"],
        "line 5 of the schedule: data is scheduled already",
    ),
    (
        "conv",
        ["winograd(tile=4, tiles=3, filters=8, lanes=4)", "vectorize(v)"],
        "line 3 of the schedule: winograd has split the stage",
    ),
    (
        "conv",
        ["winograd(tile=4, tiles=3, filters=8, lanes=4)", "product:", "  loop_partition(p, [[0, 9]])"],
        "leaves out results: p in",
    ),
    ("attention", ["attention(rows=25, keys=4, lanes=4)"], "line 2 of the schedule: there are 24 rows"),
    ("attention", ["attention(rows=8, keys=6, lanes=4)"], "6 columns are no whole vectors of 4"),
    ("attention", ["attention(rows=8, keys=16, lanes=16)"], "rows of 9 columns are not made in vectors of 16"),
    ("attention", ["attention(rows=8, keys=4, lanes=4, parts=3)"], "2 products are not divided into 3 parts"),
    ("attention", ["attention(rows=8, keys=4, lanes=4)", "softmax:"], "has no stage softmax"),
    ("pool", ["partition_windows(ax2)"], "windows do not differ along ax2"),
    ("pool", ["partition_windows(ax3, 3)"], "too many positional arguments"),
    ("pool", ["vectorize(ax3)", "partition_windows(ax3)"], "is no map and no reduction"),
]


@pytest.mark.parametrize(("case", "lines", "message"), MISTAKES)
def test_a_mistake_is_told_with_its_line(case: str, lines: list[str], message: str) -> None:
    module = {"conv": convolution, "attention": lambda: of_text(*SHORT), "pool": lambda: of_text(*POOL)}[case]()
    name = {"conv": ".*conv2d_add_nn_relu", "attention": ".*softmax.*", "pool": ".*pool2d stage 1"}[case]
    with pytest.raises(UsageError) as caught:
        scheduled(module, VectorTarget(16, 16, parallel_updates=1), "\n  ".join([f"{name}:", *lines]))
    assert message in str(caught.value)
    assert "of the schedule" in str(caught.value) or "the schedule of line" in str(caught.value)


def test_what_makes_stages_comes_first() -> None:
    with pytest.raises(UsageError, match="line 3 of the schedule: attention splits an entire stage"):
        scheduled(of_text("exp(%x)", {"x": (4, 8)}), VectorTarget(16, 16), ".*:\n  unroll(ax0)\n  attention(8, 4, 4)\n")
