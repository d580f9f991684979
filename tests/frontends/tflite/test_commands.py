"""Commands take TensorFlow Lite models as they take Relay text."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool

from .build import Graph, Op, Tensor, model_bytes

pytest.importorskip("tflite")
pytestmark = pytest.mark.promise("networks in TensorFlow Lite")


def dense_model() -> bytes:
    """A dense layer in int8 with two units, an activation behind it."""
    weights = np.array([[1, 2, 3], [-4, 5, 6]], np.int8)
    return model_bytes(
        Graph(
            [
                Tensor("x", (2, 3), "int8", scale=0.5, zero=1),
                Tensor("w", (2, 3), "int8", weights, scale=[0.25, 0.5]),
                Tensor("b", (2,), "int32", [8, -8], scale=[0.125, 0.25]),
                Tensor("a:0", (2, 2), "int8", scale=1.0, zero=-3),
                Tensor("y", (2, 2), "int8", scale=1.0, zero=-3),
            ],
            [
                Op("FULLY_CONNECTED", [0, 1, 2], [3], {}, "FullyConnectedOptions", 4),
                Op("RELU", [3], [4], version=2),
            ],
            [0],
            [4],
        )
    )


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.bin"  # recognised by its contents
    path.write_bytes(dense_model())
    return path


@pytest.mark.parametrize(
    "words", [["check"], ["opt"], ["info"], ["viz", "--format", "text"], ["run", "--via=interp"], ["import", "-q"]]
)
def test_commands_take_a_model(model: Path, words: list[str]) -> None:
    assert irtool(*words, model)[0] == 0


def test_the_interpreter_and_c_agree(model: Path) -> None:
    code, output, _ = irtool("run", "--compare", "interp,c", model)
    assert code == 0 and "agree exactly" in output


def test_info_names_inputs_and_operators(model: Path) -> None:
    output = irtool("info", model)[1]
    assert "%x: Tensor[(2, 3), int8]" in output and "qnn.dense" in output


def test_nodes_are_listed(model: Path) -> None:
    assert "a:0 = FULLY_CONNECTED(x, w, b)" in irtool("info", "--nodes", model)[1]


def test_a_missing_package_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tflite", None)
    code, _, messages = irtool("opt", model)
    assert code == 2 and "the package tflite is missing" in messages


def test_names_of_dimensions_are_refused(model: Path) -> None:
    code, _, messages = irtool("opt", "--dim", "n=2", model)
    assert code == 2 and "--shape" in messages


def test_a_shape_that_the_model_fixes_stays(model: Path) -> None:
    code, _, messages = irtool("opt", "--shape", "x=3x3", model)
    assert code == 2 and "the input x has the shape (2, 3)" in messages


def test_another_file_under_that_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(b"no model")
    code, _, messages = irtool("check", path)
    assert code == 1 and "E1001" in messages and "TFL3" in messages


def test_custom_operators_are_named_in_one_error(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    tensors = [Tensor(n, (2,)) for n in "xyzw"]
    ops = [Op("CUSTOM", [i], [i + 1], custom=c) for i, c in enumerate(("Fancy", "Strange", "Fancy"))]
    path.write_bytes(model_bytes(Graph(tensors, ops, [0], [3])))
    code, _, messages = irtool("check", path)
    assert code == 1 and messages.count("error[") == 1
    assert "Fancy (2 times), Strange (1 times)" in messages


def test_an_unknown_version_is_named(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    tensors = [Tensor("x", (2,)), Tensor("y", (2,))]
    path.write_bytes(model_bytes(Graph(tensors, [Op("RELU", [0], [1], version=90)], [0], [1])))
    code, _, messages = irtool("check", path)
    assert code == 1 and "RELU of version 90 is unknown" in messages and "y = RELU(x)" in messages
