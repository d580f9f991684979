"""Verdicts on two records, and records that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irtool.benchmark.compare import FASTER, SAME, SLOWER, change, changes
from irtool.benchmark.record import KernelTimes, Record, Times
from irtool.benchmark.trace import to_trace
from irtool.diagnostics import UsageError


@pytest.mark.parametrize(
    "before, after, verdict",
    [
        ([1.0, 1.0, 1.0], [1.5, 1.5, 1.5], SLOWER),
        ([1.5, 1.5, 1.5], [1.0, 1.0, 1.0], FASTER),
        ([1.0, 1.0, 1.0], [1.015, 1.015, 1.015], SAME),
        ([1.0, 1.2, 1.4], [1.1, 1.3, 1.5], SAME),
        ([1.0, 1.2, 1.4], [2.0, 2.1, 2.2], SLOWER),
        ([1.0], [1.03], SLOWER),
    ],
)
def test_a_difference_is_one_beyond_noise(before: list[float], after: list[float], verdict: str) -> None:
    assert change("x", Times(before), Times(after)).verdict == verdict


def record() -> Record:
    kernels = [
        KernelTimes([2e-3, 2.1e-3], "k1", ["nn.dense", "add"], "register_tile", 2, 1000, 400),
        KernelTimes([1e-3], "k2", ["nn.relu"], "elementwise", 1, 0, 80),
    ]
    return Record("net", "here", {"target": "c"}, Times([5e-3]), None, kernels, [0, 1, 0])


def test_records_come_back(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(record().to_json())
    assert Record.read(str(path)) == record()


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "nonsense", '{"format": "irtool-bench-1"}', '{"format": "other"}', "[" * 100_000,
        record().to_json().replace("0.005", '"a"'),
        record().to_json().replace('"sequence": [\n  0', '"sequence": [\n  7'),
        json.dumps({**json.loads(record().to_json()), "more": 1}),
        json.dumps({**json.loads(record().to_json()), "repeats": [1, 2]}),
        json.dumps({**json.loads(record().to_json()), "repeats": [1, -2, 1]}),
        json.dumps({**json.loads(record().to_json()), "kernels": [{"rounds": []}]}),
    ],
)  # fmt: skip
def test_what_is_no_record_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="has no record"):
        Record.read(str(path))


def test_kernels_are_found_again_by_what_they_compute() -> None:
    before, after = record(), record()
    after.kernels = [after.kernels[1], KernelTimes([1e-3], "renamed", ["nn.dense", "add"], "other", 2, 1000, 400)]
    after.kernels.append(KernelTimes([1.0], "new", ["exp"], "", 1, 0, 4))
    assert [(c.what, c.verdict) for c in changes(before, after)] == [
        ("the network", SAME), ("nn.relu", SAME), ("nn.dense add", FASTER),
    ]  # fmt: skip


def test_a_trace_has_every_call_in_order() -> None:
    events = [e for e in json.loads(to_trace(record()))["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in events] == ["nn.dense add", "nn.relu", "nn.dense add"]
    assert [(e["ts"], e["dur"]) for e in events] == [(0.0, 2050.0), (2050.0, 1000.0), (3050.0, 2050.0)]


def test_a_step_of_a_loop_is_one_event_as_long_as_its_executions() -> None:
    looped = record()
    looped.repeats = [1, 30, 0]
    events = [e for e in json.loads(to_trace(looped))["traceEvents"] if e["ph"] == "X"]
    assert [(e["name"], e["dur"], e["args"]["executions"]) for e in events] == [
        ("nn.dense add", 2050.0, 1), ("nn.relu", 30000.0, 30),
    ]  # fmt: skip


def test_a_record_without_counts_has_each_step_once(tmp_path: Path) -> None:
    data = json.loads(record().to_json())
    del data["repeats"]
    path = tmp_path / "old.json"
    path.write_text(json.dumps(data))
    assert Record.read(str(path)) == record()
