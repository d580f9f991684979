"""`irtool evaluate`: shares of right classes and errors, of all outputs, against labels, the float network and given outputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(7, 8), float32]) {
  let %a = nn.dense(%x, %w, units=7);
  (%a, nn.relu(%a))
}
"""
SEGMENTS = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 2, 4), float32]) { negative(%x) }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.relay").write_text(NET)
    g = np.random.default_rng(0)
    w, x = g.normal(size=(7, 8)).astype("float32"), g.normal(size=(20, 1, 8)).astype("float32")
    np.savez(tmp_path / "w.npz", w=w)
    np.savez(tmp_path / "x.npz", x=x)
    return tmp_path


def scores(folder: Path) -> np.ndarray:
    return np.load("x.npz")["x"][:, 0] @ np.load("w.npz")["w"].T


def measured(*words: str) -> dict[str, dict[str, float]]:
    code, out, err = irtool("evaluate", "net.relay", "--params=w.npz", "--inputs=x.npz", "--json", *words)
    assert code == 0, err
    return {row["output"]: row for row in json.loads(out)["outputs"]}


@pytest.mark.parametrize("via", ["interp", "c"])
def test_classes_and_values_of_several_outputs(folder: Path, via: str) -> None:
    y = scores(folder)
    order = np.argsort(-y, axis=1)
    right = order[
        np.arange(20), np.arange(20) % 7
    ]  # of seven samples one has its class first, and five among the first five
    np.savez("y.npz", out0=right, out1=np.maximum(y, 0) + 1)
    rows = measured("--labels=y.npz", "--via", via)
    assert rows["out0"]["top1"] == pytest.approx(np.mean(np.arange(20) % 7 == 0))
    assert rows["out0"]["top5"] == pytest.approx(np.mean(np.arange(20) % 7 < 5))
    assert rows["out1"]["mean_error"] == pytest.approx(1) and rows["out1"]["rms_error"] == pytest.approx(1)


def test_a_lower_precision_beside_the_float_network(folder: Path) -> None:
    np.savez("y.npz", out0=scores(folder).argmax(1))
    np.savez("c.npz", x=np.load("x.npz")["x"][:10])
    rows = measured("--labels=y.npz", "--against=float", "--precision=int8", "--calibrate=c.npz")
    assert 20 < rows["out0"]["snr"] < 70 and rows["out0"]["float_top1"] == 1 and rows["out0"]["same_top1"] <= 1
    text = irtool("evaluate", "net.relay", "--params=w.npz", "--inputs=x.npz", "--labels=y.npz")[1]
    assert text == "out0: top-1 100.0 %, top-5 100.0 %\nout1: no labels for it\n20 samples\n"


def test_given_outputs_and_samples_along_the_first_extent(folder: Path) -> None:
    y = scores(folder)
    np.savez("flat.npz", x=np.load("x.npz")["x"].reshape(20, 8))
    np.savez("outputs.npz", out0=y, out1=np.maximum(y, 0) * 1.01)
    code, out, err = irtool(
        "evaluate", "net.relay", "--params=w.npz", "--inputs=flat.npz", "--against=outputs.npz", "--json"
    )
    rows = json.loads(out)["outputs"]
    assert code == 0 and rows[0]["largest_difference"] < 1e-5 and rows[1]["snr"] == pytest.approx(40, abs=0.2), err


def test_classes_along_an_inner_axis(folder: Path) -> None:
    (folder / "net.relay").write_text(SEGMENTS)
    x = np.random.default_rng(0).normal(size=(5, 3, 2, 4)).astype("float32")
    np.savez("x.npz", x=x)
    np.save("y.npy", x.argmin(axis=1))
    code, out, err = irtool("evaluate", "net.relay", "--inputs=x.npz", "--labels=y.npy")
    assert code == 0 and out.startswith("out0: top-1 100.0 %\n"), err


WRONG = {
    "a class too many": ({"out0": np.full(20, 7)}, "the label 7 at 0 is no class of out0, which has 0 to 6"),
    "a negative class": ({"out0": np.full(20, -1)}, "the label -1 at 0"),
    "too few": ({"out0": np.zeros(19, int)}, "there are 19 labels of the shape (19,), and 20 samples of out0"),
    "values of another shape": ({"out1": np.zeros((20, 6))}, "the array for out1 has the shape (20, 6)"),
    "no such output": ({"out2": np.zeros(20, int)}, "there is no output 'out2'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_labels_that_do_not_fit(folder: Path, case: str) -> None:
    arrays, message = WRONG[case]
    np.savez("y.npz", **arrays)
    code, out, err = irtool("evaluate", "net.relay", "--params=w.npz", "--inputs=x.npz", "--labels=y.npz")
    assert code == 1 and not out and f"y.npz: error[E0014]: {message}" in err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--inputs=x.npz"], 2, "give --labels, --against, or both"),
        (["--labels=y.npy"], 2, "there is nothing to run"),
        (["--inputs=x.npz", "--labels=y.npy"], 1, "there are 2 outputs, and one array without a name"),
        (["--inputs=x.npz", "--labels=none.npy"], 1, "cannot read none.npy"),
        (["--inputs=y.npz", "--labels=y.npy"], 1, "there is no input %y"),
        (["--inputs=x.npz", "--labels=y.npy", "--precision=int8"], 2, "--precision int8 needs --calibrate"),
    ],
)
def test_what_is_refused(folder: Path, words: list[str], code: int, message: str) -> None:
    np.save("y.npy", np.zeros(20, int))
    np.savez("y.npz", y=np.zeros(20, int))
    ended, out, err = irtool("evaluate", "net.relay", "--params=w.npz", *words)
    assert ended == code and not out and message in err
