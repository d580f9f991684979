"""Everything else that a build writes: test benches, programs, archives, graphs, reports."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.c import static_memory
from irtool.backends.c.program import TextOptions, write_program
from irtool.backends.toolchain.compiler import Compiler
from irtool.diagnostics import IrError, UsageError
from irtool.driver import graph_json
from irtool.driver.options import Options
from irtool.driver.prepare import prepare_entries
from irtool.lower import lower_module
from irtool.lower.memory import plan_memory
from irtool.passes import run_passes
from irtool.schedule import schedule_program
from tests.driver.programs import compile_c, dense, parse, run

MIXED = """
def @main(%f: Tensor[(4, 6), float32], %h: Tensor[(6), float16], %i: Tensor[(4, 6), int32], %b: Tensor[(6), bool],
          %t: (Tensor[(2), uint8], Tensor[(2), float64])) {
  (tanh(%f), exp(%h), multiply(%i, %i), logical_not(%b), (add(%t.0, %t.0), sqrt(%t.1)))
}
"""


def test_a_test_bench_of_many_dtypes(tmp_path: Path) -> None:
    irtool.build(parse(MIXED), out_dir=tmp_path, emit="exe", testbench=True)
    done = run(tmp_path / "model")
    assert done.returncode == 0, done.stdout


def test_a_test_bench_fails_where_outputs_differ(tmp_path: Path) -> None:
    irtool.build(parse(MIXED), out_dir=tmp_path, emit="c", testbench=True)
    text = (tmp_path / "model_test.c").read_text()
    for output in ("out0", "out1", "out2", "out3"):
        start = text.index(f"static const double {output}_expected")
        end = text.index("};", start)
        changed = re.sub(r"([^\s,{]+),\n$", "1234.5,\n", text[start:end])
        assert changed != text[start:end]
        (tmp_path / "wrong_test.c").write_text(text[:start] + changed + text[end:])
        done = run(compile_c(tmp_path, "wrong", "model.c", "wrong_test.c"))
        assert done.returncode == 1 and f"{output}[" in done.stdout and "FAILED: 1 elements" in done.stdout


def test_pieces_are_the_same_program(tmp_path: Path) -> None:
    body = "%x"
    for n in range(8):
        body = f"nn.softmax(multiply({body}, {n + 1}f))" if n % 2 else f"cumsum({body}, axis=1)"
    m = parse(f"def @main(%x: Tensor[(3, 5), float32]) {{ {body} }}")
    prepared = prepare_entries(m, Options(opt_level=0))
    program = lower_module(prepared)
    schedule_program(program, Compiler().machine())
    plan_memory(program)
    whole, cut = write_program(program), write_program(program, options=TextOptions(unit_length=1))
    assert len(whole.units) == 1 and len(cut.units) == 4 and whole.source == cut.source
    (tmp_path / "model.h").write_text(cut.header)
    (tmp_path / "main.c").write_text(
        '#include "model.h"\n#include <stdio.h>\nint main(void) {\n  float x[15], y[15];\n  int i;\n'
        "  for (i = 0; i < 15; ++i) x[i] = (float)i * 0.1f;\n"
        '  if (model_run(x, y)) return 1;\n  for (i = 0; i < 15; ++i) printf("%.9g ", (double)y[i]);\n  return 0;\n}\n'
    )
    outputs = []
    for units in (whole.units, cut.units):
        for name, text in units.items():
            (tmp_path / name).write_text(text)
        outputs.append(run(compile_c(tmp_path, "main", "main.c", *units, *Compiler().processor_flags)).stdout)
    assert outputs[0] == outputs[1]
    x = (np.arange(15, dtype="float32") * np.float32(0.1)).reshape(3, 5)
    np.testing.assert_allclose(np.array(outputs[0].split(), "float32"), irtool.evaluate(m, [x]).ravel(), rtol=1e-4)


def test_the_model_library_stands_alone(tmp_path: Path) -> None:
    m, weights, _ = dense()
    irtool.build(m, weights, out_dir=tmp_path, name="net", emit="mlf")
    assert [p.name for p in tmp_path.iterdir()] == ["net.tar"]
    first = (tmp_path / "net.tar").read_bytes()
    irtool.build(m, weights, out_dir=tmp_path, name="net", emit="mlf")
    assert (tmp_path / "net.tar").read_bytes() == first
    with tarfile.open(tmp_path / "net.tar") as tar:
        tar.extractall(tmp_path / "x", filter="data")
    about = json.loads((tmp_path / "x" / "metadata.json").read_text())
    assert about["version"] == 7
    module = about["modules"]["net"]
    assert module["memory"]["functions"]["main"][0]["io_size_bytes"] == 4 * (16 + 32)
    assert module["memory"]["functions"]["main"][0]["constants_size_bytes"] == 4 * (16 * 32 + 32)
    assert module["memory"]["functions"]["operator_functions"]
    host = tmp_path / "x" / "codegen" / "host"
    for source in sorted((host / "src").iterdir()):
        compile_c(host, f"{source.stem}.o", "-Iinclude", "-c", f"src/{source.name}")
    graph = json.loads((tmp_path / "x" / "executor-config" / "graph" / "net.graph").read_text())
    assert len(graph["node_row_ptr"]) == len(graph["nodes"]) + 1
    program = irtool.parse((tmp_path / "x" / "src" / "net.relay").read_text())
    assert [p.name for p in program["main"].params] == ["x", "w", "b"]


def test_weights_go_into_the_model_library_as_they_are(tmp_path: Path) -> None:
    m, weights, _ = dense()
    artifact = irtool.build(m, weights, out_dir=tmp_path / "a", name="net", emit="c", weights="file")
    irtool.build(m, weights, out_dir=tmp_path, name="net", emit="mlf", weights="file")
    with tarfile.open(tmp_path / "net.tar") as tar:
        member = tar.extractfile("./parameters/net.bin")
        assert member is not None and member.read() == (tmp_path / "a" / "net.bin").read_bytes()
    assert artifact.report["weight_bytes"] == 4 * (16 * 32 + 32)


def test_the_graph_is_one_that_the_peers_executor_reads() -> None:
    m = parse(
        """
