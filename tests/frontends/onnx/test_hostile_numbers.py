"""Numbers in models that no tensor can have: refused before anything is made of them, on every machine alike."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.frontends.onnx.memory_limit import (
    MOST_AXES,
    MOST_ELEMENTS,
    MOST_MADE,
    counted,
    diagonal,
    filled,
    has_room,
    require_room,
    require_steps,
    spread,
)
from tests.frontends.onnx.refusals import imported, onnx, refusal

pytestmark = pytest.mark.promise("hostile models")
FRONTEND = Path(irtool.__file__).parent / "frontends" / "onnx"


BIG = 2**31 - 1
REFUSED = {
    "few inputs, and an opset without the operator": (
        "net (float8e5m2[5] x) => (float[5] y) { y = DequantizeLinear(x) }", "since opset 10", 1),
    "few inputs": ("net (float8e5m2[5] x) => (float[5] y) { y = DequantizeLinear(x) }", "needs its input x_scale", 22),
    "offsets of another rank": (
        "net (float[1,1,2,2] x, float[1,1,3,3] w, float[1] o) => (float y) { y = DeformConv(x, w, o) }", "rank must be 4", 22),
    "a pool with indices of a scalar": (
        "net (float[3] x) => (float y, int64 i) { y, i = MaxPool <kernel_shape = [2]> (x) }", "spatial axes", 22),
    "windows of more axes than the data": (
        "net (float[1,1,4] x) => (float y) { y = MaxPool <kernel_shape = [2, 2, 2, 2]> (x) }", "rank must be 6", 22),
    "an extent": ("net (float[9223372036854775807,3] x) => (float y) { y = Relu(x) }", "has the shape", 22),
    "an extent beside one of 0": ("net (float[0,9223372036854775807] x) => (float y) { y = Relu(x) }", "has the shape", 22),
    "a result": (
        "net (float x) => (float y) { s = Constant <value_ints = [4611686018427387904]> () y = Expand(x, s) }", "a result of Expand", 22),
    "ConstantOfShape": (
        "net (float x) => (float y) { s = Constant <value_ints = [9223372036854775807]> () y = ConstantOfShape(s) }", "has the shape", 22),
    "Range": (
        "net (float x) => (int64[N] y) { a = Constant <value_int = 0> () b = Constant <value_int = 9000000000000000000> ()"
        " c = Constant <value_int = 1> () y = Range(a, b, c) }", "more than 67108864 elements", 22),
    "EyeLike": ("net (float[2147483647,4] x) => (float y) { y = EyeLike(x) }", "more than", 22),
    "Det": ("net (float[100000,100000] x) => (float y) { y = Det(x) }", "expressions", 22),
    "Split": (f"net (float[4] x) => (float y) {{ y = Split <num_outputs = {BIG}> (x) }}", "expressions", 22),
    "a mask of Dropout": (
        "net (float[2147483647,4] x) => (float y, bool m) { y, m = Dropout(x) }", "more than", 22),
    "strides": ("net (float[1,1,5] x) => (float y) { y = MaxPool <kernel_shape = [2], strides = [1099511627776]> (x) }", "strides", 22),
    "SpaceToDepth by 0": ("net (float[1,1,4,4] x) => (float y) { y = SpaceToDepth <blocksize = 0> (x) }", "blocksize is 0", 22),
    "no heads": (
        "net (float[1,4,6] q, float[1,4,6] k, float[1,4,6] v) => (float y) { y = com.microsoft.MultiHeadAttention <num_heads = 0> (q, k, v) }",
        "number of heads is 0", 22),
    "a loop without end": (
        'net (float x) => (float y) { c = Constant <value = bool {1}> () y = Loop <body = b (int64 i, bool g, float z) => (bool g, float z) {}> ("", c, x) }',
        "it has no end", 22),
    "a width that has 64 bits with one sign only": (
        "net (float[3] x) => (float y) { p = Constant <value_ints = [-9223372036854775808, 0]> () y = Pad(x, p) }", "more than 64 bits", 22),
    "slopes of more axes than the data": ("net (float x, float[3] s) => (float y) { y = PRelu(x, s) }", "do not broadcast", 22),
    "an attribute of another kind, of an operator that ONNX does not have": (
        "net (float[2,4,6] q) => (float y) { y = com.microsoft.MultiHeadAttention <num_heads = 1.5> (q, q, q) }", "is 1.5, not int", 22),
    "a shape of MaxUnpool": (
        "net (float[1,1,2,2] x, int64[1,1,2,2] i) => (float y) { s = Constant <value_ints = [1, 1, 65536, 9223372036854775807]> ()"
        " y = MaxUnpool <kernel_shape = [2, 2]> (x, i, s) }", "the result of MaxUnpool has the shape", 22),
    "targets of trees": (
        "net (float[2,1] x) => (float y) { y = ai.onnx.ml.TreeEnsemble <n_targets = 1099511627776, tree_roots = [0],"
        " leaf_targetids = [0], leaf_weights = float[1] {1}, nodes_modes = uint8[1] {0}, nodes_splits = float[1] {0},"
        " nodes_featureids = [0], nodes_trueleafs = [1], nodes_truenodeids = [0], nodes_falseleafs = [1], nodes_falsenodeids = [0]> (x) }",
        "the weights of the leaves would be an array", 22),
    "two steps of a signal": (
        "net (float[1,8] x) => (float y) { s = Constant <value_ints = [2, 3]> () y = STFT(x, s) }", "not one integer", 22),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_numbers_that_nothing_can_have_are_refused(name: str) -> None:
    text, message, opset = REFUSED[name]
    assert message in refusal(text, opset)


@pytest.mark.parametrize(
    "classes, vectors, tensor",
    [
        (420, 2, "the votes of the decisions between classes"),
        (520, 500, "the weights of the decisions between classes"),
    ],
)
def test_tables_that_grow_faster_than_the_model_are_refused(classes: int, vectors: int, tensor: str) -> None:
    """A support vector machine decides between each two classes: its tables are products of numbers that the model has."""
    node = onnx.helper.make_node(
        "SVMClassifier",
        ["x"],
        ["label", "scores"],
        domain="ai.onnx.ml",
        classlabels_ints=list(range(classes)),
        coefficients=[0.5] * ((classes - 1) * vectors),
        rho=[0.5] * (classes * (classes - 1) // 2),
        support_vectors=[0.5] * vectors,
        vectors_per_class=[vectors] + [0] * (classes - 1),
    )
    value, float_, int64 = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    graph = onnx.helper.make_graph(
        [node],
        "net",
        [value("x", float_, [2, 1])],
        [value("label", int64, [2]), value("scores", float_, [2, None])],
    )
    opsets = [onnx.helper.make_opsetid("", 22), onnx.helper.make_opsetid("ai.onnx.ml", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    with pytest.raises(IrError, match=f"{tensor} would be an array of the shape"):
        irtool.from_onnx(model.SerializeToString())


def test_a_large_tensor_is_not_made_while_importing() -> None:
    unpooled = imported(
        "net (float[1,1,2,2] x, int64[1,1,2,2] i) => (float y) { y = MaxUnpool <kernel_shape = [2, 2147483647]> (x, i) }"
    )
    assert "full(" in irtool.to_text(unpooled)
    text = "net (float x) => (float[N] y) { s = Constant <value_ints = [2147483648]> () y = ConstantOfShape(s) }"
    assert "full(" in irtool.to_text(imported(text))


def test_a_small_result_of_a_large_tensor_is_not_folded() -> None:
    text = """net (float x) => (float y) {
      s = Constant <value_ints = [16777216]> () one = Constant <value_float = 1.0> ()
      wide = Expand(one, s) y = ReduceSum <keepdims = 0> (wide)
    }"""
    assert "sum(" in irtool.to_text(imported(text))


def test_integers_of_attributes_print_as_they_read_back() -> None:
    module = imported(
        "net (float[3,5] x, int64[3] t) => (float y) { y = NegativeLogLikelihoodLoss <ignore_index = 1099511627776> (x, t) }"
    )
    text = irtool.to_text(module)
    assert "ignore_index=1099511627776i64" in text
    assert irtool.to_text(irtool.parse(text)) == text


def test_room_has_one_measure() -> None:
    assert has_room((2, 0, 3)) and has_room(()) and has_room((MOST_ELEMENTS,)) and has_room((1,) * MOST_AXES)
    assert not has_room((0, MOST_ELEMENTS + 1)) and not has_room((-1,)) and not has_room((1,) * (MOST_AXES + 1))
    assert counted(3, "x").tolist() == [0, 1, 2] and filled((1, 2), 7, "x").tolist() == [[7, 7]]
    require_steps(4096, "x")
    require_room((4096, 4096, 4, 1), "x")
    assert diagonal(2, 3, 1, "x").tolist() == [[0, 1, 0], [0, 0, 1]] and spread(-1, 1, 3, "x").tolist() == [-1, 0, 1]
    for make in (lambda: diagonal(2**14, 2**13, 0, "x"), lambda: spread(0, 1, MOST_MADE + 1, "x"), lambda: counted(MOST_MADE + 1, "x"), lambda: filled((0, MOST_MADE + 1), 1, "x"), lambda: counted(-1, "x"),
                 lambda: require_steps(4097, "x"), lambda: require_room((2**26 + 1,), "x")):  # fmt: skip
        with pytest.raises(IrError):
            make()


ALLOCATING = {"zeros", "ones", "full", "arange", "empty", "tile", "indices", "tri", "eye", "identity", "linspace"}
OUTSIDE = {
    "memory_limit.py",
    "elements.py",
    "external.py",
    "initializers.py",
    "tensors.py",
    "layer_norm.py",
    "lengths.py",
}
"""The file of `memory_limit` itself, and files that make arrays of what a file holds already, and of codes."""


@pytest.mark.every_tier
def test_arrays_are_made_where_there_is_room() -> None:
    """Every array whose size a model says goes through `memory_limit`; every `extents` that is taken apart says how many there are."""
    wrong = []
    paths = sorted(FRONTEND.rglob("*.py"))
    assert {p.name for p in paths} >= OUTSIDE
    for path in paths:
        for n in ast.walk(ast.parse(path.read_text())):
            where = f"{path.relative_to(FRONTEND)}:{getattr(n, 'lineno', 0)}"
            if (
                isinstance(n, ast.Call)
                and isinstance(n.func, ast.Attribute)
                and isinstance(n.func.value, ast.Name)
                and (n.func.value.id, n.func.attr in ALLOCATING, path.name in OUTSIDE) == ("np", True, False)
                and not all(isinstance(a, ast.Constant | ast.Tuple) and _is_literal(a) for a in n.args[:1])
            ):
                wrong.append(f"{where}: np.{n.func.attr}")
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Tuple) and _is_bare_extents(n.value):
                wrong.append(f"{where}: extents without a rank")
            if isinstance(n, ast.FunctionDef) and n.name == "convert" and "operators" in path.parts:
                wrong.append(f"{where}: convert, which checks the signature, is replaced")
    assert wrong == []


def _is_literal(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) or (isinstance(e, ast.Tuple) and all(map(_is_literal, e.elts)))


def _is_bare_extents(e: ast.expr) -> bool:
    e = e.value if isinstance(e, ast.Subscript) else e
    return (
        isinstance(e, ast.Call)
        and isinstance(e.func, ast.Attribute)
        and e.func.attr == "extents"
        and len(e.args) == 1
        and not e.keywords
    )
