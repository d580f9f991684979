"""One artifact, or one folder, and many threads: every output is that of its own input."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.driver.serving import Serving

pytestmark = pytest.mark.promise("Python API")

THREADS, RUNS = 4, 160
TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 256), float32], %w: Tensor[(256, 256), float32]) {
  let %y = tanh(nn.dense(%x, %w, units=256));
  let %z = tanh(nn.dense(%y, %w, units=256));
  (nn.softmax(nn.dense(%z, %w, units=256)), sum(%z, axis=[1]))
}
"""
LOOP = """#[version = "0.0.5"]
def @step(%n: int32, %h: Tensor[(8, 64), float32], %w: Tensor[(64, 64), float32]) -> Tensor[(8, 64), float32] {
  if (%n > 0) { @step(%n - 1, tanh(nn.dense(%h, %w, units=64)), %w) } else { %h }
}
def @main(%x: Tensor[(8, 64), float32], %w: Tensor[(64, 64), float32]) { @step(30, %x, %w) }
"""
CELL = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 256), float32], %w: Tensor[(256, 256), float32]) {
  let %state = ref(%x);
  let %a = ref_write(%state, tanh(nn.dense(ref_read(%state), %w, units=256)));
  let %b = ref_write(%state, tanh(nn.dense(ref_read(%state), %w, units=256)));
  ref_read(%state)
}
"""
OPEN = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 256), float32], %w: Tensor[(256, 256), float32]) { tanh(nn.dense(tanh(nn.dense(%x, %w, units=256)), %w, units=256)) }
"""
INT8 = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 256), float32], %w: Tensor[(256, 256), float32]) {
  let %q = cast(clip(multiply(%x, 20f), a_min=-127f, a_max=127f), dtype="int8");
  let %v = cast(clip(multiply(%w, 127f), a_min=-127f, a_max=127f), dtype="int8");
  nn.softmax(multiply(cast(nn.dense(%q, %v, units=256, out_dtype="int32"), dtype="float32"), 0.0001f))
}
"""
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": (TEXT, {}),
    "weights in a file": (TEXT, {"weights": "file"}),
    "scalar": (TEXT, {"vector": "none"}),
    "level 0": (TEXT, {"opt_level": 0}),
    "portable": (TEXT, {"mcpu": "portable"}),
    "threads": (TEXT, {"openmp": True}),
    "TVM's interface": (TEXT, {"api": "tvm"}),
    "llvm": (TEXT, {"target": "llvm"}),
    "loop": (LOOP, {}),
    "loop, llvm": (LOOP, {"target": "llvm"}),
    "references": (CELL, {}),
    "integers": (INT8, {}),
}


def draw(text: str, shape: Sequence[int] = (64, 256)) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """The weights, and inputs that differ."""
    generator = np.random.default_rng(0)
    shape = (8, 64) if text is LOOP else shape
    weights = {"w": (generator.standard_normal((shape[-1], shape[-1])) / 16).astype("float32")}
    return weights, [generator.standard_normal(shape).astype("float32") for _ in range(8)]


def flat(value: Any) -> np.ndarray:
    return np.concatenate([np.ravel(v) for v in (value if isinstance(value, tuple) else (value,))])


def check(run: Callable[[np.ndarray], Any], inputs: Sequence[np.ndarray], runs: int = RUNS) -> None:
    """Runs in several threads at once give what runs one after the other do, to the bit."""
    expected = [flat(run(x)) for x in inputs]
    start = threading.Barrier(THREADS)

    def serve(thread: int) -> int:
        start.wait()
        order = [(n * (thread + 1) + thread) % len(inputs) for n in range(runs // THREADS)]
        return sum(not np.array_equal(flat(run(inputs[k])), expected[k]) for k in order)

    with ThreadPoolExecutor(THREADS) as pool:
        assert sum(pool.map(serve, range(THREADS))) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_threads_share_an_artifact(kind: str) -> None:
    text, options = KINDS[kind]
    if options.get("target") == "llvm":
        pytest.importorskip("llvmlite")
    weights, inputs = draw(text)
    artifact = irtool.build(irtool.parse(text), weights, **options)
    check(lambda x: artifact.run([x]), inputs)


def test_threads_share_what_was_pickled_or_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    weights, inputs = draw(TEXT)
    module = irtool.parse(TEXT)
    first = irtool.build(module, weights, cache=True, weights="file")
    again = irtool.build(module, weights, cache=True, weights="file")
    assert again.cached
    copy = pickle.loads(pickle.dumps(first))
    check(lambda x: again.run([x]), inputs)
    check(lambda x: copy.run([x]), inputs)


def test_open_shapes_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, _ = draw(OPEN)
    artifact = irtool.build(irtool.parse(OPEN), weights)
    compiled: list[Any] = []
    compile = artifact._specializer._compile
    monkeypatch.setattr(artifact._specializer, "_compile", lambda m: compiled.append(m) or compile(m))
    inputs = [x[: 40 + n % 2] for n, x in enumerate(draw(OPEN)[1])]
    start = threading.Barrier(THREADS)

    def serve(thread: int) -> list[np.ndarray]:
        start.wait()
        return [artifact.run([x]) for x in inputs * 4]

    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(serve, range(THREADS)))
    assert len(compiled) == 2
    for served in results:
        for x, y in zip(inputs * 4, served):
            np.testing.assert_array_equal(y, artifact.run([x]))


def test_the_interpreter_in_threads() -> None:
    weights, inputs = draw(TEXT)
    module = irtool.parse(TEXT)
    check(lambda x: irtool.evaluate(module, {"x": x, **weights}), inputs[:3], runs=12)


LOADS = """
import sys, threading
import numpy as np
import irtool
from concurrent.futures import ThreadPoolExecutor
folder, inputs, wanted = sys.argv[1], np.load(sys.argv[2]), np.load(sys.argv[3])
start = threading.Barrier(4)
def serve(thread):
    wrong = 0
    start.wait()
    for n in range(10):
        artifact = irtool.load(folder)  # a new one each time, beside runs of the others
        for k in range(len(inputs)):
            wrong += not np.array_equal(artifact.run([inputs[k]])[0], wanted[k])
    return wrong
