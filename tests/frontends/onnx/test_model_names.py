"""Inputs, outputs and nodes keep the names that they have in the model: in C, artifacts, files, tables and drawings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import irtool
from tests.command_line import irtool as run_command

pytest.importorskip("onnx")

from onnx import TensorProto, helper, save

IN = "serving_default_input_2:0"


def model(outputs: tuple[str, ...], one: str = IN, two: str = "y") -> object:
    """`outputs` are sums, products, … of two inputs, by nodes that are called `/f/0`, `/f/1`, …"""
    kinds = ("Add", "Mul", "Sub")
    nodes = [helper.make_node(kinds[n % 3], [one, two], [o], name=f"/f/{n}") for n, o in enumerate(outputs)]
    infos = [
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in names] for names in ((one, two), outputs)
    ]
    graph = helper.make_graph(nodes, "net", *infos)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def build(outputs: tuple[str, ...], folder: Path | None = None, **named: str) -> irtool.Artifact:
    return irtool.build(irtool.from_onnx(model(outputs, **named))[0], out_dir=folder)


X, Y = np.full((2, 3), 2.0, "float32"), np.full((2, 3), 5.0, "float32")


def test_c_has_the_names_of_outputs(tmp_path: Path) -> None:
    artifact = irtool.build(irtool.from_onnx(model(("boxes", "cls/prob")))[0], out_dir=tmp_path, emit="c", name="two")
    header = (tmp_path / "two.h").read_text()
    assert "float *boxes, float *cls_prob)" in header
    assert "#define TWO_BOXES_SIZE 6u" in header and "#define TWO_CLS_PROB_SIZE 6u" in header
    assert [t["name"] for t in artifact.inputs] == [IN, "y"]
    assert [(t["name"], t["c_name"]) for t in artifact.outputs] == [("boxes", "boxes"), ("cls/prob", "cls_prob")]


@pytest.mark.parametrize(
    "outputs",
    [("a/b", "a:b", "a_b"), ("int", "double", "size"), ("y2", "Y2"), ("out1", "out0"), ("1", "é"), ("*/ x", "arena")],
    ids=" ".join,
)
def test_any_names_make_c_that_runs(outputs: tuple[str, ...]) -> None:
    got = build(outputs).run([X, Y])
    for have, want in zip(got, (X + Y, X * Y, X - Y)):
        np.testing.assert_array_equal(have, want)


def test_inputs_have_either_name(tmp_path: Path) -> None:
    artifact = build(("z",), tmp_path)
    module, _ = irtool.from_onnx(model(("z",)))
    for inputs in ({IN: X, "y": Y}, {"serving_default_input_2_0": X, "y": Y}):
        for run in (artifact.run, irtool.load(tmp_path).run, lambda v: irtool.evaluate(module, v)):
            np.testing.assert_array_equal(run(inputs), X + Y)
    np.testing.assert_array_equal(artifact.run(serving_default_input_2_0=X, y=Y), X + Y)
    np.testing.assert_array_equal(artifact.run({IN: X}, y=Y), X + Y)


def test_wrong_names_are_refused() -> None:
    artifact = build(("z",))
    with pytest.raises(irtool.IrError, match="no parameter %serving_default_input_2:1"):
        artifact.run({"serving_default_input_2:1": X, "y": Y})
    with pytest.raises(irtool.IrError, match="given twice"):
        artifact.run({IN: X, "serving_default_input_2_0": X, "y": Y})
    with pytest.raises(irtool.IrError, match="given twice"):
        artifact.run({"y": Y}, y=Y)
    with pytest.raises(irtool.IrError, match="in order and by name"):
        artifact.run([X], y=Y)


def test_a_name_that_another_parameter_has_is_that_one() -> None:
    artifact = build(("z",), one="a:b", two="a_b")
    (_, first), (_, second) = [(t["name"], t["c_name"]) for t in artifact.inputs]
    assert first != second
    named = artifact.run({artifact.inputs[0]["name"]: X, artifact.inputs[1]["name"]: 0 * Y})
    np.testing.assert_array_equal(named, X)


def test_commands_name_outputs_and_nodes(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    save(model(("boxes", "file")), str(path))
    saved = tmp_path / "o.npz"
    for words, names in (((), ["out0", "out1"]), (("--by-name",), ["boxes", "file"])):
        assert run_command("run", str(path), "-q", "-o", str(saved), *words)[0] == 0
        assert np.load(saved).files == names
        assert run_command("run", str(path), "-q", "--expect", str(saved))[0] == 0
    code, out, _ = run_command("info", "--nodes", str(path))
    assert code == 0 and out.splitlines()[1] == f"2  /f/1: file = Mul({IN}, y)"
    record = tmp_path / "r.json"
    code, out, _ = run_command("bench", str(path), "--time", "0.001", "--rounds", "1", "--json", str(record))
    assert code == 0 and "/f/0" in out and "/f/1" in out
    assert {n for k in json.loads(record.read_text())["kernels"] for n in k["nodes"]} == {"/f/0", "/f/1"}
    report = tmp_path / "report.json"
    assert run_command("build", str(path), "-o", str(tmp_path / "b"), "--emit=c", "--report", str(report))[0] == 0
    assert {n for k in json.loads(report.read_text())["kernels"] for n in k["nodes"]} == {"/f/0", "/f/1"}
    assert "net.onnx:2:1 (/f/1)" in (tmp_path / "b" / "net.c").read_text()


def test_outputs_without_names_have_none_in_files(tmp_path: Path) -> None:
    path, saved = tmp_path / "net.relay", tmp_path / "o.npz"
    path.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { (%x, exp(%x)) }\n', encoding="utf-8")
    code, _, err = run_command("run", str(path), "-q", "--by-name", "-o", str(saved))
    assert code == 2 and "the outputs have no names of their own" in err and not saved.exists()
    for words in ((), ("-o", str(tmp_path / "o.npy"))):
        code, _, err = run_command("run", str(path), "-q", "--by-name", *words)
        assert code == 2 and "--by-name names the arrays of a .npz file" in err


def test_one_output_is_one_array(tmp_path: Path) -> None:
    for outputs, want in ((("z",), 0), (("z", "v"), 2)):
        path, saved = tmp_path / f"{len(outputs)}.onnx", tmp_path / f"{len(outputs)}.npy"
        save(model(outputs), str(path))
        assert run_command("run", str(path), "-q", "-o", str(saved))[0] == want
        assert saved.exists() == (want == 0)
    assert np.load(tmp_path / "1.npy").shape == (2, 3)
