"""Weights that lie beside a text and were not given are named, where values matter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irtool.commands.sidecar_weights import sidecar_weights
from irtool.parser.params import write_params
from tests.command_line import irtool

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(4, 4), float32], %b: Tensor[(4), float32]) {
  nn.bias_add(nn.dense(%x, %w, units=4), %b)
}
"""
WEIGHTS = {"w": np.eye(4, dtype="float32"), "b": np.ones(4, "float32")}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "q.relay").write_text(NET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("ending", ["npz", "params", "safetensors"])
def test_names_in_files(ending: str, folder: Path) -> None:
    if ending == "safetensors":
        pytest.importorskip("safetensors")
    write_params(folder / f"q.{ending}", WEIGHTS)
    assert [(path, sorted(names)) for path, names in sidecar_weights("q.relay")] == [(f"q.{ending}", ["b", "w"])]


@pytest.mark.parametrize("content", [b"", b"PK", b"\xff" * 40, b"\x08" + b"\0" * 7 + b"[[[[[[[[", b"[" * 50_000])
def test_damaged_files_are_left_out(content: bytes, folder: Path) -> None:
    for ending in ("npz", "params", "safetensors"):
        (folder / f"q.{ending}").write_bytes(content)
    assert not any(names for _, names in sidecar_weights("q.relay"))


def test_a_build_without_them_says_so(folder: Path) -> None:
    write_params(folder / "q.npz", WEIGHTS)
    line = ["build", "q.relay", "--emit=c", "-o", "o"]
    for _ in range(2):  # the second one is from the cache
        code, _, err = irtool(*line)
        assert code == 0 and "2 parameters have no values; q.npz beside the text has them" in err
        assert "help: --params q.npz" in err
    assert irtool(*line, "--params=q.npz")[::2] == (0, "")
    code, _, err = irtool(*line, "--value=w=1")  # the note names the other one only
    assert code == 0 and "%b has no value; q.npz beside the text has it" in err
    (folder / "q.npz").unlink()
    assert irtool(*line)[::2] == (0, "")


def test_other_commands(folder: Path) -> None:
    write_params(folder / "q.npz", WEIGHTS)
    message = "beside the text has"
    assert message in irtool("run", "q.relay")[2]
    assert message not in irtool("run", "q.relay", "--inputs=q.npz")[2]
    for line in (["check", "q.relay"], ["opt", "q.relay"], ["info", "q.relay"]):  # values do not matter
        assert message not in irtool(*line)[2]
