"""Every sample with every kind of output and every option: it is built, and computes what the interpreter does."""

from __future__ import annotations

import ctypes
import itertools
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool as library
from irtool.driver import graph_json
from irtool.interp.random_inputs import random_inputs
from tests.command_line import irtool

pytestmark = pytest.mark.promise("every output")

WITH_DATA = {"treelstm"}
"""Samples whose inputs are values of data types, which neither random inputs nor a graph can have; tests/backends/test_values.py builds such
entries."""

FOLDER = Path(__file__).parent.parent.parent / "samples"
SAMPLES = [s for s in sorted(FOLDER.glob("*.relay")) if s.stem not in WITH_DATA]
NO_GRAPH = {"recursion": "a call of @power", "two_functions": "a call of @gelu"}
"""Samples that the graph executor cannot run, and what of them is said."""


@pytest.fixture(autouse=True)
def no_optimization(monkeypatch: pytest.MonkeyPatch) -> None:
    """What programs compute is tested here, not how fast."""
    monkeypatch.setenv("CFLAGS", "-O0")


def settings(emits: tuple[str, ...]) -> Iterator[tuple[str, bool, list[str]]]:
    """The kind of output, whether a graph is asked for, and the further options.

    All combinations of all but the graph, which every second of them asks for: so each three settings meet.
    """
    for emit, api, openmp, vector, graph in itertools.product(
        emits, ("flat", "tvm"), ("--no-openmp", "--openmp"), ("auto", "none"), (False, True)
    ):
        is_odd = ((api == "tvm") + (openmp == "--openmp") + (vector == "none")) % 2 == 1
        if graph == is_odd:
            yield emit, graph, [f"--api={api}", openmp, f"--vector={vector}"]


@pytest.fixture(params=SAMPLES, ids=[s.stem for s in SAMPLES])
def sample(request: pytest.FixtureRequest) -> Path:
    return request.param


def build(sample: Path, folder: Path, emit: str, graph: bool, options: list[str]) -> Path | None:
    """Builds with `irtool build`; the folder, or None where there is no graph, as there should not be."""
    out = folder / "-".join(["out", emit, str(graph), *options])
    drawn = [f"--graph={out}.json"] if graph else []
    code, _, err = irtool("build", sample, f"--emit={emit}", *options, *drawn, "--no-cache", "-q", "-o", out)
    if graph and sample.stem in NO_GRAPH:
        assert code == 1, err
        assert NO_GRAPH[sample.stem] in err and f"{sample.name}:" in err
        assert not out.exists() and not Path(f"{out}.json").exists()
        return None
    assert code == 0, (emit, graph, options, err)
    assert err == ""
    if graph:
        check_graph(json.loads(Path(f"{out}.json").read_text()), sample)
    return out


def check_graph(graph: dict[str, Any], sample: Path) -> None:
    """What a node reads must still be where it was written: nothing else is put there in between."""
    rows, storage = graph["node_row_ptr"], graph["attrs"]["storage_id"][1]
    shapes = graph["attrs"]["shape"][1]
    holds: dict[int, int] = {}
    protected = {storage[rows[n]] for n in graph["arg_nodes"]}
    for n, node in enumerate(graph["nodes"]):
        for source, output, _ in node["inputs"]:
            assert source < n
            assert holds[storage[rows[source] + output]] == rows[source] + output
        for entry in range(rows[n], rows[n + 1]):
            assert n in graph["arg_nodes"] or storage[entry] not in protected
            holds[storage[entry]] = entry
    heads = [rows[n] + k for n, k, _ in graph["heads"]]
    assert all(holds[storage[e]] == e for e in heads)
    assert [shapes[e] for e in heads] == [list(a.shape) for a in expected(sample)[1]]
    assert [graph["nodes"][n]["op"] for n in graph["arg_nodes"]] == ["null"] * len(graph["arg_nodes"])


def expected(sample: Path) -> tuple[list[Any], list[Any]]:
    """Inputs, and the interpreter's outputs."""
    module = library.infer_types(library.parse(sample.read_text()))
    inputs = random_inputs(module["main"])
    outputs = library.evaluate(module, inputs)
    return inputs, list(outputs) if isinstance(outputs, tuple) else [outputs]


def agree(got: list[Any], want: list[Any], sample: Path) -> None:
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.reshape(b.shape), b, rtol=1e-4, atol=1e-5, err_msg=sample.stem)


def run_library(path: Path, name: str, inputs: list[Any], outputs: list[Any]) -> list[Any]:
    """The outputs of NAME_run in a shared library."""
    buffers = [np.empty_like(o) for o in outputs]
    arrays = [np.ascontiguousarray(a).ctypes.data_as(ctypes.c_void_p) for a in inputs]
    results = [a.ctypes.data_as(ctypes.c_void_p) for a in buffers]
    assert getattr(ctypes.CDLL(str(path)), f"{name}_run")(*arrays, *results) == 0
    return buffers


