"""`irtool quantize`: what it writes and prints, and what it refuses without leaving a file."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %v: Tensor[(2, 4), float32]) {
  nn.dense(nn.relu(nn.dense(%x, %w, units=4)), %v, units=2)
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    (tmp_path / "net.relay").write_text(NET)
    np.savez(
        tmp_path / "w.npz", w=rng.normal(size=(4, 8)).astype("float32"), v=rng.normal(size=(2, 4)).astype("float32")
    )
    np.savez(tmp_path / "x.npz", x=rng.normal(size=(5, 1, 8)).astype("float32"))
    return tmp_path


def test_text_and_weights_are_written_and_run(folder: Path) -> None:
    code, out, _ = irtool("quantize", "net.relay", "--params=w.npz", "--calibrate=x.npz", "-o", "n8.relay")
    assert code == 0 and "wrote n8.relay" in out and "wrote n8.npz" in out
    assert (
        "2 convolutions and products in 8 bits" in out and "minmax over 4 samples" in out and "on 1 other sample" in out
    )
    text = (folder / "n8.relay").read_text()
    assert "qnn.quantize" in text and "nn.dense(" in text and "qnn.dense" not in text
    code, out, err = irtool("run", "n8.relay", "--params=n8.npz", "--compare=interp,c")
    assert code == 0, out + err


def test_integer_operators_are_made_where_asked_for(folder: Path) -> None:
    code, _, err = irtool(
        "quantize", "net.relay", "--params=w.npz", "--calibrate=random", "--form=integer", "-o", "n8.relay"
    )
    assert code == 0 and "qnn.dense" in (folder / "n8.relay").read_text(), err


def test_weights_may_be_in_the_text_and_the_report_in_json(folder: Path) -> None:
    code, out, _ = irtool(
        "quantize",
        "net.relay",
        "--params=w.npz",
        "--calibrate=random",
        "--params-format=embedded",
        "-o",
        "n8.relay",
        "--json",
    )
    report = json.loads(out)
    assert code == 0 and sorted(r["name"] for r in report["layers"]) == ["dense_0", "dense_1"] and report["snr"] > 25
    assert not (folder / "n8.npz").exists() and irtool("check", "n8.relay")[0] == 0


@pytest.mark.parametrize("mode", ["kl_divergence", "percentile", "global_scale"])
def test_tvms_way_takes_its_options(folder: Path, mode: str) -> None:
    options = ["--mode=tvm", "--qconfig", "skip_dense_layer=False", "--qconfig", f"calibrate_mode={mode}"]
    code, out, err = irtool("quantize", "net.relay", "--params=w.npz", "--calibrate=x.npz", "-o", "n8.relay", *options)
    assert code == 0 and f"{mode} over 4 samples" in out, err
    assert 'out_dtype="int32"' in (folder / "n8.relay").read_text()


REFUSED = {
    "a pattern": (["--keep=("], 2, "no regular expression"),
    "everything kept": (["--keep=.*"], 1, "all 2 convolutions and matrix products stay"),
    "nothing good enough": (["--min-snr=200"], 1, "its own error is too large"),
    "nothing that calibrates": ([], 2, "a quantization needs --calibrate"),
    "no file": (["--calibrate=y.npz"], 1, "cannot read y.npz"),
    "random and files": (["--calibrate=random", "--calibrate=x.npz"], 2, "beside files"),
    "options of the other mode": (["--qconfig", "nbit_input=4"], 2, "--mode=tvm"),
    "an unknown option": (["--mode=tvm", "--qconfig", "nbit_inputs=4"], 2, "did you mean nbit_input"),
    "nothing to skip": (["--mode=tvm"], 1, "all of them are skipped"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_without_a_file(folder: Path, case: str) -> None:
    options, exit_code, message = REFUSED[case]
    if not any(word.startswith("--calibrate") for word in options) and case != "nothing that calibrates":
        options = ["--calibrate=random", *options]
    code, _, err = irtool("quantize", "net.relay", "--params=w.npz", "-o", "n8.relay", *options)
    assert code == exit_code and message in err, err
    assert not (folder / "n8.relay").exists() and not (folder / "n8.npz").exists()


@pytest.mark.parametrize(
    "places", [["-o", "no/such/n8.relay"], ["-o", "n8.relay", "--params-out=no/such/n8.npz"], ["-o", "."]]
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    folder: Path, places: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(folder.iterdir())
    monkeypatch.setattr("irtool.quantization.quantize", lambda *args, **options: pytest.fail("it was quantized first"))
    code, _, err = irtool("quantize", "net.relay", "--params=w.npz", "--calibrate=x.npz", *places)
    assert code == 1 and f"cannot write {places[-1].removeprefix('--params-out=')}: " in err
    assert set(folder.iterdir()) == before