with ThreadPoolExecutor(4) as pool:
    assert sum(pool.map(serve, range(4))) == 0
maps = open("/proc/self/maps").read() if sys.platform == "linux" else ""
assert maps.count("model.bin") <= 1, maps
"""


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_threads_load_the_same_folder(target: str, tmp_path: Path) -> None:
    if target == "llvm":
        pytest.importorskip("llvmlite")
    weights, inputs = draw(TEXT)
    artifact = irtool.build(irtool.parse(TEXT), weights, target=target, weights="file", out_dir=tmp_path / "net")
    np.save(tmp_path / "inputs.npy", inputs)
    np.save(tmp_path / "wanted.npy", [artifact.run([x])[0] for x in inputs])
    arguments = [tmp_path / "net", tmp_path / "inputs.npy", tmp_path / "wanted.npy"]
    done = subprocess.run([sys.executable, "-c", LOADS, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)


def test_a_build_replaced_under_the_same_path(tmp_path: Path) -> None:
    weights, inputs = draw(TEXT)
    module = irtool.parse(TEXT)
    for scale in (1, 2, 3):
        scaled = {"w": weights["w"] * np.float32(scale)}
        irtool.build(module, scaled, weights="file", out_dir=tmp_path)
        for _ in range(2):
            got = irtool.load(tmp_path).run([inputs[0]])
            np.testing.assert_allclose(got[0], irtool.evaluate(module, [inputs[0], scaled["w"]])[0], 1e-3, 1e-5)


def test_a_folder_of_an_earlier_irtool(tmp_path: Path) -> None:
    """Its description names no function that takes a workspace."""
    weights, inputs = draw(TEXT)
    expected = irtool.build(irtool.parse(TEXT), weights, out_dir=tmp_path).run([inputs[0]])
    path = tmp_path / "model.irtool.json"
    about = json.loads(path.read_text())
    del about["report"]["entries"]["main"]["run_with"]
    path.write_text(json.dumps(about))
    np.testing.assert_array_equal(irtool.load(tmp_path).run([inputs[0]])[0], expected[0])


class Alone:
    """A network of a backend that knows nothing of threads."""

    def __init__(self) -> None:
        self.inside = 0

    def run(self, inputs: Sequence[Any], outputs: Sequence[Any], function: str = "") -> None:
        self.inside += 1
        threading.Event().wait(0.001)
        outputs[0][:] = self.inside
        self.inside -= 1


def test_a_backend_without_workspaces_runs_one_at_a_time() -> None:
    serving = Serving(Alone(), 0)

    def serve(_: int) -> int:
        out = np.zeros(1)
        serving.run([], [out], {"run": "net_run", "run_with": ""})
        return int(out[0])

    with ThreadPoolExecutor(THREADS) as pool:
        assert set(pool.map(serve, range(40))) == {1}


class Counted:
    """A network that counts the workspaces that it made, and notices one that two runs use."""

    def __init__(self) -> None:
        self.workspace_count = 0
        self.fails = False

    def workspace(self, arena_bytes: int) -> list[int]:
        self.workspace_count += 1
        return [0]

    def run_in(self, workspace: list[int], inputs: Sequence[Any], outputs: Sequence[Any], function: str) -> None:
        workspace[0] += 1
        threading.Event().wait(0.0005)
        assert workspace[0] == 1
        workspace[0] -= 1
        if self.fails:
            raise irtool.diagnostics.ToolError("it failed")


def test_workspaces_are_used_again_also_after_a_failure() -> None:
    network = Counted()
    serving = Serving(network, 100)  # type: ignore[arg-type]
    entry = {"run": "net_run", "run_with": "net_run_with"}
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda _: serving.run([], [], entry), range(80)))
    workspaces = network.workspace_count
    assert 1 <= workspaces <= THREADS
    network.fails = True
    for _ in range(3):
        with pytest.raises(irtool.diagnostics.ToolError):
            serving.run([], [], entry)
    assert network.workspace_count == workspaces
