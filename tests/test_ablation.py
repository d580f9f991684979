"""The ablation: which stages change a program, what its records keep, how a ratio is found, and what the page says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import irtool
from benchmarks.ablation.build import Builder, switches
from benchmarks.ablation.changes import Changes
from benchmarks.ablation.lines import lines_of
from benchmarks.ablation.page import page
from benchmarks.ablation.reasons import REASONS
from benchmarks.ablation.record import Record, read_records
from benchmarks.ablation.turns import compare, settled_ratio
from benchmarks.operators.table import BY_NAME as OPERATORS
from irtool.schedule import SCHEDULE, strategies, without

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 32), float32], %w: Tensor[(16, 32), float32]) {
  %0 = nn.dense(%x, %w, units=16);
  %1 = nn.softmax(%0);
  transpose(%1, axes=[1, 0])
}
"""


def built(*off: str, instruments: tuple[Changes, ...] = (), emit: str = "c") -> irtool.driver.artifact.Artifact:
    weights = np.random.default_rng(0).normal(size=(16, 32)).astype("float32")
    with without(*off):
        return irtool.build(irtool.parse(TEXT), {"w": weights}, mcpu="x86-64-v3", emit=emit, instruments=instruments)


def sources(artifact: irtool.driver.artifact.Artifact) -> list[bytes]:
    return [Path(f).read_bytes() for f in artifact.files]


def test_stages_that_change_nothing_are_found() -> None:
    """The C text is the same without what changes nothing, and is another one without some that change something."""
    changes = Changes()
    expected = sources(built(instruments=(changes,)))
    assert {"FlushExponentials", "ScheduleKernels"} <= changes.stages
    assert {"FuseAttention", "NarrowConstants"}.isdisjoint(changes.stages)
    for stage in SCHEDULE:
        if stage.name not in changes.stages:
            assert sources(built(stage.name)) == expected
    assert sources(built("ScheduleKernels")) != expected


def test_two_builds_take_turns() -> None:
    comparison = compare(built(emit="so"), built("ChooseLayouts", emit="so"), {"x": np.ones((4, 32), "float32")}, 0.02)
    assert comparison["difference"] < 1e-5 and comparison["runs"] >= 7
    assert comparison["with"] > 0 and comparison["without"] > 0 and comparison["ratio"] > 0


def test_a_build_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="IrError"):
        compare(built(emit="so"), built(emit="so"), {"x": np.ones((4, 33), "float32")}, 0.02)


def test_the_ratio_is_the_one_nearer_to_one() -> None:
    assert settled_ratio([1.0, 2.0], [2.0, 4.0]) == 2.0
    assert settled_ratio([1.0, 4.0, 4.0], [2.0, 5.0, 5.0]) == 1.25  # one quiet turn of the first
    assert settled_ratio([2.0, 2.0, 2.0], [1.0, 3.0, 3.0]) == 1.0  # they disagree


def test_every_stage_and_strategy_has_lines() -> None:
    strategies.load()
    for name in [*(s.name for s in SCHEDULE if s.name != "NoteFiniteWeights"), *(cls.name for cls in strategies)]:
        assert lines_of(name) > 0, name


def record(folder: Path, network: str, precision: str = "float32", **switches: dict[str, object]) -> None:
    r = Record(folder, network, precision)
    r.facts = {"active": [*switches], "c_bytes": 1000, "arena_bytes": 64}
    r.switches = {**switches}
    r.save()


def timed(ratio: float) -> dict[str, object]:
    return {"with": 2.0, "without": 2.0 * ratio, "ratio": ratio, "difference": 0.0}


def test_records_come_back(tmp_path: Path) -> None:
    record(tmp_path, "unet", FuseKernels=timed(1.5), winograd={"failed": "why"})
    (recorded,) = read_records(tmp_path)
    assert (recorded.network, recorded.precision) == ("unet", "float32")
    assert recorded.moved("FuseKernels") and not recorded.moved("winograd") and recorded.needs("winograd")
    assert json.loads((tmp_path / "unet.float32.json").read_text())["switches"]["FuseKernels"]["ratio"] == 1.5


def test_the_page_lists_what_moves_none_and_what_moves_few(tmp_path: Path) -> None:
    record(tmp_path, "unet", FuseKernels=timed(1.5), FuseEpilogues=timed(1.005), BlockSums=timed(0.9))
    record(tmp_path, "lstm", "int8", FuseKernels=timed(1.2), winograd={"failed": "UsageError: none left"})
    record(tmp_path, "espcn", FuseKernels=timed(1.1), BlockSums={"same": True}, HalveProducts={"same": True})
    record(tmp_path, "softmax", FuseEpilogues=timed(1.3), HalveProducts={"failed": "why"})
    espcn = Record(tmp_path, "espcn", "float32")
    espcn.facts["active"] = ["FuseKernels", "SliceConstants"]
    espcn.save()
    slow = Record(tmp_path, "bert_base", "float32")
    slow.facts = {"active": ["WidenHalves"], "c_bytes": 1, "arena_bytes": 1, "error": "more than 900 s"}
    slow.save()
    text = page(read_records(tmp_path))
    nothing, none, few, needed = (
        text.split(f"## {title}\n")[1].split("\n## ")[0]
        for title in (
            "What moves no network",
            "What is active in no network",
            "What moves one network or two",
            "What is needed",
        )
    )
    assert (
        "- `FuseEpilogues`: softmax 1.30\n" in nothing and "`BlockSums`" not in nothing and "FuseKernels" not in nothing
    )
    assert "- `SliceConstants`: ESPCN\n" in nothing  # active, and not measured
    assert "- `WidenHalves`: BERT-base, 128\n" in nothing  # the time was over before its turn
    assert "- `ShareLoops`: newer than the measurements\n" in nothing
    assert f"- `HalveProducts`: {REASONS['HalveProducts']}; softmax needs it\n" in none and "FuseEpilogues" not in none
    assert "- `BlockSums`: U-Net, 128² 0.90\n" in few and "FuseKernels" not in few
    assert "- `winograd`, by 1: UsageError: none left\n" in needed
    assert "and 1 single operators" in text and "| softmax |" not in text
    row = next(line for line in text.splitlines() if line.startswith("| `FuseKernels`"))
    assert [c.strip() for c in row.split("|")][2:9] == ["3", "3", "3", "0", "1.50 U-Net, 128²", "", "1.256"]


def test_a_network_that_cannot_be_measured_is_listed(tmp_path: Path) -> None:
    r = Record(tmp_path, "vgg16", "float32")
    r.facts = {"error": "export: there is no operator"}
    r.save()
    assert "- VGG-16: export: there is no operator\n" in page(read_records(tmp_path))


def test_a_single_operator_is_built_as_networks_are() -> None:
    single = OPERATORS["softmax"]
    builder = Builder(single.module(), {}, single.inputs())
    build = builder.build()
    assert "row_reduction" in build.active and [*builder.inputs] == ["a"]
    build.close()


def test_reasons_are_those_of_stages_and_strategies() -> None:
    assert REASONS.keys() <= {*switches()}