def run_program(path: Path, inputs: list[Any], outputs: list[Any]) -> list[Any]:
    """The outputs of a program that reads and writes raw files."""
    files = []
    for i, a in enumerate(inputs):
        files.append(path.parent / f"in{i}.raw")
        files[-1].write_bytes(a.tobytes())
    results = [path.parent / f"out{i}.raw" for i in range(len(outputs))]
    done = subprocess.run([path, *files, *results], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [np.frombuffer(r.read_bytes(), o.dtype) for r, o in zip(results, outputs, strict=True)]


def test_sources(sample: Path, tmp_path: Path) -> None:
    for emit, graph, options in settings(("c", "mlf")):
        out = build(sample, tmp_path, emit, graph, options)
        if out is None:
            continue
        name = sample.stem
        if emit == "mlf":
            with tarfile.open(out / f"{name}.tar") as archive:
                members = {m.removeprefix("./") for m in archive.getnames()}
            assert {"metadata.json", f"codegen/host/include/{name}.h", f"src/{name}.relay"} <= members
            assert (f"executor-config/graph/{name}.graph" in members) == (name not in NO_GRAPH)
        else:
            assert {f"{name}.c", f"{name}.h"} <= {f.name for f in out.iterdir()}
            assert (out / f"tvmgen_{name}.h").exists() == ("--api=tvm" in options)


def test_compiled(sample: Path, tmp_path: Path) -> None:
    inputs, want = expected(sample)
    name = sample.stem
    for emit, graph, options in settings(("obj", "so", "exe")):
        out = build(sample, tmp_path, emit, graph, options)
        if out is None:
            continue
        if emit == "so":
            agree(run_library(out / f"{name}.so", name, inputs, want), want, sample)
        elif emit == "exe":
            agree(run_program(out / name, inputs, want), want, sample)
        else:
            assert (out / f"{name}.o").stat().st_size > 0


CASES = {
    "local function": (
        "def @main(%x: Tensor[(2), float32]) { fn (%y: Tensor[(2), float32]) { add(%y, %x) }(exp(%x)) }",
        "a function that is no kernel",
    ),
    "branch": (
        "def @main(%c: bool, %x: Tensor[(2), float32]) { if (%c) { exp(%x) } else { log(%x) } }",
        "this is an if",
    ),
    "loop": (
        "def @main(%n: int32) -> int32 { let %f = fn (%i: int32) -> int32 { if (%i > 0) { %f(%i - 1) } else { %i } }; %f(%n) }",
        "a function that is no kernel",
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_what_is_no_graph_is_refused_with_its_places(kind: str, tmp_path: Path) -> None:
    text, message = CASES[kind]
    path = tmp_path / "n.relay"
    path.write_text(f'#[version = "0.0.5"]\n{text}\n')
    graph, out = tmp_path / "g.json", tmp_path / "out"
    code, _, err = irtool("build", "--emit=c", f"--graph={graph}", "-o", out, path)
    assert code == 1, err
    assert message in err and "n.relay:2:" in err
    assert not graph.exists() and not out.exists()
    code, _, err = irtool("build", "--emit=mlf", "-o", out, path)
    assert code == 0, err


BEYOND = {
    "an if": "def @main(%c: bool, %x: float32) { if (%c) { exp(%x) } else { log(%x) } }",
    "a match": "type D { A, B } def @main(%d: D, %x: float32) { match (%d) { A => exp(%x), B => %x } }",
    "a reference": "def @main(%x: float32) { let %r = ref(%x); ref_read(%r) }",
    "algebraic data": "type D { A(float32) } def @main(%x: float32) { A(%x) }",
    "a call of @f": "def @f(%x: float32) { exp(%x) } def @main(%x: float32) { @f(%x) }",
    "a call of a function": "def @main(%f: fn (float32) -> float32, %x: float32) { %f(%x) }",
    "returns tensors only": "def @main(%x: float32) { fn (%y: float32) { add(%x, %y) } }",
}


@pytest.mark.parametrize("message", BEYOND)
def test_every_reason_for_which_a_function_is_no_graph(message: str) -> None:
    module = library.infer_types(library.parse(BEYOND[message]))
    with pytest.raises(library.IrError, match=message) as caught:
        graph_json(module)
    assert all(d.span is not None for d in caught.value.diagnostics)


STRAIGHT = {
    "let in let": "let %a = { let %b = exp(%x); add(%b, %b) }; multiply(%a, %x)",
    "let of a tuple": "let %t = (exp(%x), %x); let %u = %t.0; (add(%u, %t.1), %u)",
    "let that is the result": "let %a = exp(%x); %a",
    "let of a parameter": "let %a = %x; let %b = %a; (%b, exp(%b))",
    "unused let": "let %a = exp(%x); log(%x)",
    "closure": "let %f = fn (%y: Tensor[(2), float32]) { add(%y, %x) }; %f(%f(%x))",
}


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("kind", STRAIGHT)
def test_lets_and_closures_without_branches_are_graphs(kind: str, level: int, tmp_path: Path) -> None:
    path = tmp_path / "n.relay"
    path.write_text(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {{ {STRAIGHT[kind]} }}\n')
    code, _, err = irtool(
        "build", "--emit=c", f"-O{level}", f"--graph={tmp_path / 'g.json'}", "-q", "-o", tmp_path / "out", path
    )
    assert (code, err) == (0, "")
    check_graph(json.loads((tmp_path / "g.json").read_text()), path)
