"""`irtool viz`: formats by option and by ending, sources, passes, and what it refuses."""

from __future__ import annotations

import io
import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.command_line import irtool
from tests.viz.drawings import layers

ROOT = Path(__file__).parents[2]
MLP = ROOT / "samples" / "mlp.relay"
ONNX = ROOT / "samples" / "perceptron.onnxtxt"


def ok(*words: object) -> str:
    code, out, err = irtool(*words)
    assert (code, err) == (0, "")
    return out


def test_text_is_what_is_printed() -> None:
    text = ok("viz", MLP)
    assert text.startswith("@main\n") and "matmul" in text and "← " in text
    assert text == ok("viz", MLP, "--format=text") == ok("viz", MLP, "-o", "-")


@pytest.mark.parametrize(
    "ending, style",
    [("html", "html"), ("svg", "svg"), ("dot", "dot"), ("gv", "dot"), ("json", "netron"), ("txt", "text")],
)
def test_the_ending_names_the_format(ending: str, style: str, tmp_path: Path) -> None:
    path = tmp_path / f"net.{ending}"
    assert ok("viz", MLP, "-o", path) == ""
    assert path.read_text(encoding="utf-8") == ok("viz", MLP, f"--format={style}")


def test_a_format_that_is_named_counts(tmp_path: Path) -> None:
    ok("viz", MLP, "--format=dot", "-o", tmp_path / "net.svg")
    assert (tmp_path / "net.svg").read_text().startswith("digraph")


def test_models_of_onnx_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    ET.fromstring(ok("viz", ONNX, "--format=svg"))
    assert "dense" in ok("viz", ONNX)


def test_passes_run_first() -> None:
    assert "matmul · add · relu" in ok("viz", MLP, "-p", "FuseOps") and "matmul · add" not in ok("viz", MLP)


def test_folding_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text(layers(4), encoding="utf-8")
    assert "block A" in ok("viz", path) and "block A" not in ok("viz", path, "--no-fold")
    nodes = json.loads(ok("viz", path, "--format=netron"))["graph"]["node"]
    assert [n["opType"] for n in nodes].count("tanh") == 4


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MLP.read_bytes())))
    assert ok("viz", "--format=dot") == ok("viz", MLP, "--format=dot")


def test_what_has_no_type_is_drawn_too(tmp_path: Path) -> None:
    path = tmp_path / "open.relay"
    path.write_text('#[version = "0.0.5"]\ndef @main(%x) { exp(%x) }\n')
    assert "exp" in ok("viz", path) and "8×8" in ok("viz", path, "--shape=x=8,8", "--dtype=x=float32")


@pytest.mark.robustness("mistakes")
@pytest.mark.parametrize(
    "words, code, message",
    [
        (["nowhere.relay"], 1, "cannot read nowhere.relay"),
        (["."], 1, "cannot read ."),
        (["empty.relay"], 1, "the file is empty"),
        (["junk.relay"], 1, "error"),
        (["wrong.relay"], 1, "error"),
        (["n.relay", "--format=pdf"], 2, "--format takes"),
        (["n.relay", "-p", "NoSuchPass"], 2, "NoSuchPass"),
        (["n.relay", "n.relay"], 2, "and nothing more, but there is also n.relay"),
        (["n.relay", "-o", "no/such/folder/x.svg"], 1, "cannot write"),
        (["n.relay", "--colour"], 2, "there is no option --colour"),
    ],
)
def test_refusals(words: list[str], code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "n.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: float32) { exp(%x) }\n')
    (tmp_path / "wrong.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: float32) { exp(%y) }\n')
    (tmp_path / "empty.relay").write_text("")
    (tmp_path / "junk.relay").write_bytes(bytes(range(256)) * 20)
    exit_code, out, err = irtool("viz", *words)
    assert (exit_code, out) == (code, "") and message in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty.relay", "junk.relay", "n.relay", "wrong.relay"]


def test_help_has_examples() -> None:
    out = ok("viz", "--help")
    assert "irtool viz net.relay" in out and "-o net.svg" in out
