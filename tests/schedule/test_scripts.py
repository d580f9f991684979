"""Schedules by hand: what `build --explain` prints is read again, strategies from outside compete, mistakes are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.plugin.loading import plugins_kept
from irtool.schedule import VectorTarget, primitives, schedule_program
from irtool.schedule.scripts.script import read_script, scripted
from tests.command_line import irtool as command
from tests.nests import run_program
from tests.schedule.larger_networks import module_text, networks
from tests.schedule.networks import NETWORKS, build_network
from tests.schedule.replay import replayed

MACHINES = [VectorTarget(0), VectorTarget(16, 16), VectorTarget(64, 32)]
GOLDENS = Path(__file__).parent.parent / "golden" / "schedule" / "primitives"
PRIMITIVES = [n for n in primitives.__all__ if hasattr(getattr(primitives, n), "by_hand")]
SUM = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 16), float32]) { sum(%x, axis=[1]) }\n'
MAP = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 16), float32]) { exp(%x) }\n'

pytestmark = pytest.mark.promise("primitives")


@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_primitive_shows_what_it_does(name: str) -> None:
    assert "⇒" in (getattr(primitives, name).__doc__ or "") or name in ("parallel",)
    assert (GOLDENS / f"{name}.relay.expected").exists()


@pytest.mark.promise("replay")
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.vector_bytes}x{m.registers}")
@pytest.mark.parametrize("key", [k for k in networks() if k not in NETWORKS])
def test_every_step_of_large_networks_is_read_again(key: str, machine: VectorTarget) -> None:
    replayed(prepare(irtool.parse(module_text(key))), machine)


@pytest.mark.promise("replay")
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.vector_bytes}x{m.registers}")
@pytest.mark.parametrize("key", NETWORKS)
def test_what_is_explained_is_read_again(key: str, machine: VectorTarget) -> None:
    module, arrays, want = build_network(key, weights=True)
    second = replayed(module, machine)
    got = run_program(second, arrays)
    np.testing.assert_allclose(np.asarray(got[0] if isinstance(got, list) else got), np.asarray(want), 1e-4, 1e-4)


MISTAKES = {
    "spilt(ax0, [2, 2])": "unknown primitive spilt",
    "split ax0": "is not a call such as split",
    "split(ax0)": "missing 1 required positional argument",
    "split(ax7, [2, 2])": "no loop is called ax7",
    "split(ax0, [3, 2])": "the factors multiply to 6",
    "split(ax0, [f(2)])": "is not a call such as split",
    "fuse(ax1, ax0)": "is not directly inside of",
    "reorder([ax0, ax0])": "named twice",
    "vectorize(ax0)": "is not the innermost loop",
    "cache_write(ax0)": "nothing is reduced",
    "rfactor(ax1, 4)": "cannot run in another order",
    "cache_read(p7, [ax1])": "p7 is read at 0 places",
    "cache_read(p0, [ax0])": "a copy is for the innermost loops",
    "loop_partition(ax0, [[0, 3]])": "leaves out results: ax0 in [3, 4)",
    "loop_partition(ax0, [[0, 5]])": "computes more of ax0 than its 4 steps",
    "loop_partition(ax0, [[3, 2]])": "is not a range of ax0",
    "loop_partition(ax0, [[0, 2], [2, 4]])": "gives several parts",
    "store_transposed()": "are not contiguous",
    "store_tail(3)": "there are no 3 elements",
    "store_joined()": "is no axis of single sums",
    "stored(3)": "unknown primitive stored",
    "pack(p0, along=ax1, lanes=4)": "nothing is reduced",
    "combine_rows(2)": "no windows with rows and columns",
    "compute_at(packed)": "no copy packed is pending",
    "winograd(tile=4, tiles=2, filters=8, lanes=8)": "the stage is no convolution that winograd supports",
    "attention(rows=2, keys=4, lanes=4)": "the stage is no attention",
    "partition_windows(ax0)": "the stage is no reduction of windows",
    "compute_in_bands(ax1, 2)": "another stage than the next one reads this one",
    "block_reduction(ax1, 4, along=ax0)": "nothing is reduced",
    "tensorize(ax1, dot4_u8s8)": "ax1 is not a loop of the reduction",
    "tensorize(ax1, dot4_u8u4)": "unknown intrinsic dot4_u8u4",
    "tile([ax0, ax1], [4, 3])": "is no multiple of 3",
    "tile([ax0, ax1], [4, 0])": "is no multiple of 0",
    "tile([ax0, ax1], [4])": "there are 2 loops, and factors for 1",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_told_with_its_line(line: str) -> None:
    with pytest.raises(UsageError) as caught:
        irtool.build(irtool.parse(MAP), emit="tir", schedule=f"# a comment\n.*:\n  {line}\n")
    message = str(caught.value)
    assert MISTAKES[line] in message and ("line 3 of the schedule" in message or "the schedule of line 2" in message)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["loop_partition(k1, [[0, 8]])"], "leaves out a part of the reduction"),
        (["vectorize(k1)"], "is not the innermost loop over results"),
        (["parallel(k1)"], "is a loop of the reduction"),
        (["reorder([ax0, k1])"], "cannot change places"),
        (["cache_write(ax0)", "split(ax0, [2, 2])"], "is an axis of the accumulators"),
        (["sliding_window(k1)"], "there is no tile"),
        (["cache_write(ax0)", "sliding_window(k1)"], "share no elements"),
        (["rfactor(k1, 8, vectors=4)"], "is not a loop of the reduction with 32 steps"),
        (["rfactor(k1, 8, along=ax0)"], "ax0 is not the innermost loop over results, of 8 steps"),
        (["rfactor(k1, 4, along=ax0, together=3)"], "3 results together: they must divide 4 results along a loop"),
        (["rfactor(k1, 4, 2, along=ax0, together=2)"], "2 results together"),
        (["rfactor(k1, 4, together=2)"], "2 results together"),
        (["rfactor(k1, 4, along=ax0)", "split(ax0, [2, 2])"], "the reduction along ax0 is fixed already"),
        (["pack(p0, along=ax0, lanes=4)"], "compute_at is missing for packed"),
        (["pack(p0, along=ax0, lanes=4)", "cache_write(ax0)"], "compute_at is missing for packed"),
        (["pack(p0, along=ax0, lanes=4)", "compute_at(packed)", "packed:", "  vectorise(col)"], "unknown primitive"),
        (["pack(p0, along=ax0, lanes=4, scope=far)"], "a copy is local or global"),
        (["pack(p0, along=ax0, lanes=4)", "compute_at(packed, ax0)"], "ax0 is not inside of the copy"),
        (["pack(p0, along=ax0, lanes=4)", "compute_at(rows)"], "no copy rows is pending"),
        (["rows:", "  parallel(row)"], "no copy is called rows"),
        (
            [
                "split(ax0, [2, 2])",
                "parallel(ax0_o)",
                'pack(p0, along=ax0_i, lanes=4, scope="global")',
                "compute_at(packed, ax0_o)",
            ],
            "threads would share packed",
        ),
        (
            ["pack(p0, along=ax0, lanes=4)", "compute_at(packed)", "loop_partition(ax0, [[0, 2]])"],
            "leaves out results: ax0",
        ),
        (
            ["pack(p0, along=ax0, lanes=4)", "compute_at(packed)", "packed:", "  loop_partition(col, [[0, 2]])"],
            r"leaves out results: row1 in \[0, 16\), col in \[2, 4\)",
        ),
        (["part:", "  loop_partition(ax0, [[0, 4]])", "parallel(ax0)"], "follows the parts"),
        (
            ["loop_partition(ax0, [[0, 8]])", "split(ax0, [1, 8])", "cache_write(ax0_o)", "store_tail(4)"],
            "computes more of ax0",
        ),
        (["split(ax0, [1, 4])", "cache_write(ax0_o)", "store_tail(3)"], "is for a tail"),
        (["compute_in_bands(ax0, 2)"], "reads this one"),
        (["parallel(ax0)", "compute_in_bands(ax0, 2)"], "is for two stages"),
        (["rfactor(k1, 4)", "cache_write(ax0)"], "accumulators are fixed already"),
        (["block_reduction(k1, 5, along=ax0)"], "which are not several blocks of 5"),
        (["block_reduction(k1, 16, along=ax0)"], "which are not several blocks of 16"),
        (["block_reduction(ax0, 2, along=ax0)"], "not the outermost loop of the reduction"),
        (["block_reduction(k1, 4, along=k1)"], "k1 is a loop of the reduction"),
        (["block_reduction(k1, 4, along=ax0)"], "compute_at is missing for part"),
        (["block_reduction(k1, 4, along=ax0)", "compute_at(part, ax0)"], "not inside of the partial results"),
        (["block_reduction(k1, 4, along=ax0)", "split(k1, [4, 4])", "compute_at(part)"], "k1 has changed"),
        (["cache_write(ax0)", "block_reduction(k1, 4, along=ax0)"], "accumulators and copies are fixed"),
        (["cache_write(ax0)", "rfactor(k1, 4)"], "accumulators are fixed already"),
        (["vectorize(ax0)"], "accumulators are single numbers"),
        (["tensorize(k1, dot4_u8s8)"], "dot4_u8s8 takes 4 steps, and k1 has 16"),
        (["split(k1, [4, 4])", "tensorize(k1_i, dot4_u8s8)"], "a step of k1_i is not one of dot4_u8s8"),
        (["split(k1, [8, 2])", "tensorize(k1_i, dot2_bf16)"], "a step of k1_i is not one of dot2_bf16"),
        (["split(k1, [4, 4])", "cache_write(ax0)", "tensorize(k1_i, dot4_u8s8)"], "fixed already"),
    ],
)
def test_reductions_have_mistakes_of_their_own(lines: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        irtool.build(irtool.parse(SUM), emit="tir", schedule="\n  ".join([".*:", *lines]))


@pytest.mark.parametrize("cached", ["", "  cache_write(ax1)\n"])
def test_vectors_have_no_more_elements_than_processors_have(cached: str) -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3, 4, 256), float32]) { sum(%x, axis=[0]) }\n'
    with pytest.raises(UsageError, match="vectors have at most 64 elements, and ax1 has 256 steps"):
        irtool.build(irtool.parse(text), emit="c", schedule=f".*:\n{cached}  vectorize(ax1)\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parallel(ax0)", "no kernel is named before it"),
        ("part:", "no kernel is named before it"),
        ("dense:\n  parallel(ax0)", "no kernel matches dense"),
        (".* stage 7:\n  parallel(ax0)", "as stage 7"),
        ("(:\n  parallel(ax0)", "is no regular expression"),
    ],
)
def test_what_is_for_no_stage_is_told(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        irtool.build(irtool.parse(MAP), emit="tir", schedule=text)


BY_HAND = {
    "a condition stays when loops change places": (
        "nn.max_pool2d(%x, pool_size=[3, 3], padding=[1, 1, 1, 1])",
        [(1, 2, 6, 6)],
        "reorder([ax2, ax3, ax1])",
    ),
    "a condition on a loop that is spread over accumulators": (
        "nn.avg_pool2d(%x, pool_size=[3, 8], padding=[0, 0, 0, 3])",
        [(1, 2, 6, 9)],
        "rfactor(k1, 4)",
    ),
    "both places of an operand packed": (
        "nn.batch_matmul(%x, %x, transpose_b=True)",
        [(2, 6, 5)],
        "pack(p0[1], along=j, lanes=4)\ncompute_at(packed, n)\npack(p0, along=i, lanes=4, name=left)\ncompute_at(left)",
    ),
    "parts of a part": (
        "nn.dense(%x, %w, units=None)",
        [(6, 5), (10, 5)],
        "part:\n  loop_partition(ax1, [[0, 8]])\n  split(ax1, [2, 4], [band, ax1])\n  reorder([band, ax0, ax1])\n"
        "  pack(p1, along=ax1, lanes=4)\n  compute_at(packed, band)\n  packed:\n    vectorize(col)\n"
        "  part:\n    loop_partition(ax0, [[0, 4]])\n    cache_write(ax1)\n    vectorize(ax1)\n"
        "  part:\n    loop_partition(ax0, [[4, 6]])\n"
        "part:\n  loop_partition(ax1, [[8, 10]])",
    ),
    "windows of volumes, in bands and a band that is left": (
        "nn.max_pool3d(%x, pool_size=[2, 3, 3], strides=[2, 1, 2], padding=[0, 1, 1, 0, 1, 1])",
        [(1, 2, 6, 5, 9)],
        "combine_rows(2, lanes=4)",
    ),
    "a tail in the workspace": (
        "nn.conv1d(%x, %w, strides=[3], padding=[2, 1])",
        [(1, 3, 20), (4, 3, 4)],
        'pack(p0, along=ax2, lanes=8, scope="global")\ncompute_at(packed)',
    ),
}


@pytest.mark.parametrize("key", BY_HAND)
def test_values_stay_whatever_the_schedule(key: str) -> None:
    text, shapes, lines = BY_HAND[key]
    generator = np.random.RandomState(3)
    arrays = {n: generator.randn(*s).astype("float32") for n, s in zip("xw", shapes)}
    params = ", ".join(f"%{n}: Tensor[{a.shape}, float32]" for n, a in arrays.items()).replace(",)", ")")
    module = irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {text} }}\n')
    program = lower_module(prepare(module))
    with scripted(".*:\n" + lines):
        schedule_program(program, VectorTarget(16, 16))
    (got,) = run_program(program, list(arrays.values()))
    np.testing.assert_allclose(got, irtool.evaluate(module, arrays), 1e-5, 1e-5)


def test_vectors_have_no_conditions_of_their_own() -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 2, 6, 8), float32]) { nn.max_pool2d(%x, pool_size=[3, 3], padding=[1, 1]) }\n'
    for lines in ("cache_write(ax3)\n  vectorize(ax3)", "vectorize(ax3)\n  cache_write(ax3)"):
        with pytest.raises(UsageError, match="line 3 of the schedule: a condition on the operand depends on ax3"):
            irtool.build(irtool.parse(text), emit="c", schedule=f".*:\n  {lines}\n")


@pytest.mark.parametrize(
    "lines", ["cache_write(ax0)", "cache_write(ax0)\n  vectorize(ax1)", "cache_write(ax0)\n  unroll(ax0)"]
)
def test_accumulators_need_not_be_registers(lines: str) -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 6), float32], %w: Tensor[(8, 6), float32]) { nn.dense(%x, %w, units=None) }\n'
    generator = np.random.RandomState(1)
    arrays = {"x": generator.randn(4, 6).astype("float32"), "w": generator.randn(8, 6).astype("float32")}
    module = irtool.parse(text)
    got = irtool.build(module, schedule=f".*:\n  {lines}\n").run(arrays)
    np.testing.assert_allclose(got, irtool.evaluate(module, arrays), 1e-5, 1e-5)


def test_a_schedule_by_hand_is_built_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.relay").write_text(SUM)
    Path("by_hand.txt").write_text(".*sum:\n  split(ax0, [2, 2])\n  rfactor(k1, 4)\n  parallel(ax0_o)\n")
    code, out, err = command(
        "build", "--schedule=by_hand.txt", "--explain", "-q", "--no-cache", "-o", "out", "net.relay"
    )
    assert (code, err) == (0, "") and "# by_hand — line 1 of the schedule" in out
    assert read_script(out)
    x = np.arange(64, dtype="float32").reshape(4, 16)
    np.testing.assert_allclose(irtool.load("out").run([x]), x.sum(axis=1))


def test_what_a_build_explains_is_a_schedule_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --quiet, too: what is said of files goes to standard error."""
    monkeypatch.chdir(tmp_path)
    Path("net.relay").write_text(SUM)
    code, out, err = command("build", "--explain", "--no-cache", "--emit=c", "-o", "net.c", "net.relay")
    assert code == 0 and "wrote net.c" in err and "1 kernel, " in err
    assert [e.kernel for e in read_script(out)] == ["tvmgen_default_fused_sum"]


