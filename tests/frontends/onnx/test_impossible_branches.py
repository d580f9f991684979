"""Branches of `If` that no run can take with the shapes at hand: the others work, and they fail, in the interpreter and in C."""

from __future__ import annotations

from pathlib import Path

import pytest

import irtool
from irtool.frontends.onnx import from_onnx
from tests import command_line

onnx = pytest.importorskip("onnx")
np = pytest.importorskip("numpy")

HEAD = '<ir_version: 8, opset_import: ["": 17]>\n'
HALVES = "then_branch = t () => (float[a] p) { r = Reshape(x, six) p = ReduceSum<keepdims = 0>(r) }"
THIRDS = "else_branch = e () => (float[b] q) { s = Reshape(x, four) q = ReduceMax<keepdims = 0>(s) }"
SHAPES = "<int64[2] six = {2, 3}, int64[2] four = {2, 2}>"
MODELS = {
    "branch": f"net (bool c, float[n] x) => (float y) {SHAPES} {{ y = If(c) <{HALVES}, {THIRDS}> }}",
    "in_a_branch": f"net (bool c, float[n] x) => (float y) {SHAPES} {{ y = If(c) <"
    f"then_branch = o () => (float[a] i) {{ i = If(c) <{HALVES}, {THIRDS}> }},"
    " else_branch = u () => (float[b] j) { t = Reshape(x, four) j = ReduceMin<keepdims = 0>(t) }> }",
    "several": f"net (bool c, float[n] x) => (float y, float z) {SHAPES} {{ y, z = If(c) <"
    "then_branch = t () => (float[a] p, float[b] q) { r = Reshape(x, six) p = ReduceSum<keepdims = 0>(r) q = Neg(p) },"
    "else_branch = e () => (float[a] v, float[b] w) { s = Reshape(x, four) v = ReduceMax<keepdims = 0>(s) w = Neg(v) }> }",
    "in_a_loop": "net (bool c, float[n] x) => (float y) <int64 three = {3}, bool yes = {1}, float zero = {0}, int64[2] six = {2, 3},"
    " int64[2] four = {2, 2}> { y = Loop(three, yes, zero) <body = g (int64 i, bool d, float s) => (bool go, float o)"
    f" {{ go = Identity(d) k = If(c) <{HALVES}, {THIRDS}> o = Add(s, k) }}> }}",
}


@pytest.fixture(params=sorted(MODELS))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    file = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(HEAD + MODELS[request.param]), str(file))
    return str(file)


@pytest.mark.filterwarnings("ignore:.*W1004")
def test_the_interpreter_fails_in_that_branch_alone(path: str) -> None:
    x = np.arange(6, dtype="float32")
    module, _ = from_onnx(path, shapes={"x": (6,)})
    actual = irtool.evaluate(module, [np.array(True), x])
    from onnx.reference import ReferenceEvaluator

    expected = ReferenceEvaluator(path).run(None, {"c": np.array(True), "x": x})
    for a, b in zip(actual if isinstance(actual, tuple) else (actual,), expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), b)
    with pytest.raises(irtool.IrError, match="a branch is taken that is impossible"):
        irtool.evaluate(module, [np.array(False), x])
    again = irtool.parse(irtool.to_text(module))
    with pytest.raises(irtool.IrError, match="a branch is taken that is impossible"):
        irtool.evaluate(again, [np.array(False), x])


def test_a_warning_says_which_and_a_value_leaves_it_out(path: str) -> None:
    code, _, err = command_line.irtool("check", "--shape", "x=6", path)
    assert code == 0 and "warning[W1004]" in err and "--value" in err
    code, _, err = command_line.irtool("check", "--target=c", "--shape", "x=6", "--value", "c=1", path)
    assert code == 0 and "W1004" not in err
    code, _, err = command_line.irtool("check", "--shape", "x=5", path)
    assert code == 1


def test_compiled_code_returns_an_error(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(HEAD + MODELS["in_a_branch"]), str(path))
    x = np.arange(6, dtype="float32")
    for choice, code in ((True, 0), (False, 4)):
        inputs = tmp_path / "in.npz"
        np.savez(inputs, c=np.array(choice), x=x)
        got, out, err = command_line.irtool("run", "--via", "c", "--inputs", str(inputs), path)
        assert got == code, err
        assert ("15" in out) if choice else "impossible with the shapes" in err
    code, _, _ = command_line.irtool("build", "--emit=c", "--shape", "x=6", path, "-o", str(tmp_path / "o"))
    assert code == 0 and "* 5: a branch was taken" in (tmp_path / "o" / "model.h").read_text()
