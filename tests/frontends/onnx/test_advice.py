"""Refusals of the importer say what to do."""

from __future__ import annotations

import pytest

import irtool
from irtool.diagnostics import Diagnostic, IrError

onnx = pytest.importorskip("onnx")

from tests.frontends.onnx.agreement import parse  # noqa: E402

pytestmark = pytest.mark.promise("ONNX models")


def refusals(graph: str, functions: str = "", **known: object) -> list[Diagnostic]:
    with pytest.raises(IrError) as caught:
        irtool.from_onnx(parse(graph, 18, functions=functions), **known)
    return caught.value.diagnostics


@pytest.mark.parametrize(
    ("graph", "help"),
    [
        (
            "net (float[batch, h] x) => (int32[a, b] y) { y = Multinomial(x) }",
            "say, for example: --dim batch=1 --dim h=16, or --shape x=1x16",
        ),
        (
            "net (float[N, 3] x) => (int32[a, b] y) { z = Relu(x) y = Multinomial(z) }",
            "--dim N=1, or --shape x=1x3",
        ),
        (
            "net (float[2, 9] x, int64[1] k, int64[1] j) => (float[a, b, c] y) { l = Abs(k) y = Unsqueeze(x, l) }",
            "it follows from the value of k: --value k=… gives that, or a file for --params",
        ),
        (
            "net (float[2, 9] x, int64[1] k, int64[1] j) => (float[a, b, c] y) { l = Add(k, j) y = Unsqueeze(x, l) }",
            "it follows from values among k, j: --value NAME=… gives them",
        ),
        (
            "net (float[2, 9] x) => (int32[a, b] y) { i = NonZero(x) j = Cast <to = 1> (i) y = Multinomial(j) }",
            "it follows from the values of x: export the model with a number in its place",
        ),
    ],
)
def test_what_must_be_known_names_the_options_that_tell_it(graph: str, help: str) -> None:
    (diagnostic,) = refusals(graph)
    assert diagnostic.code is not None and diagnostic.code.name == "E1003"
    assert help in diagnostic.help


def test_options_that_were_given_are_not_asked_for() -> None:
    graph = "net (float[N, M] x) => (int32[a, b] y) { y = Multinomial(x) }"
    (diagnostic,) = refusals(graph, dims={"N": 2})
    assert diagnostic.help == "say, for example: --dim M=16, or --shape x=2x16"


def test_nodes_inside_of_nodes_and_of_functions() -> None:
    inside = """net (bool[1] c, float[2, 9] x, int64[1] k, float[7] other) => (float[a, b] y) {
        y = If (c) <then_branch = t () => (float[a, b] p) { p = Unsqueeze(x, k) },
                    else_branch = e () => (float[a, b] q) { q = Unsqueeze(x, k) }>
    }"""
    assert "it follows from the value of k" in refusals(inside)[0].help
    function = '<opset_import: ["": 18], domain: "f"> best (x, k) => (y) { y = Unsqueeze(x, k) }'
    model = parse("net (float[2, 9] x, int64[1] k) => (float[a, b] y) { y = f.best(x, k) }", 18, functions=function)
    model.opset_import.add(domain="f", version=1)
    with pytest.raises(IrError) as caught:
        irtool.from_onnx(model)
    assert "it follows from the value of k" in caught.value.diagnostics[0].help


def test_other_refusals_have_a_help_as_well() -> None:
    pool = "net (float[1, 1, 2, 2, 2, 2] x) => (float[a] y) { y = MaxPool <kernel_shape = [1, 1, 1, 1]> (x) }"
    assert "export with another opset" in refusals(pool)[0].help
    gather = "net (float[2] x) => (float[a] y) { i = Constant <value_ints = [9]> () y = Gather(x, i) }"
    assert "export the model again" in refusals(gather)[0].help
    pad = "net (float[2, 2] x, int64[2] p) => (float[a, b] y) { a = Constant <value_ints = [0]> () y = Pad(x, p, , a) }"
    assert "--value p=" in refusals(pad)[0].help
