"""`irtool bench`: what is measured and printed, and what is refused. No test says how fast anything is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command_line import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(16, 64), float32], %w: Tensor[(48, 64), float32]) {
  %0 = nn.relu(nn.dense(%x, %w, units=48));
  nn.softmax(nn.relu(nn.dense(%0, ones(shape=[8, 48], dtype="float32"), units=8)))
}
"""
QUICK = ("--time", "0.01", "--rounds", "2")


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.relay"
    path.write_text(TEXT)
    return path


def test_the_network_and_its_kernels_are_timed(net: Path, tmp_path: Path) -> None:
    record, trace = tmp_path / "r.json", tmp_path / "t.json"
    code, out, err = irtool("bench", net, *QUICK, "--json", record, "--trace", trace)
    assert code == 0, err
    assert "2 of 2 parameters are random" in err
    assert "compiled" in out and "interpreter" in out and "of float32 multiply-adds" in out
    data = json.loads(record.read_text())
    assert [k["macs"] for k in data["kernels"] if k["macs"]] and all(len(k["rounds"]) == 2 for k in data["kernels"])
    assert sum(k["macs"] * k["calls"] for k in data["kernels"]) == 16 * 64 * 48 + 16 * 48 * 8
    assert len(data["sequence"]) == sum(k["calls"] for k in data["kernels"])
    assert 0 < data["peak"]["flops"] < 1e13 and data["options"]["target"] == "c"
    events = json.loads(trace.read_text())["traceEvents"]
    assert sum(e["ph"] == "X" for e in events) == len(data["sequence"])


LOOP = """#[version = "0.0.5"]
def @steps(%n: int32, %h: Tensor[(1, 32), float32], %w: Tensor[(32, 32), float32]) -> Tensor[(1, 32), float32] {
  if (%n <= 0) { %h } else { @steps(%n - 1, tanh(nn.dense(%h, %w, units=32)), %w) }
}
def @main(%h: Tensor[(1, 32), float32], %w: Tensor[(32, 32), float32]) -> Tensor[(1, 32), float32] {
  @steps(20, %h, %w)
}
"""


def test_what_a_loop_runs_is_counted(tmp_path: Path) -> None:
    net, record, trace = (tmp_path / n for n in ("loop.relay", "r.json", "t.json"))
    net.write_text(LOOP)
    code, out, err = irtool("bench", net, *QUICK, "--no-interp", "--json", record, "--trace", trace)
    assert code == 0, err
    data = json.loads(record.read_text())
    (product,) = (k for k in data["kernels"] if k["macs"])
    assert product["calls"] == 20 and product["macs"] == 32 * 32
    (row,) = (line for line in out.splitlines() if "nn.dense" in line)
    assert " 20 " in row
    each = sorted(product["rounds"])
    took = [e["dur"] for e in json.loads(trace.read_text())["traceEvents"] if "nn.dense" in e["name"]]
    assert took == pytest.approx([20 * 1e6 * (each[0] + each[-1]) / 2], abs=2e-3)
    speed = 2e-9 * 20 * 32 * 32 / (sum(data["whole"]["rounds"]) / 2)
    assert f", {speed:.1f} GFLOP/s" in out


def test_two_records_are_compared(net: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    assert irtool("bench", net, *QUICK, "--no-interp", "--json", path)[0] == 0
    data = json.loads(path.read_text())
    data["whole"]["rounds"] = [t * 100 for t in data["whole"]["rounds"]]
    path.write_text(json.dumps(data))
    code, out, _ = irtool("bench", net, *QUICK, "--no-interp", "--no-kernels", "--compare", path)
    assert code == 0 and "faster" in out and "interpreter" not in out
    data["whole"]["rounds"] = [t / 100_000 for t in data["whole"]["rounds"]]
    path.write_text(json.dumps(data))
    code, out, _ = irtool("bench", net, *QUICK, "--no-interp", "--no-kernels", "--compare", path)
    assert code == 1 and "slower" in out


def test_a_record_alone_goes_to_standard_output(net: Path) -> None:
    code, out, _ = irtool("bench", net, *QUICK, "--no-interp", "--json", "-", "--precision", "bfloat16")
    assert code == 0 and json.loads(out)["options"]["precision"] == "bfloat16"


@pytest.mark.parametrize(
    "options, code",
    [
        (("--trace", "t.json", "--no-kernels"), 2),
        (("--json", "-", "--trace", "-"), 2),
        (("--mcpu", "portable"), 2),
        (("--entry", "other"), 1),
        (("--compare", "no_such.json"), 2),
        (("--calibrate", "random"), 2),
        (("--target", "nothing"), 2),
    ],
)
def test_what_cannot_be_is_refused(net: Path, options: tuple[str, ...], code: int) -> None:
    got, out, err = irtool("bench", net, *QUICK, *options)
    assert got == code and err.startswith("error"), err
    assert not out


def test_calibration_data_go_by_the_names_of_the_model(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    value = onnx.helper.make_tensor_value_info
    weights = onnx.numpy_helper.from_array(np.linspace(-1, 1, 256, dtype="float32").reshape(16, 16), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x:0", "w"], ["y"])],
        "net",
        [value("x:0", 1, [4, 16])],
        [value("y", 1, [4, 16])],
        [weights],
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), tmp_path / "net.onnx")
    data: dict[str, Any] = {"x:0": np.ones((4, 16), "float32")}
    np.savez(tmp_path / "data.npz", **data)
    options = ("--precision", "int8", "--calibrate", tmp_path / "data.npz")
    code, _, err = irtool("bench", tmp_path / "net.onnx", *QUICK, "--no-interp", "--no-kernels", *options)
    assert code == 0, err