def @main(%x: Tensor[(4, 4), float32]) {
  %0 = nn.softmax(%x);
  %1 = split(%0, indices_or_sections=2);
  %2 = nn.softmax(%1.0);
  (concatenate((%2, %1.1, meta[relay.Constant][0])), reshape(%0, newshape=[16]))
}
""".replace("meta[relay.Constant][0]", "%1.0")
    )
    graph = json.loads(graph_json(run_passes(m, "FuseOps{fuse_opt_level=0}")))
    nodes, rows, attrs = graph["nodes"], graph["node_row_ptr"], graph["attrs"]
    assert [n["op"] for n in nodes].count("null") == len(graph["arg_nodes"]) == 1
    assert len({n["name"] for n in nodes}) == len(nodes)
    assert rows[0] == 0 and rows[-1] == len(attrs["shape"][1]) == len(attrs["storage_id"][1]) == len(attrs["dltype"][1])
    for k, n in enumerate(nodes):
        for source, output, version in n["inputs"]:
            assert source < k and output < rows[source + 1] - rows[source] and version == 0
        if n["op"] == "tvm_op":
            assert n["attrs"]["num_inputs"] == str(len(n["inputs"]))
            assert n["attrs"]["num_outputs"] == str(rows[k + 1] - rows[k])
    assert len(graph["heads"]) == 2
    shapes = [attrs["shape"][1][rows[n] + output] for n, output, _ in graph["heads"]]
    assert shapes == [[6, 4], [16]]
    softmaxes = [n["attrs"]["func_name"] for n in nodes if "softmax" in n["name"]]
    assert len(softmaxes) == len(set(softmaxes)) == 2  # of different shapes


def test_the_graph_says_of_kernels_what_the_peer_does() -> None:
    """The hash is TVM's own for this softmax; what operators say of their layouts goes with it."""
    text = (
        'def @main(%x: Tensor[(1, 10), float32]) { nn.softmax(layout_transform(%x, src_layout="NC", dst_layout="CN")) }'
    )
    prepared = run_passes(parse(text), "FuseOps{fuse_opt_level=0}")
    layout, _ = [n["attrs"] for n in json.loads(graph_json(prepared))["nodes"] if n["op"] == "tvm_op"]
    assert (layout["src_layout"], layout["dst_layout"]) == ("NC", "CN") and len(layout["hash"]) == 16
    fused = run_passes(parse("def @main(%x: Tensor[(1, 10), float32]) { nn.softmax(%x) }"), "FuseOps")
    assert [n["attrs"]["hash"] for n in json.loads(graph_json(fused))["nodes"] if "attrs" in n] == ["0cc19816e7a3c070"]


