"""Types from outside, in every command: weights before types, shapes, dtypes and inputs for what is open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.cli import run
from irtool.interp.evaluate import evaluate
from irtool.parser import parse

HEAD = '#[version = "0.0.5"]\n'
WEIGHT = HEAD + "def @main(%x: Tensor[(2, 3), float32], %w) { add(%x, %w) }"
RECURSION = HEAD + "def @main(%x) {\n  if (equal(%x, 1)) { %x } else { add(@main(subtract(%x, 1)), 1) }\n}"
GROUPS = HEAD + (
    "def @main(%x: Tensor[(1, 4, 5, 5), float32], %w) { nn.conv2d(%x, %w, groups=2, channels=4, kernel_size=[3, 3]) }"
)


@pytest.fixture
def file(tmp_path: Path, quick_compiles: None):
    def write(text: str, **arrays: np.ndarray) -> list[str]:
        (tmp_path / "m.relay").write_text(text)
        for name, array in arrays.items():
            np.savez(tmp_path / f"{name}.npz", **{name: array})
            np.save(tmp_path / f"{name}.npy", array)
        return [str(tmp_path / "m.relay")]

    return write


def build(tmp_path: Path, *arguments: str) -> int:
    return run(["build", "--no-cache", "--emit=c", "-q", "-o", str(tmp_path / "out"), *arguments])


@pytest.mark.promise("weights first")
@pytest.mark.parametrize(
    ("text", "w"),
    [
        (WEIGHT, np.ones((2, 3), "float32")),
        (WEIGHT, np.ones((3,), "float32")),
        (GROUPS, np.ones((4, 2, 3, 3), "float32")),
    ],
    ids=["matrix", "vector", "groups"],
)
def test_a_parameter_without_annotation_has_the_type_of_its_weight(file, tmp_path, text: str, w: np.ndarray) -> None:
    command = [*file(text, w=w), "--params", str(tmp_path / "w.npz")]
    assert build(tmp_path, *command) == 0
    assert run(["run", *command, "--compare", "interp,c", "-q"]) == 0
    assert run(["opt", *command, "-O3"]) == 0
    assert run(["check", *command, "--target=c"]) == 0
    x = np.ones([int(d) for d in parse(text)["main"].params[0].type_annotation.shape], "float32")
    got = irtool.build(parse(text), {"w": w}).run([x])
    assert np.allclose(got, evaluate(parse(text), {"x": x, "w": w}))


@pytest.mark.promise("weights first")
def test_wrong_weights_are_refused_by_the_type_that_they_should_have(file, tmp_path, capsys) -> None:
    dense = HEAD + "def @main(%x: Tensor[(2, 3), float32], %w) { nn.dense(%x, %w, units=4) }"
    command = [*file(dense, w=np.ones((5, 3), "float32")), "--params", str(tmp_path / "w.npz")]
    for way in (["run"], ["opt"], ["check"]):
        assert run([*way, *command]) == 1
        assert "%w is Tensor[(4, 3), float32], but its value is float32[5, 3]" in capsys.readouterr().err
    assert build(tmp_path, *command) == 1
    assert "%w is Tensor[(4, 3), float32], but its value is float32[5, 3]" in capsys.readouterr().err
    with pytest.raises(irtool.IrError, match="Tensor"):
        irtool.build(parse(dense), {"w": np.ones((5, 3), "float32")})
    assert not (tmp_path / "out").exists()


@pytest.mark.promise("untyped programs")
@pytest.mark.parametrize("options", [["--shape", "x="], ["--shape", "x=", "--dtype", "x=int32"], ["--inputs", "x.npz"]])
def test_what_is_open_takes_what_is_given(file, tmp_path, monkeypatch, capsys, options: list[str]) -> None:
    command = [*file(RECURSION, x=np.array(5, "int32")), *options]
    monkeypatch.chdir(tmp_path)
    assert build(tmp_path, *command) == 0
    assert run(["run", *command, "--compare", "interp,c"]) == 0
    assert "int32[]" in capsys.readouterr().out
    assert run(["opt", *command, "-O3"]) == 0
    assert run(["opt", *command, "-p", "FuseOps"]) == 0
    assert run(["check", *command, "--target=c"]) == 0
    assert capsys.readouterr().err == ""


KINDS = {
    "recursion": RECURSION,
    "mutual": HEAD + "def @main(%n) { if (equal(%n, 0)) { 1 } else { @odd(subtract(%n, 1)) } }\n"
    "def @odd(%n) { if (equal(%n, 0)) { 0 } else { @main(subtract(%n, 1)) } }",
    "closure": HEAD + "def @main(%x) { let %f = fn (%y) { add(%y, log(%x)) }; %f(%x) }",
    "closure never called": HEAD + "def @main(%x: int32) { let %f = fn (%y) { %y }; (%x, %f) }",
    "callee": HEAD + "def @f(%x) { exp(%x) } def @main(%x) { @f(%x) }",
    "two types": HEAD + "def @f(%x) { %x } def @main(%x: int32, %y: float32) { (@f(%x), @f(%y)) }",
    "tuple": HEAD + "def @main(%t) { %t.0 }",
    "reference": HEAD + "def @main(%x) { let %r = ref(%x); ref_read(%r) }",
}


@pytest.mark.promise("untyped programs")
@pytest.mark.parametrize("kind", KINDS)
def test_what_stays_open_is_refused_with_a_place_by_every_command(file, tmp_path, capsys, kind: str) -> None:
    command = file(KINDS[kind])
    assert run(["check", *command]) == (1 if kind == "two types" else 0)
    capsys.readouterr()
    for way in (
        ["check", "--target=c"],
        ["opt", "-O3"],
        ["opt", "-p", "FuseOps"],
        ["run"],
        ["run", "--compare", "interp,c"],
    ):
        assert run([*way, *command]) == 1, way
        err = capsys.readouterr().err
        assert "m.relay:2:" in err or "m.relay:3:" in err
        assert "^" in err
        assert "cannot be inferred" in err or "differ" in err
    assert build(tmp_path, *command) == 1


@pytest.mark.promise("untyped programs")
def test_functions_that_nothing_calls_may_stay_open(file, tmp_path, capsys) -> None:
    command = file(HEAD + "def @unused(%x) { %x }\ndef @main(%x: int32) { add(%x, 1) }")
    assert run(["run", *command, "--compare", "interp,c"]) == 0
    assert build(tmp_path, *command) == 0
    assert run(["opt", *command]) == 0
    done = capsys.readouterr()
    assert "warning[E0304]: the type of %x cannot be inferred" in done.err
    assert "@unused(%x" in done.out


@pytest.mark.promise("untyped programs")
@pytest.mark.parametrize(
    "name", ["ToANormalForm", "ToGraphNormalForm", "ToBasicBlockNormalForm", "Inline", "DeDuplicate"]
)
def test_passes_that_need_no_types_run_on_open_ones(name: str) -> None:
    for text in KINDS.values():
        if "@f(%y))" not in text:
            again = irtool.to_text(irtool.run_passes(parse(text), name))
            irtool.parse(again)


@pytest.mark.promise("untyped programs")
def test_python_takes_types_from_values() -> None:
    assert evaluate(parse(RECURSION), [5]) == 5
    assert evaluate(parse(RECURSION), {"x": np.int32(3)}) == 3
    assert evaluate(parse(HEAD + "def @main(%t) { add(%t.0, %t.1) }"), [(1.0, 2.0)]) == 3.0
    with pytest.raises(irtool.IrError, match="cannot be inferred"):
        irtool.build(parse(RECURSION))


@pytest.mark.promise("untyped programs")
def test_assumed_dtypes_are_said_and_hints_checked(file, capsys) -> None:
    command = file(HEAD + "def @main(%x) { nn.relu(%x) }")
    assert run(["opt", *command, "--shape", "x=2,3"]) == 0
    done = capsys.readouterr()
    assert "Tensor[(2, 3), float32]" in done.out
    assert "warning[W0301]: nothing says the dtype of %x: float32 is taken" in done.err
    for wrong in (["--shape", "x"], ["--shape", "x=2,*"], ["--dtype", "x=floaty"], ["--dtype", "int8"]):
        assert run(["check", *command, *wrong]) == 2
    for wrong in (["--shape", "y=1"], ["--dtype", "y=int8"], ["--entry", "nope"]):
        assert run(["check", *command, *wrong]) == 1


@pytest.mark.promise("partial inference")
def test_check_lists_what_is_unknown(file, tmp_path, capsys) -> None:
    import json

    text = HEAD + "def @main(%x, %w: Tensor[(4, 3, 3, 3), float32]) { nn.conv2d(%x, %w) }"
    command = [*file(text, x=np.zeros((1, 3, 5, 5), "float32")), "--partial"]
    assert run(["check", *command]) == 0
    out = capsys.readouterr().out
    assert "shape_num_unknown_nodes=2 dtype_num_unknown_nodes=0" in out
    assert "2:11: %x of @main: shape (_, 3, _, _), dtype float32" in out
    assert run(["check", *command, "--json"]) == 0
    counts, x, conv = json.loads(capsys.readouterr().out)
    assert counts["shape_num_unknown_nodes"] == 2
    assert (x["node"], x["shape"], x["dtype"], x["line"], x["column"]) == ("%x", "(_, 3, _, _)", "float32", 2, 11)
    assert (conv["node"], conv["function"], conv["dtype_unknown"]) == ("nn.conv2d(…)", "main", False)
    for hint in (
        ["--shape", "x=1,3,5,5"],
        ["--params", str(tmp_path / "x.npz")],
        ["--input", f"x={tmp_path / 'x.npy'}"],
    ):
        assert run(["check", *command, *hint]) == 0
        assert "shape_num_unknown_nodes=0 dtype_num_unknown_nodes=0" in capsys.readouterr().out