STRATEGY = '''
"""Sums of rows from their end."""

from irtool.schedule import Block, Candidate, Reduction, Strategy, lower, strategy
from irtool.schedule.primitives import unroll


@strategy("unrolled_sum")
class UnrolledSum(Strategy):
    """All steps of a short sum written out."""

    plevel = 15

    def choose(self, stage):
        r = stage.reduction
        return Candidate(0.5, "a short sum", r) if isinstance(r, Reduction) and r.inner and r.inner[-1][1] <= 16 else None

    def apply(self, stage, candidate):
        block = Block.of(candidate.plan)
        return lower(unroll(block, candidate.plan.inner[-1][0]))
'''


def test_a_strategy_from_outside_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(STRATEGY)
    Path("net.relay").write_text(SUM)
    with plugins_kept():
        code, out, err = command("build", "--load=own.py", "--explain", "-q", "--emit=tir", "net.relay")
    assert code == 0 and '"unroll"' in out
    assert err.endswith("  # unrolled_sum — a short sum\n  unroll(k1)\n")


def test_tiles_of_one_step() -> None:
    """A factor of 1 is a tile like others."""
    text = irtool.build(irtool.parse(MAP), emit="tir", schedule=".*:\n  tile([ax0, ax1], [1, 2])\n").files
    assert text
