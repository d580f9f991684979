"""Commands start fast: they import what their arguments need, and nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.commands.plugin_index import PLACE, index

ROOT = Path(irtool.__file__).parent
SAMPLE = ROOT.parent / "samples" / "mlp.relay"
pytestmark = pytest.mark.promise("start")


def imported_by(*arguments: str, code: str = "") -> set[str]:
    """Names of the modules that a command, or some code, has imported when it ends, beside those that Python starts with."""
    code = code or f"from irtool.cli import run\nassert run({list(arguments)!r}) == 0"
    code = f"import sys; at_first = set(sys.modules)\n{code}\nprint('imported', *set(sys.modules) - at_first)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_passes_on_a_sample_import_what_they_need():
    modules = imported_by("opt", "--passes=SimplifyInference,FuseOps", str(SAMPLE))
    assert {"irtool.passes.fuse_ops", "irtool.passes.simplify_inference", "irtool.ops.nn.dense"} <= modules
    assert not {"numpy", "lark", "rich", "tempfile", "subprocess", "logging"} & modules
    rooms = {m.split(".")[1] for m in modules if m.startswith("irtool.")}
    assert not {"schedule", "backends", "driver", "lower", "interp", "relay"} & rooms
    assert not {"pathlib", "urllib", "shutil", "textwrap", "difflib", "traceback"} & modules
    for_others = {"infer.partial", "passes.instruments.timing", "tir.verify", "printer.tir", "commands.reproducer"}
    assert not {f"irtool.{m}" for m in for_others} & modules


def test_a_build_imports_no_pass_that_it_does_not_run(tmp_path):
    modules = imported_by("build", str(SAMPLE), "--emit", "c", "--no-cache", "-o", str(tmp_path))
    assert "irtool.passes.fuse_ops" in modules
    assert not {"irtool.passes.partition_graph", "irtool.passes.first_order_gradient", "irtool.passes.to_cps"} & modules
    assert not {"irtool.frontends.onnx.graph", "irtool.frontends.onnx.resolve_nodes"} & modules


def test_a_run_of_a_cached_build_imports_neither_passes_nor_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    net = tmp_path / "net.relay"
    net.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32]) { exp(%x) }')
    np.save(tmp_path / "x.npy", np.zeros(3, "float32"))
    words = ["run", str(net), "--via", "c", "--input", f"x={tmp_path / 'x.npy'}"]
    assert "irtool.passes.fuse_ops" in imported_by(*words)
    modules = imported_by(*words)
    rooms = {m.split(".")[1] for m in modules if m.startswith("irtool.")}
    assert not {"infer", "lower", "ops", "schedule"} & rooms
    assert not {"irtool.passes.core.runner", "irtool.parser.text", "tomllib"} & modules


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_a_process_that_runs_a_build_imports_no_compiler(target: str, tmp_path: Path) -> None:
    if target == "llvm":
        pytest.importorskip("llvmlite")
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32]) { exp(%x) }'
    irtool.build(irtool.parse(text), target=target, out_dir=tmp_path)
    run = f"import irtool, numpy; print(irtool.load({str(tmp_path)!r}).run([numpy.zeros(3, 'float32')]))"
    rooms = {m.split(".")[1] for m in imported_by(code=run) if m.startswith("irtool.")}
    assert not {"schedule", "selection", "passes", "parser", "lower", "infer", "ops"} & rooms


def test_a_model_imports_the_operators_that_it_has():
    code = """
import irtool, onnx.parser
text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
irtool.from_onnx(onnx.parser.parse_model(text))"""
    modules = imported_by(code=code)
    assert "irtool.frontends.onnx.operators.elementwise" in modules
    assert "irtool.frontends.onnx.operators.pooling" not in modules


def test_the_list_of_commands_imports_nothing_that_one_command_needs():
    modules = imported_by("--help")
    assert "irtool.commands.run" in modules
    rooms = {m.split(".")[1] for m in modules if m.startswith("irtool.")}
    assert (
        not {"ir", "ops", "tir", "infer", "interp", "parser", "passes", "lower", "schedule", "backends", "driver"}
        & rooms
    )


def test_a_command_makes_no_searches_for_garbage():
    """Imports make no garbage, and so many objects that Python would look for some a hundred times, and as it ends."""
    code = f"""
import gc
gc.collect()
searches = []
gc.callbacks.append(lambda phase, info: searches.append(phase) if phase == "start" else None)
from irtool.cli import main
searches.clear()
try:
    main(["opt", "--passes=SimplifyInference,FuseOps", {str(SAMPLE)!r}])
except SystemExit as end:
    assert end.code == 0
print("searches", len(searches), gc.get_freeze_count() > 10_000)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    _, searches, is_frozen = done.stdout.splitlines()[-1].split()
    assert int(searches) <= 2
    assert is_frozen == "True"


def test_defining_operators_and_passes_needs_no_numpy():
    code = "from irtool.ops import operators; from irtool.passes import passes; operators.load(); passes.load()"
    assert "numpy" not in imported_by(code=code)


def test_no_module_imports_numpy_with_itself():
    imports = {}
    for path in sorted(ROOT.rglob("*.py")):
        if path.name == "drawing.py":  # which is imported where something is drawn
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [a.name for n in tree.body if isinstance(n, ast.Import) for a in n.names]
        names += [n.module or "" for n in tree.body if isinstance(n, ast.ImportFrom) and not n.level]
        imports[str(path.relative_to(ROOT))] = [n for n in names if n.partition(".")[0] in ("numpy", "lark", "rich")]
    assert not {path: names for path, names in imports.items() if names}


@pytest.mark.parametrize(
    ("line", "candidate"),
    [("opt --passes=FuseOp", "FuseOps"), ("ops nn.conv2d_tr", "nn.conv2d_transpose"), ("passes Timi", "Timing")]
    + [("opt --pass-config=relay.FuseOps.max", "relay.FuseOps.max_depth="), ("opt -p defau", "default<O3>")],
)
def test_names_are_completed_without_importing_what_has_them(line, candidate):
    words = line.split()
    environment = {"_IRTOOL_COMPLETE": "bash_complete", "COMP_WORDS": f"irtool {line}", "COMP_CWORD": str(len(words))}
    code = f"import os; os.environ.update({environment})\nfrom irtool.cli import _answer\nassert _answer([]) == 0"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert candidate in done.stdout
    rooms = {m.split(".")[1] for m in imported_by(code=code) if m.startswith("irtool.")}
    assert not {"ir", "ops", "passes", "infer", "parser"} & rooms


def test_the_index_of_plug_ins_is_fresh():
    assert PLACE.read_text(encoding="utf-8") == index(), "run python -m irtool.commands.references"
