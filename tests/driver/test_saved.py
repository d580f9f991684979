"""What was built is opened again: by `load`, and from a pickle."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool import IrError, relay

pytestmark = pytest.mark.promise("Python API")

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def network():
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))
    y = relay.nn.relu(relay.nn.dense(x, w) + 1.0)
    params = {"w": RNG.normal(size=(4, 8)).astype("float32")}
    data = RNG.normal(size=(2, 8)).astype("float32")
    expected = np.maximum(data @ params["w"].T + 1, 0)
    return relay.Function([x, w], relay.Tuple([y, relay.sum(y)])), params, data, expected


@pytest.mark.parametrize("weights", ["inline", "file"])
def test_a_folder_is_opened_in_another_process(network, weights: str, tmp_path: Path) -> None:
    f, params, data, expected = network
    built = irtool.build(f, params, out_dir=tmp_path / "saved", weights=weights)
    moved = tmp_path / "moved"
    shutil.move(tmp_path / "saved", moved)
    np.save(tmp_path / "x.npy", data)
    program = """
import sys, numpy as np, irtool
import irtool.backends.toolchain.compiler as compiler
compiler.Compiler = None
a = irtool.load(sys.argv[1])
out, total = a.run({"x": np.load(sys.argv[2])})
assert [(t["name"], t["shape"], t["dtype"]) for t in a.inputs] == [("x", [2, 8], "float32")], a.inputs
assert [t["shape"] for t in a.outputs] == [[2, 4], []]
np.save(sys.argv[3], out)
"""
    out = tmp_path / "out.npy"
    done = subprocess.run(
        [sys.executable, "-c", program, moved, tmp_path / "x.npy", out], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(out), expected, rtol=1e-5)
    for path in (moved, moved / "model.so", moved / "model.irtool.json"):
        again = irtool.load(path)
        assert again.report["kernels"] == built.report["kernels"]
        assert again.arena_bytes == built.arena_bytes
        np.testing.assert_allclose(again.run([data])[0], expected, rtol=1e-5)


def test_the_same_build_is_described_in_the_same_bytes(network, tmp_path: Path) -> None:
    f, params, _, _ = network
    texts = []
    for name in "ab":
        irtool.build(f, params, out_dir=tmp_path / name)
        about = json.loads((tmp_path / name / "model.irtool.json").read_text())
        about["files"].pop("model.so")  # compilers may note the folder
        texts.append(json.dumps(about))
    assert texts[0] == texts[1]


def test_save_keeps_graph_and_constants(network, tmp_path: Path) -> None:
    f, params, data, expected = network
    built = irtool.build(f, params)
    built.save(tmp_path)
    back = irtool.load(tmp_path)
    assert back.graph_json() == built.graph_json()
    names = {n["name"] for n in json.loads(back.graph_json())["nodes"] if n["op"] == "null"}
    assert {*back.params(), "x"} == names
    for name, value in built.params().items():
        np.testing.assert_array_equal(back.params()[name], value)
    assert back.function_metadata()["main"]["io_bytes"] == (16 + 8 + 1) * 4
    np.testing.assert_allclose(back.run([data])[0], expected, rtol=1e-5)


def test_a_pickle_needs_nothing_else(network, tmp_path: Path) -> None:
    f, params, data, expected = network
    built = irtool.build(f, params, out_dir=tmp_path / "gone", weights="file")
    pickled = pickle.dumps(built)
    shutil.rmtree(tmp_path / "gone")
    back = pickle.loads(pickled)
    np.testing.assert_allclose(back.run([data])[0], expected, rtol=1e-5)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(back)).run([data])[0], expected, rtol=1e-5)
    assert "model(x: float32[2, 8])" in repr(back)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: (d / "model.so").unlink(), "model.so is missing"),
        (lambda d: (d / "model.so").write_bytes(b"x"), "is not the file that was built"),
        (lambda d: (d / "model.irtool.json").write_text("{"), "cannot be read"),
        (lambda d: (d / "model.irtool.json").write_text("[]"), "does not describe a build"),
        (lambda d: (d / "model.irtool.json").write_text('{"format": "irtool build", "version": 99}'), "version 99"),
        (lambda d: (d / "model.irtool.json").write_text('{"format": "irtool build", "version": 1}'), "damaged"),
        (lambda d: (d / "model.irtool.json").unlink(), "holds no build that can be loaded"),
        (lambda d: shutil.copy(d / "model.irtool.json", d / "b.irtool.json"), "several builds"),
        (shutil.rmtree, "no such file or folder"),
    ],
)
def test_damaged_folders_are_told(network, damage, message: str, tmp_path: Path) -> None:
    f, params, _, _ = network
    built = irtool.build(f, params)
    folder = tmp_path / "saved"
    built.save(folder)
    damage(folder)
    with pytest.raises(IrError, match=message):
        irtool.load(folder)


def test_what_cannot_be_kept_says_why(network, tmp_path: Path) -> None:
    f, params, _, _ = network
    with pytest.raises(IrError, match="emit='so'"):
        irtool.build(f, params, emit="c").save(tmp_path)
    irtool.build(f, params, emit="c", out_dir=tmp_path / "c")
    with pytest.raises(IrError, match="no build that can be loaded"):
        irtool.load(tmp_path / "c")
    x = relay.var("x", shape=(relay.Any(), 3))
    with pytest.raises(IrError, match="compiled when it runs"):
        irtool.build(relay.nn.relu(x)).save(tmp_path)
    irtool.build(f, params, out_dir=tmp_path / "plain")
    with pytest.raises(IrError, match="was not kept"):
        irtool.load(tmp_path / "plain").graph_json()
