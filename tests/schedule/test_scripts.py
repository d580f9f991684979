"""Schedules by hand: what `build --explain` prints is read again, strategies from outside compete, mistakes are told."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.commands.explaining import explain
from irtool.diagnostics import UsageError
from irtool.lower import lower_module
from irtool.plugin.loading import plugins_kept
from irtool.schedule import VectorTarget, primitives, schedule_program
from irtool.schedule.script import read_script, scripted
from irtool.tir.program import Program
from tests.command_line import irtool as command
from tests.nests import run_program
from tests.schedule.test_nests import NETWORKS, made

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


def explained(program: Program) -> str:
    return explain(
        {"name": k.name, "stages": [asdict(s) for s in k.choice.stages], "strategy": k.choice.strategy}
        for k in program.kernels
    )


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.vector_bytes}x{m.registers}")
@pytest.mark.parametrize("key", NETWORKS)
def test_what_is_explained_is_read_again(key: str, machine: VectorTarget) -> None:
    module, arrays, want = made(key, weights=True)
    first = lower_module(module)
    schedule_program(first, machine)
    text = explained(first)
    second = lower_module(module)
    with scripted(text):
        schedule_program(second, machine)
    assert [repr(k.body) for k in second.kernels] == [repr(k.body) for k in first.kernels]
    got = run_program(second, arrays)
    np.testing.assert_allclose(np.asarray(got[0] if isinstance(got, list) else got), np.asarray(want), 1e-4, 1e-4)


MISTAKES = {
    "spilt(ax0, [2, 2])": "unknown primitive spilt",
    "split ax0": "is not a call such as split",
    "split(ax0)": "missing 1 required positional argument",
    "split(ax7, [2, 2])": "no loop is called ax7",
    "split(ax0, [3, 2])": "the factors multiply to 6",
    "split(ax0, [f(2)])": "is not a call such as split",
    "fuse(ax1, ax0)": "is not right inside of",
    "reorder([ax0, ax0])": "named twice",
    "vectorize(ax0)": "is not the innermost loop",
    "cache_write(ax0)": "nothing is reduced",
    "rfactor(ax1, 4)": "cannot be made in another order",
    "cache_read(p7, [ax1])": "p7 is read at 0 places",
    "cache_read(p0, [ax0])": "a copy is made for the innermost loops",
    "loop_partition(ax0, [[0, 3]])": "leaves out results: ax0 in [3, 4)",
    "loop_partition(ax0, [[0, 5]])": "makes more of ax0 than its 4 steps",
    "loop_partition(ax0, [[3, 2]])": "is not a range of ax0",
    "loop_partition(ax0, [[0, 2], [2, 4]])": "makes several parts",
    "store_transposed()": "do not lie side by side",
    "store_tail(3)": "there are no 3 elements",
    "stored(3)": "unknown primitive stored",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_told_with_its_line(line: str) -> None:
    with pytest.raises(UsageError) as caught:
        irtool.build(irtool.parse(MAP), emit="tir", schedule=f"# a comment\n.*:\n  {line}\n")
    said = str(caught.value)
    assert MISTAKES[line] in said and ("line 3 of the schedule" in said or "the schedule of line 2" in said)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["loop_partition(k1, [[0, 8]])"], "leaves out a part of what is reduced"),
        (["vectorize(k1)"], "is not the innermost loop over results"),
        (["parallel(k1)"], "is a loop of the reduction"),
        (["reorder([ax0, k1])"], "cannot change places"),
        (["cache_write(ax0)", "split(ax0, [2, 2])"], "is an axis of the accumulators"),
        (["sliding_window(k1)"], "there is no tile"),
        (["cache_write(ax0)", "sliding_window(k1)"], "read nothing in common"),
        (["rfactor(k1, 8, vectors=4)"], "is not a loop of the reduction with 32 steps"),
    ],
)
def test_reductions_have_mistakes_of_their_own(lines: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        irtool.build(irtool.parse(SUM), emit="tir", schedule=".*:\n" + "\n".join(lines))


@pytest.mark.parametrize("cached", ["", "  cache_write(ax1)\n"])
def test_vectors_have_no_more_elements_than_processors_have(cached: str) -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3, 4, 256), float32]) { sum(%x, axis=[0]) }\n'
    with pytest.raises(UsageError, match="vectors have at most 64 elements, and ax1 has 256 steps"):
        irtool.build(irtool.parse(text), emit="c", schedule=f".*:\n{cached}  vectorize(ax1)\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parallel(ax0)", "no kernel is named before it"),
        ("part:", "no kernel is named before it"),
        ("dense:\n  parallel(ax0)", "there is no kernel dense"),
        (".* stage 7:\n  parallel(ax0)", "as stage 7"),
        ("(:\n  parallel(ax0)", "is no regular expression"),
    ],
)
def test_what_is_for_no_stage_is_told(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        irtool.build(irtool.parse(MAP), emit="tir", schedule=text)


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
    assert code == 0 and '"unrolled"' in out
    assert err.endswith("  # unrolled_sum — a short sum\n  unroll(k1)\n")
