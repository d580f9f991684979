"""`irtool run --via=BACKEND` on builds of earlier runs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtool.commands.entry_module import EntryModule, read_entry_module
from tests.command_line import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) { nn.dense(%x, %w, units=4) }
"""


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CFLAGS", "-O1")
    path = tmp_path / "net.relay"
    path.write_text(TEXT)
    _inputs(path, 1)
    np.savez(tmp_path / "w.npz", w=np.arange(12, dtype="float32").reshape(4, 3))
    return path


def _inputs(net: Path, factor: float, dtype: str = "float32") -> np.ndarray:
    """Writes the input, and returns the result for it."""
    x = (factor * np.arange(6)).astype(dtype).reshape(2, 3)
    np.savez(net.parent / "x.npz", x=x)
    return x @ np.arange(12).reshape(4, 3).T


def _result(net: Path, *more: object) -> tuple[int, str, str]:
    words = ["--params", net.parent / "w.npz", "--inputs", net.parent / "x.npz", "-o", net.parent / "o.npz"]
    return irtool("run", net, "--via", "c", *words, *more)


def _run(net: Path, *more: object) -> tuple[str, str, np.ndarray]:
    """The texts of a run on both streams, and its output."""
    code, out, messages = _result(net, *more)
    assert code == 0, messages
    return out, messages, np.load(net.parent / "o.npz")["out0"]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that runs read."""
    files: list[str] = []

    def read(file: str, *others: Any) -> EntryModule:
        files.append(file)
        return read_entry_module(file, *others)

    monkeypatch.setattr("irtool.commands.run.read_entry_module", read)
    return files


def test_the_same_run_again_reads_no_model(net: Path, reads: list[str]) -> None:
    first, second = _run(net), _run(net)
    assert len(reads) == 1
    assert second[:2] == first[:2]
    np.testing.assert_array_equal(second[2], first[2])


def test_other_values_of_inputs_use_the_same_build(net: Path, reads: list[str]) -> None:
    _run(net)
    want = _inputs(net, 3)
    np.testing.assert_array_equal(_run(net)[2], want)
    assert len(reads) == 1


@pytest.mark.parametrize("change", ["text", "weights", "entry", "level", "passes", "flags", "seed"])
def test_whatever_decides_the_build_reads_the_model(net: Path, reads: list[str], change: str) -> None:
    _run(net)
    more = {"entry": ["--entry", "f"], "level": ["-O", 1], "passes": ["-p", "FoldConstant"]}.get(change, [])
    more = more or {"flags": ["--mcpu", "none"], "seed": ["--seed", 1]}.get(change, [])
    if change == "text":
        net.write_text(TEXT.replace("nn.dense(%x, %w, units=4)", "nn.relu(nn.dense(%x, %w, units=4))"))
    elif change == "weights":
        np.savez(net.parent / "w.npz", w=np.ones((4, 3), "float32"))
    _result(net, *more)
    assert len(reads) == 2


def test_changed_weights_count(net: Path) -> None:
    _run(net)
    np.savez(net.parent / "w.npz", w=np.ones((4, 3), "float32"))
    np.testing.assert_array_equal(_run(net)[2], np.arange(6).reshape(2, 3) @ np.ones((3, 4)))


def test_inputs_that_are_converted_are_checked_as_before(net: Path) -> None:
    want = _run(net)[2]
    _inputs(net, 1, "int16")
    for _ in range(2):
        code, _, messages = _result(net)
        assert code == 0 and "int16" in messages, messages
        np.testing.assert_array_equal(np.load(net.parent / "o.npz")["out0"], want)
    np.savez(net.parent / "x.npz", x=np.ones((3, 3), "float32"))
    for _ in range(2):
        assert _result(net)[0] == 1


def test_missing_inputs_are_random_as_before(net: Path, reads: list[str]) -> None:
    _run(net)
    words = ["run", net, "--via", "c", "--params", net.parent / "w.npz"]
    first, second = irtool(*words), irtool(*words)
    assert len(reads) == 2  # one with the input, one without
    assert first == second == irtool(*words, "--no-cache")
    assert "random" in first[2]
    assert irtool(*words, "--seed", 1)[1] != first[1]
    assert irtool(*words, "--no-random")[0] == 1


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "uint8", "bool", "bfloat16"])
def test_random_inputs_of_every_dtype_are_the_same_again(net: Path, dtype: str) -> None:
    net.write_text(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 0, 3), {dtype}], %y: {dtype}) {{ (%x, %y) }}\n')
    words = ["run", net, "--via", "c"]
    first = irtool(*words)
    assert first[0] == 0 and irtool(*words) == first == irtool(*words, "--no-cache")


def test_large_random_inputs_are_drawn_again(net: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irtool.commands.earlier_build._MOST_RANDOM", 23)
    words = ["run", net, "--via", "c", "--params", net.parent / "w.npz"]
    assert irtool(*words) == irtool(*words)
    assert len(reads) == 2


def test_warnings_are_said_again_and_flags_about_them_hold(net: Path) -> None:
    weights = np.ones((4, 3), "float32")
    weights[0, 0] = np.nan
    np.savez(net.parent / "w.npz", w=weights)
    first, second = _run(net), _run(net)
    assert "warning" in first[1] and first[:2] == second[:2]
    assert _result(net, "-Werror")[0] == 1
    assert "warning" not in _result(net, *[f"-Wno-{code}" for code in re.findall(r"warning\[(\w+)\]", first[1])])[2]


def test_no_cache_keeps_nothing(net: Path) -> None:
    _run(net, "--no-cache")
    assert not (net.parent / "cache").exists()


@pytest.mark.parametrize("removed", ["builds", "texts"])
def test_a_part_of_the_cache_may_go(net: Path, removed: str) -> None:
    want = _run(net)[2]
    shutil.rmtree(net.parent / "cache" / "irtool" / removed)
    np.testing.assert_array_equal(_run(net)[2], want)


def test_a_damaged_library_is_built_again(net: Path) -> None:
    want = _run(net)[2]
    (library,) = (net.parent / "cache" / "irtool" / "builds").glob("*/files/*.so")
    library.write_bytes(library.read_bytes()[:-1] + b"?")
    np.testing.assert_array_equal(_run(net)[2], want)


def test_onnx_models_take_inputs_by_their_own_names(net: Path, reads: list[str]) -> None:
    onnx = pytest.importorskip("onnx")
    text = """<ir_version: 8, opset_import: ["": 17]> n (float[2, 3] a.b) => (float[2, 3] y.z) { y.z = Tanh(a.b) }"""
    model = net.parent / "m.onnx"
    model.write_bytes(onnx.parser.parse_model(text.replace("a.b", "a_b").replace("y.z", "y_z")).SerializeToString())
    loaded = onnx.load(model)
    loaded.graph.input[0].name = loaded.graph.node[0].input[0] = "a.b"
    loaded.graph.output[0].name = loaded.graph.node[0].output[0] = "y.z"
    onnx.save(loaded, model)
    np.savez(net.parent / "x.npz", **{"a.b": np.ones((2, 3), "float32")})
    words = ["run", model, "--via", "c", "--inputs", net.parent / "x.npz"]
    first = irtool(*words)
    assert first[0] == 0 and first[1].startswith("out0 (y.z)")
    assert irtool(*words) == first
    assert len(reads) == 1
