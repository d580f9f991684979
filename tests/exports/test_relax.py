"""Relax as text: what is written, and what is reported. Whether TVM takes it is asked in `tests/peers/test_relax.py`."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.cli import run
from irtool.driver.extents import with_given_extents
from irtool.exports import Request, parse_export
from irtool.exports.relax.forms import forms
from irtool.infer import infer_types
from irtool.ir import Call, Constant, Function, If, Module, TensorType, Var
from irtool.ops import operators
from irtool.ops.base import call

HEAD = '#[version = "0.0.5"]\n'
ADD = HEAD + "def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) {\n  add(%x, %w)\n}\n"


def written(module: Module, weights: dict[str, np.ndarray] | None = None, form: str = "relax") -> dict[str, bytes]:
    files = parse_export(form).write(infer_types(module), Request("net.py", "main", weights or {}))
    return {f.name: b"".join(f.parts) for f in files}


@pytest.mark.promise("Relax out")
def test_forms_are_of_operators() -> None:
    assert all(name in operators for name in forms.names())
    assert all(forms.get(name).relax and forms.get(name).summary() for name in forms.names())


@pytest.mark.promise("Relax out")
def test_weights_are_constants_or_parameters_beside() -> None:
    weights = {"w": np.array([1, 2], "float32")}
    bound = written(irtool.parse(ADD), weights)
    assert list(bound) == ["net.npz", "net.py"]
    assert b'R.const(_constants["w"], "float32")' in bound["net.py"] and b"def main(x: R.Tensor" in bound["net.py"]
    left = written(irtool.parse(ADD), weights, "relax{weights=parameters}")
    assert list(left) == ["net.npz", "net.py"] and b"_constants" not in left["net.py"]
    assert b"x: R.Tensor((2,), dtype=" in left["net.py"] and b"w: R.Tensor((2,), dtype=" in left["net.py"]
    assert written(irtool.parse(ADD), weights) == bound, "the same input gives the same bytes"
    with pytest.raises(irtool.IrError, match="neither constants nor parameters"):
        written(irtool.parse(ADD), weights, "relax{weights=elsewhere}")


@pytest.mark.promise("Relax out")
def test_deep_programs_are_written_without_recursion() -> None:
    body: irtool.ir.Expr = Var("x", TensorType((2,), "float32"))
    x = body
    for _ in range(20_000):
        body = call("add", body, x)
    text = written(Module({"main": Function((x,), body)}))["net.py"].decode()
    assert text.count("R.add(") == 20_000
    assert len(text) < 200 * 20_000


@pytest.mark.promise("Relax out")
def test_branches_deeper_than_python_are_reported() -> None:
    c, x = Var("c", TensorType((), "bool")), Var("x", TensorType((2,), "float32"))

    def nested(depth: int) -> Module:
        body: irtool.ir.Expr = x
        for _ in range(depth):
            body = If(c, call("exp", body), x)
        return Module({"main": Function((c, x), body)})

    ast.parse(written(nested(80))["net.py"])
    with pytest.raises(irtool.IrError, match="cannot be indented so deeply"):
        written(nested(200))


@pytest.mark.promise("Relax out")
def test_constants_of_all_kinds_are_kept() -> None:
    x = Var("x", TensorType((), "float32"))
    values = [np.float32("inf"), np.float32(0.1), np.float32("nan"), np.zeros((2, 0), "float32")]
    fields = [Call(add_op, (x, Constant(np.asarray(v)))) for add_op in [call("add", x, x).op] for v in values]
    files = written(Module({"main": Function((x,), irtool.ir.Tuple(tuple(fields)))}))
    ast.parse(files["net.py"])
    assert b'R.const(0.10000000149011612, "float32")' in files["net.py"]
    assert files["net.py"].count(b"_constants[") == 3, "what Python has no literal for is in the file beside"


@pytest.mark.promise("Relax out")
def test_the_command_writes_whole_files_or_none(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in.relay", tmp_path / "out.py"
    source.write_text(HEAD + "def @main(%x: Tensor[(2), float32]) {\n  (argwhere(%x), argwhere(exp(%x)))\n}\n")
    assert run(["export", "--to=relax", str(source), "-o", str(out)]) == 1
    assert "argwhere has no counterpart in Relax (2 uses)" in capfd.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["in.relay"]
    source.write_text(ADD)
    np.savez(tmp_path / "w.npz", w=np.array([1, 2], "float32"))
    assert run(["export", str(source), "--params", str(tmp_path / "w.npz"), "-o", str(out)]) == 0
    assert {"out.py", "out.npz"} <= {p.name for p in tmp_path.iterdir()}
    assert run(["export", str(source), "-o", str(tmp_path / "out.xyz")]) == 2
    assert run(["export", "--to=relax", str(source), "--params", str(tmp_path / "w.npz"), "-o", "-"]) == 2
    assert run(["export", "--to=relay", str(source), "-o", "-"]) == 2


@pytest.mark.promise("Relax out")
@pytest.mark.parametrize(
    ("indices", "direct"), [([0, -2, 1], True), ([0, 2, 1], False), ([-3, 0, 1], False), (None, False)]
)
def test_updates_outside_of_the_data_are_left_out_by_a_loop_nest(indices: list[int] | None, direct: bool) -> None:
    """Relax's scatter_elements would write beside the data."""
    params = "%x: Tensor[(2), float32], %i: Tensor[(3), int32], %u: Tensor[(3), float32]"
    module = irtool.parse(HEAD + f"def @main({params}) {{\n  scatter_elements(%x, %i, %u, axis=0)\n}}\n")
    text = written(module, {"i": np.array(indices, "int32")} if indices else None)["net.py"]
    assert (b"R.scatter_elements(" in text) == direct != (b"R.call_tir(" in text)


def test_lengths_with_bounds_are_refused_and_open_extents_are_not() -> None:
    m = irtool.parse(HEAD + "def @main(%x: Tensor[(?, 4), float32]) {\n  exp(%x)\n}\n")
    bounded = with_given_extents(m, "main", {"x": ("n<=8", 4)}, {})
    with pytest.raises(
        irtool.IrError, match="@main has lengths with bounds, n, and Relax has dimensions without"
    ) as error:
        written(bounded)
    (diagnostic,) = error.value.diagnostics
    assert "extents open" in diagnostic.help and diagnostic.span is not None
    assert b'R.Tensor(("n", 4), dtype="float32")' in written(m)["net.py"]
