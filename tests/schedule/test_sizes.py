"""The numbers by which nests are sized: fields of the target, with units, which a user can set and which all do something."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import irtool
from irtool.commands.backends import command
from irtool.diagnostics import UsageError
from irtool.driver.options import choose_backend
from irtool.driver.prepare import prepare
from irtool.driver.stages import run_stages
from irtool.lower import lower_module
from irtool.printer.program import program_text
from irtool.schedule.cost.register_tiles import choose_tile
from irtool.schedule.layouts.choice import layout_preferences
from irtool.tir.vector_target import SIZES, VectorTarget

pytestmark = pytest.mark.promise("sizes")

VERSION = '#[version = "0.0.5"]\n'
WIDE = VectorTarget(64, 32)

NETWORKS = {
    "convolution": """def @main(%x: Tensor[(1, 16, 56, 56), float32], %w: Tensor[(32, 16, 3, 3), float32]) {
      nn.conv2d(%x, %w, padding=[1, 1], channels=32, kernel_size=[3, 3]) }""",
    "strided": """def @main(%x: Tensor[(1, 64, 112, 112), float32], %w: Tensor[(64, 64, 3, 3), float32]) {
      nn.conv2d(%x, %w, padding=[1, 1], strides=[2, 2], channels=64, kernel_size=[3, 3]) }""",
    "dense": """def @main(%x: Tensor[(64, 256), float32], %w: Tensor[(512, 256), float32]) {
      nn.softmax(nn.dense(%x, %w, units=512)) }""",
    "product": """def @main(%x: Tensor[(67, 256), float32], %w: Tensor[(256, 1024), float32]) {
      nn.matmul(%x, %w, units=1024) }""",
    "tall": """def @main(%x: Tensor[(2048, 256), float32], %w: Tensor[(256, 256), float32]) {
      nn.matmul(%x, %w, units=256) }""",
    "rows": """def @main(%x: Tensor[(256, 64), float32], %g: Tensor[(64), float32], %b: Tensor[(64), float32]) {
      nn.softmax(nn.layer_norm(%x, %g, %b)) }""",
    "pooling": "def @main(%x: Tensor[(1, 3, 20, 20), float32]) { nn.max_pool2d(%x, pool_size=[5, 5], padding=[2, 2, 2, 2]) }",
}

OF_THREADS = {"stack_bytes", "threads"}
"""What tests/backends/test_stack.py tries."""
IN_WINOGRAD = {"tiles_bytes", "transformed_updates", "paired_products"}
"""What tests/schedule/test_winograd.py tries."""
IN_MATRIX_TILES = {"byte_tiles", "pair_tiles"}
"""What tests/backends/test_amx.py tries."""
WITHOUT_VECTORS = {"word_products", "scalar_results"}
"""What tests/schedule/test_scalar_tiles.py tries."""
OF_MATRICES = {"product_rows", "summed_products"}
"""What tests/backends/test_matrix_products.py and test_microcontrollers.py try."""
OF_HALVES = {"native_halves", "wide_products"}
"""What tests/backends/test_native_halves.py and test_wide_pairs.py try."""

EFFECTS: dict[str, tuple[float, str]] = {
    "registers": (16, "dense"),
    "latency": (1, "rows"),
    "scratch_bytes": (1, "rows"),
    "packed_bytes": (1, "dense"),
    "l1_cache_bytes": (1 << 30, "product"),
    "prefetched_tiles": (1, "product"),
    "joined_parts": (1000, "product"),
    "l2_cache_bytes": (1 << 30, "tall"),
    "streamed_bytes": (1, "rows"),
    "parallel_updates": (1, "pooling"),
    "parallel_elements": (1, "pooling"),
    "most_parts": (2, "convolution"),
    "least_parts": (1, "convolution"),
    "part_stores": (1, "convolution"),
    "interleaved_rows": (1, "rows"),
    "unrolled_updates": (8, "convolution"),
    "band_results": (1000, "strided"),
    "copy_cost": (1 << 30, "dense"),
    "copied_reads": (1e9, "dense"),
    "guarded_reads": (30, "pooling"),
    "recomputed_cost": (24, "rows"),
}


@cache
def scheduled(network: str, sizes: tuple[tuple[str, float], ...] = ()) -> str:
    prepared = prepare(irtool.parse(VERSION + NETWORKS[network]), opt_level=3)
    program = run_stages(prepared, ["main"], WIDE.resized(dict(sizes)))
    return program_text(program) + repr([list(k.shares.values()) for k in program.kernels])


@pytest.mark.parametrize("name", EFFECTS)
def test_a_size_has_an_effect(name: str) -> None:
    value, network = EFFECTS[name]
    assert scheduled(network, ((name, value),)) != scheduled(network)


@pytest.mark.parametrize("name", ["multiply_adds", "loads"])
def test_throughput_decides_tiles(name: str) -> None:
    def tiles(target: VectorTarget) -> list[Any]:
        return [choose_tile(rows, vectors, target) for rows in range(1, 12) for vectors in range(1, 9)]

    narrow = VectorTarget(32, 16)
    assert tiles(narrow.resized({name: 1})) != tiles(narrow)


def preferences(text: str, target: VectorTarget, constant: bool = False) -> dict[Any, Any]:
    (kernel,) = lower_module(prepare(irtool.parse(VERSION + text), opt_level=3), ["main"]).kernels
    return layout_preferences(kernel, target, frozenset(kernel.inputs[1:] if constant else ()))


def test_small_reductions_have_no_blocks() -> None:
    text = NETWORKS["convolution"]
    assert preferences(text, WIDE, constant=True)
    assert not preferences(text, WIDE.resized({"blocked_updates": 1 << 36}), constant=True)


def test_short_products_have_blocks_where_a_copy_does_not_pay() -> None:
    text = """def @main(%x: Tensor[(8, 11, 99), float32], %w: Tensor[(8, 99, 9), float32]) {
      nn.batch_matmul(%x, %w, transpose_b=False) }"""
    assert not preferences(text, WIDE)
    assert preferences(text, WIDE.resized({"copied_steps": 100}))


def test_every_size_is_tested() -> None:
    assert {*EFFECTS, "multiply_adds", "loads", "blocked_updates", "copied_steps"} == set(
        SIZES
    ) - IN_WINOGRAD - WITHOUT_VECTORS - OF_MATRICES - IN_MATRIX_TILES - OF_HALVES - OF_THREADS
    assert all(f.metadata["unit"] and f.metadata["meaning"] for f in SIZES.values())


SMALL = VERSION + "def @main(%x: Tensor[(256, 64), float32]) { nn.softmax(%x) }"


def c_of(folder: Path, target: str) -> str:
    irtool.build(irtool.parse(SMALL), target=target, mcpu="x86-64-v3", emit="c", out_dir=folder)
    return (folder / "model.c").read_text()


def test_targets_set_sizes(tmp_path: Path) -> None:
    usual = c_of(tmp_path, "c")
    assert c_of(tmp_path, "c{interleaved_rows=4,latency=4}") == usual
    assert c_of(tmp_path, "c{interleaved_rows=1}") != usual
    assert c_of(tmp_path, "c -interleaved_rows=1") == c_of(tmp_path, "c{interleaved_rows=1}")
    assert choose_backend("llvm{copied_reads=2.5}", {})[2] == (("copied_reads", 2.5),)


@pytest.mark.parametrize(
    "target, message",
    [
        ("c{latency=x}", "latency='x' is not a whole number"),
        ("c{latency=1.5}", "latency=1.5 is not a whole number"),
        ("c{latency=true}", "latency=True is not a whole number"),
        ("c{copied_reads=many}", "copied_reads='many' is not a number"),
        ("c{latency=0}", "latency=0 is not between 1 and 1099511627775"),
        ("c{scratch_bytes=300000}", "scratch_bytes=300000 is not between 1 and 262144"),
        ("c{copied_reads=nan}", "copied_reads=nan is not between 1 and 1099511627775"),
        ("c{latency=4} -latency=5", "the flag latency is given twice: 4 and 5"),
        ("c{latencies=4}", "the backend c has no flag latencies"),
        ("c{vector_bytes=16}", "the backend c has no flag vector_bytes"),
    ],
)
def test_wrong_sizes_are_refused(target: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        choose_backend(target, {})


def test_a_misspelt_size_is_named() -> None:
    with pytest.raises(UsageError) as error:
        choose_backend("c{latencies=4}", {})
    assert "latency" in str(error.value.diagnostics[0].help)


def test_sizes_are_listed_and_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """By `irtool backends NAME`, and with default and unit on the page of schedules."""
    page = (Path(irtool.__file__).parent.parent / "docs/schedules.md").read_text()
    command.main(["c"], standalone_mode=False)
    shown = capsys.readouterr().out
    for name, f in SIZES.items():
        default = "processor" if name == "registers" else str(f.default)
        assert f"| `{name}` | {default} | {f.metadata['unit']} | {f.metadata['meaning']} |" in page
        assert re.search(rf"^{name} +{default} +{f.metadata['unit']} +{re.escape(f.metadata['meaning'])}$", shown, re.M)
