"""`irtool viz --schedule`: the loops of kernels before and after each primitive."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import irtool
from irtool.schedule.primitives.base import watching
from irtool.viz.loops import ScheduleRecorder
from tests.command_line import irtool as command
from tests.viz.tags import tags_of

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 96), float32], %w: Tensor[(128, 96), float32]) {
  nn.relu(nn.dense(%x, %w, units=128))
}
"""
TARGET = "c{mcpu=skylake-avx512}"


def page(tmp_path: Path, *words: str) -> dict[str, Any]:
    path = tmp_path / "net.relay"
    path.write_text(NET, encoding="utf-8")
    code, out, err = command("viz", path, "--schedule", f"--target={TARGET}", *words)
    assert (code, err) == (0, "")
    data: dict[str, Any] = json.loads(tags_of(out).scripts[0])
    return data


def test_there_is_a_step_for_each_primitive_that_explain_prints(tmp_path: Path) -> None:
    artifact = irtool.build(irtool.parse(NET), target=TARGET, emit="tir")
    (kernel,) = artifact.report["kernels"]
    calls = [line.strip() for s in kernel["stages"] for line in s["primitives"] if line.strip().endswith(")")]
    data = page(tmp_path)
    titles = [s["title"] for s in data["steps"]]
    assert [t for t in titles if " stage " not in t] == calls and calls
    starts = [s for s in data["steps"] if " stage " in s["title"]]
    assert [s["remark"] for s in starts] == [s["reason"] for s in kernel["stages"]]


def test_loops_are_drawn_as_they_are_by_then(tmp_path: Path) -> None:
    data = page(tmp_path)
    views = data["views"]
    first, last = views[0], views[data["steps"][-1]["view"]]
    labels = [n["label"] for n in first["nodes"]]
    assert "ax0 in 64" in labels and "ax1 in 128" in labels and "k in 96" in labels and labels[-1] == "compute"
    assert any("vectorized" in line for line in last["text"]) and not any(
        "vectorized" in line for line in first["text"]
    )
    assert any(re.fullmatch(r" *accumulators: [\dx ]+", line) for line in last["text"])
    assert all("mark" not in n for n in first["nodes"]) and any(
        n.get("mark") == "new" for v in views for n in v["nodes"]
    )


def test_only_kernels_with_that_name_are_drawn(tmp_path: Path) -> None:
    net = NET.replace("nn.relu(nn.dense(%x, %w, units=128))", "nn.softmax(nn.dense(%x, %w, units=128))")
    path = tmp_path / "net.relay"
    path.write_text(net, encoding="utf-8")
    groups = {}
    for words in ([], ["--kernel=softmax$"]):
        code, out, err = command("viz", path, "--schedule", f"--target={TARGET}", *words)
        assert (code, err) == (0, "")
        data = json.loads(tags_of(out).scripts[0])
        groups[len(words)] = list(dict.fromkeys(s["group"] for s in data["steps"]))
        assert data["steps"][0]["view"] == 0 and data["views"]
    assert groups[0][0] == "fused_nn_dense stage 0" and len(groups[0]) > len(groups[1]) > 1
    assert groups[1] == [g for g in groups[0] if g.startswith("fused_nn_softmax ")]
    code, out, err = command("viz", path, "--schedule", "--kernel=conv")
    assert (code, out) == (1, "") and "there are fused_nn_dense, fused_nn_softmax" in err
    for words, message in (
        (["--kernel=conv"], "goes with --schedule"),
        (["--schedule", "--kernel=("], "no regular expression"),
    ):
        code, out, err = command("viz", path, *words)
        assert (code, out) == (2, "") and message in err


def test_watching_changes_no_schedule() -> None:
    plain = irtool.build(irtool.parse(NET), target=TARGET, emit="tir").report["kernels"]
    with watching(ScheduleRecorder()):
        watched = irtool.build(irtool.parse(NET), target=TARGET, emit="tir").report["kernels"]
    assert plain == watched


def test_what_does_not_go_with_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text(NET, encoding="utf-8")
    for words, message in ((["--pipeline"], "two pages"), (["--format=dot"], "makes an HTML page")):
        code, out, err = command("viz", path, "--schedule", *words)
        assert (code, out) == (2, "") and message in err
    path.write_text('#[version = "0.0.5"]\ndef @main(%x: float32) { %x }\n', encoding="utf-8")
    code, out, err = command("viz", path, "--schedule")
    assert (code, out) == (1, "") and "no kernel" in err