def test_a_branch_is_no_graph() -> None:
    m = parse("def @main(%x: Tensor[(4), float32], %b: bool) { if (%b) { %x } else { exp(%x) } }")
    with pytest.raises(IrError, match="straight-line networks only; this is an if"):
        graph_json(m)


def test_the_report(tmp_path: Path) -> None:
    m, weights, _ = dense()
    report = irtool.build(m, weights, out_dir=tmp_path, name="net").report
    assert json.loads(json.dumps(report)) == report
    assert report["weight_bytes"] == 4 * (16 * 32 + 32)
    assert report["macs"] == 16 * 32
    assert report["arena_bytes"] >= report["arena_lower_bound"]
    assert report["inputs"] == [{"name": "x", "c_name": "x", "shape": [1, 16], "dtype": "float32", "bytes": 64}]
    assert report["entries"]["main"]["run"] == "net_run"
    kernel = next(k for k in report["kernels"] if k["macs"])
    assert {"nn.relu"} < set(kernel["operators"]) and kernel["strategy"] and kernel["reason"]
    assert kernel["c_name"] in (tmp_path / "net.c").read_text()
    for b in report["buffers"]:
        assert b["offset"] + b["bytes"] <= report["arena_bytes"] and b["first_step"] <= b["last_step"]


def test_the_lower_bound_is_that_of_the_level_with_most() -> None:
    """Levels hold rows of other lengths in registers, so that a result may lie in the place of what it is made of in some only."""
    m = parse(
        """def @main(%x: Tensor[(1, 784), float32], %a: Tensor[(128, 784), float32], %b: Tensor[(64, 128), float32]) {
          %0 = nn.relu(nn.dense(%x, %a, units=128));
          nn.softmax(nn.relu(nn.dense(%0, %b, units=64)))
        }"""
    )
    rng = np.random.default_rng(0)
    weights = {"a": rng.random((128, 784), "float32"), "b": rng.random((64, 128), "float32")}
    bounds = {
        level: irtool.build(m, weights, mcpu=level, emit="c").report["arena_lower_bound"]
        for level in ("x86-64-v2", "x86-64-v3", "x86-64-v4")
    }
    report = irtool.build(m, weights, mcpu=",".join(bounds), emit="c").report
    assert report["arena_lower_bound"] == report["arena_bytes"] == max(bounds.values()) > min(bounds.values())


def test_buffers_that_live_at_once_do_not_overlap() -> None:
    m = parse(
        """
def @main(%x: Tensor[(8, 8), float32]) {
  %0 = nn.softmax(%x); %1 = cumsum(%0, axis=0); %2 = nn.softmax(%1); %3 = cumsum(%2, axis=1);
  nn.softmax(add(add(%0, %1), add(%2, %3)))
}
"""
    )
    buffers = irtool.build(m, emit="c").report["buffers"]
    assert len(buffers) >= 3
    for n, a in enumerate(buffers):
        for b in buffers[:n]:
            together = a["first_step"] < b["last_step"] and b["first_step"] < a["last_step"]
            apart = a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]
            assert apart or not together


