"""`build --time-trace`: when the parts of a build began and ended."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 16), float32], %w: Tensor[(4, 16), float32]) { nn.relu(nn.dense(%x, %w, units=4)) }
"""


def traced(tmp_path: Path, *options: str) -> list[dict[str, Any]]:
    """The complete events of a build."""
    net, trace = tmp_path / "net.relay", tmp_path / "trace.json"
    net.write_text(TEXT)
    code, _, err = irtool("build", net, "-o", tmp_path / "out", "-q", "--time-trace", trace, *options)
    assert code == 0, err
    return [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_passes_stages_and_compilers_have_events(tmp_path: Path) -> None:
    events = traced(tmp_path)
    names = {e["name"] for e in events if e["tid"] == 1}
    assert {"build", "read the input", "passes", "FuseOps", "stages", "PlanMemory", "write sources"} <= names
    compilers = [e for e in events if e["cat"] == "compiler" and not e["name"].startswith("Total ")]
    assert any(e["name"].endswith("net.c") for e in compilers) and all(e["tid"] > 1 for e in compilers)


def test_parts_lie_within_each_other(tmp_path: Path) -> None:
    events = [e for e in traced(tmp_path, "--emit=c") if e["tid"] == 1]
    open_ends: list[float] = []
    for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        while open_ends and open_ends[-1] <= e["ts"] + 0.1:
            open_ends.pop()
        assert not open_ends or e["ts"] + e["dur"] <= open_ends[-1] + 0.2, e
        open_ends.append(e["ts"] + e["dur"])
    assert events[0]["name"] == "build"


def test_sums(tmp_path: Path) -> None:
    events = traced(tmp_path, "--emit=c")
    (total,) = [e for e in events if e["name"] == "Total InferType"]
    each = [e["dur"] for e in events if e["name"] == "InferType"]
    assert total["args"]["count"] == len(each) and abs(total["dur"] - sum(each)) <= 0.1 * len(each)


def test_a_build_that_fails_writes_nothing(tmp_path: Path) -> None:
    net, trace = tmp_path / "net.relay", tmp_path / "trace.json"
    net.write_text(TEXT.replace("16), float32]) {", "17), float32]) {"))
    assert irtool("build", net, "-o", tmp_path / "out", "--time-trace", trace)[0] == 1
    assert not trace.exists()
    net.write_text(TEXT)
    code, _, err = irtool("build", net, "-o", tmp_path / "out", "--time-trace", tmp_path / "no" / "t.json")
    assert code == 1 and "cannot write" in err and not (tmp_path / "out").exists()
