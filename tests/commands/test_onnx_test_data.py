"""Folders of test data of ONNX models: inputs and outputs as TensorProtos."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool

onnx = pytest.importorskip("onnx")

MODEL = '<ir_version: 8, opset_import: ["": 17]>\ng (float[2,3] a, float[3] b) => (float[2,3] s, float[2,3] p) { s = Add(a, b) p = Mul(a, b) }\n'
A, B = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([10, 20, 30])


def write(folder: Path, role: str, tensors: Sequence[tuple[str, np.ndarray]]) -> None:
    folder.mkdir(exist_ok=True)
    for n, (name, array) in enumerate(tensors):
        (folder / f"{role}_{n}.pb").write_bytes(onnx.numpy_helper.from_array(array, name or None).SerializeToString())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnxtxt").write_text(MODEL)
    data = tmp_path / "test_data_set_0"
    write(data, "input", [("b", B), ("a", A)])
    write(data, "output", [("", A + B), ("", A * B)])
    return data


@pytest.mark.parametrize("way", ["interp", "c"])
def test_a_model_is_compared_with_its_test_data(way: str) -> None:
    words = ("run", "m.onnxtxt", f"--via={way}", "--inputs", "test_data_set_0", "--expect", "test_data_set_0")
    code, _, err = irtool(*words)
    assert (code, err) == (0, "")


def test_a_difference_is_seen(folder: Path) -> None:
    write(folder, "output", [("", A + B), ("", A)])
    code, out, err = irtool("run", "m.onnxtxt", "--inputs", "test_data_set_0", "--expect", "test_data_set_0")
    assert code == 1 and "out1" in out + err


def test_other_commands_take_folders(folder: Path) -> None:
    assert "Tensor[(2, 3), float32]" in irtool("opt", "m.onnxtxt", "--inputs", "test_data_set_0")[1]
    code, out, err = irtool("evaluate", "m.onnxtxt", "--inputs", "test_data_set_0", "--against", "test_data_set_0")
    assert code == 0 and "equal" in out, err


@pytest.mark.parametrize(
    ("role", "tensors", "message"),
    [
        ("input", [], "the directory has no input_0.pb"),
        ("input", [("", A)], "input_0.pb: error: the tensor has no name"),
        ("input", [("a", A), ("a", B)], "input_1.pb: error: the tensor is called a, as one before it"),
        ("input", [("a", A), ("c", B)], "c"),
        ("output", [], "the directory has no output_0.pb"),
    ],
)
def test_wrong_folders(folder: Path, role: str, tensors: list[tuple[str, np.ndarray]], message: str) -> None:
    for path in folder.glob(f"{role}_*"):
        path.unlink()
    write(folder, role, tensors)
    code, _, err = irtool("run", "m.onnxtxt", "--inputs", "test_data_set_0", "--expect", "test_data_set_0")
    assert code == 1 and message in err and "Traceback" not in err


@pytest.mark.parametrize("data", [b"\xff\xff\xff", b"\x08\x02\x10\x01", b"not a tensor"])
def test_damaged_tensors(folder: Path, data: bytes) -> None:
    (folder / "input_0.pb").write_bytes(data)
    code, _, err = irtool("run", "m.onnxtxt", "--inputs", "test_data_set_0")
    assert code == 1 and "input_0.pb" in err and "Traceback" not in err