def test_nothing_is_left_where_writing_fails(tmp_path: Path) -> None:
    m, weights, _ = dense()
    (tmp_path / "model.c").mkdir()  # in the way
    with pytest.raises(IrError, match=r"cannot write .*model\.c"):
        irtool.build(m, weights, out_dir=tmp_path)
    assert {p.name for p in tmp_path.iterdir()} <= {"model.c", "model.h"}
    assert not (tmp_path / "model.so").exists()


@pytest.mark.parametrize(
    "option",
    [{"emit": "dll"}, {"math": "slow"}, {"api": "rust"}, {"weights": "cloud"}, {"target": "cuda"}, {"entry": []}],
)
def test_wrong_options_are_wrong_usage(option: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        irtool.build(dense()[0], **option)


def test_the_interface_with_threads_is_the_same(tmp_path: Path) -> None:
    m, weights, x = dense()
    serial = irtool.build(m, weights).run([x])
    np.testing.assert_array_equal(irtool.build(m, weights, openmp=True).run([x]), serial)


def test_sources_do_not_depend_on_where_or_when(tmp_path: Path) -> None:
    m, weights, _ = dense()
    for n in ("a", "b"):
        irtool.build(m, weights, out_dir=tmp_path / n, weights="file", testbench=True, api="tvm")
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name
        assert str(tmp_path).encode() not in file.read_bytes()


def test_a_build_into_the_same_folder_is_the_one_that_runs(tmp_path: Path) -> None:
    """Other sizes too: running what was there before would write past the end."""
    x = np.ones(4, "float32")
    for n, body in enumerate(["%x", "concatenate((%x, %x))", "exp(%x)"]):
        artifact = irtool.build(parse(f"def @main(%x: Tensor[(4), float32]) {{ negative({body}) }}"), out_dir=tmp_path)
        got = artifact.run([x])
        assert got.shape == ((8,) if n == 1 else (4,))
        assert np.allclose(got, -np.e if n == 2 else -1)


@pytest.mark.parametrize("emit", ["exe", "so"])
def test_what_is_too_large_for_static_arrays_comes_from_the_heap(
    emit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_memory, "STATIC_LIMIT", 64)
    m = parse("def @main(%malloc: Tensor[(40, 8), float32]) { nn.softmax(cumsum(%malloc, axis=0)) }")
    artifact = irtool.build(m, out_dir=tmp_path, emit=emit, testbench=emit == "exe", name="net")
    if emit == "exe":
        assert run(tmp_path / "net").returncode == 0
        compile_c(tmp_path, "again", "net.c", "net_test.c")
        irtool.build(m, out_dir=tmp_path, emit="exe", name="net")
        compile_c(tmp_path, "again", "net.c", "net_main.c")
        x = np.random.RandomState(0).randn(40, 8).astype("float32")
        (tmp_path / "x.raw").write_bytes(x.tobytes())
        assert run(tmp_path / "net", "x.raw", "out.raw").returncode == 0
        got = np.fromfile(tmp_path / "out.raw", "float32").reshape(40, 8)
    else:
        x = np.ones((40, 8), "float32")
        got = artifact.run([x])
    assert np.allclose(got, irtool.evaluate(m, [x]), atol=1e-5)


def test_a_workspace_beyond_the_reach_of_static_data(tmp_path: Path) -> None:
    """Linked only: nothing of that size is run here."""
    text = "def @main(%x: Tensor[(1000, 1000), float32]) { %0 = cumsum(broadcast_to(%x, shape=[900, 1000, 1000]), axis=0); "
    m = parse(text + "sum(multiply(%0, cumsum(%0, axis=1)), axis=[0]) }")
    artifact = irtool.build(m, out_dir=tmp_path, emit="exe")
    assert artifact.arena_bytes > 1 << 31 and (tmp_path / "model").exists()


def test_a_test_bench_that_this_machine_cannot_make_is_refused(tmp_path: Path) -> None:
    m = parse("def @main(%x: Tensor[(500000, 400000), float32]) { exp(%x) }")
    with pytest.raises(IrError, match="the test bench needs the interpreter's results, 1600000000000 bytes"):
        irtool.build(m, out_dir=tmp_path / "out", emit="c", testbench=True)
    assert not (tmp_path / "out").exists()
