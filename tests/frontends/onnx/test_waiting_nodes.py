"""Models whose operators need extents that are open: every command answers, and extents given later are as good as given at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import irtool
from irtool.frontends.onnx import from_onnx
from tests import command_line

onnx = pytest.importorskip("onnx")
np = pytest.importorskip("numpy")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402 - behind importorskip

HEAD = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>\n'

TEXTS = {
    "squeeze": ("net (float[n, m] x) => (float[k] y) { y = Squeeze(x) }", {"n": 1, "m": 5}),
    "upsampled": (
        "net (float[n, 2, h, w] x) => (float[n, 2, a, b] y) <float[4] s = {1, 1, 2, 2}>"
        ' { t = Relu(x) u = Resize<mode = "linear">(t, , s) y = Sigmoid(u) }',
        {"n": 1, "h": 3, "w": 4},
    ),
    "half": (
        "net (float[n, 2, h, w] x) => (float[n, 2, a, b] y) <float[4] s = {1, 1, 0.5, 0.5}>"
        ' { y = Resize<mode = "cubic", antialias = 1>(x, , s) }'.replace(", antialias = 1", ""),
        {"n": 2, "h": 8, "w": 6},
    ),
    "integers": (
        "net (uint8[b, t, 3] x) => (int32[b, t, 2] y) <uint8[3, 2] w = {1, 2, 3, 4, 5, 6}> { y = MatMulInteger(x, w) }",
        {"b": 2, "t": 3},
    ),
    "batched_integers": ("net (uint8[b, t, 3] x, uint8[b, 3, n] w) => (int32[b, t, n] y) { y = MatMulInteger(x, w) }",
        {"b": 2, "t": 3, "n": 2}),
    "zero_points_of_columns": (
        "net (uint8[b, 3] x, uint8 a) => (int32[b, 2] y) <uint8[3, 2] w = {1, 2, 3, 4, 5, 6}, uint8[2] z = {1, 3}>"
        " { y = MatMulInteger(x, w, a, z) }",
        {"b": 2},
    ),
    "split": ("net (float[n, m] x) => (float[n, a] y, float[n, b] z) { y, z = Split<axis = 1>(x) }", {"n": 2, "m": 6}),
    "reshaped": (
        "net (float[n, m] x, int64[r] s) => (float[a, b] y) { t = ReduceSum<keepdims = 1>(x) z = Cast<to = 1>(s) u = ReduceSum<keepdims = 0>(z) v = Add(t, u) y = Add(v, x) }",
        {"n": 2, "m": 6, "r": 3},
    ),
    "by_rank": (
        "net (float[n, m] x) => (float[m] y) <int64 zero = {0}, int64 one = {1}, int64[1] front = {0}>"
        " { s = Shape(x) d = Gather(s, zero) c = Equal(d, one) t = If(c)"
        " <then_branch = g () => (float[m] a) { a = Squeeze(x, front) }, else_branch = e () => (float[n, m] b) { b = Identity(x) }>"
        " y = Relu(t) }",
        {"n": 1, "m": 4},
    ),
    "rank_that_only_an_lstm_knows": (
        "net (float[n, 2, m] x) => (float[t, 1, b, 1] y, float[t] z)"
        " <int64 one = {1}, int64[1] last = {2}, int64[1] front = {0}, int64 size = {3}, int64 two = {2}, int64[3] axes = {1, 2, 3},"
        " float[1, 4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[1, 4, 1] r = {1, 2, 3, 4}>"
        " { s = Shape(x) d = Gather(s, two) c = Equal(d, one) t = If(c)"
        " <then_branch = g () => (float[n, 2] a) { a = Squeeze(x, last) },"
        " else_branch = e () => (float[n, 2, m] b) { b = Identity(x) }>"
        " k = Shape(t) q = Size(k) f = Equal(q, size) u = If(f)"
        " <then_branch = p () => (float[n, 2, m] v) { v = Identity(t) },"
        " else_branch = h () => (float[1, n, 2] o) { o = Unsqueeze(t, front) }>"
        " y, l = LSTM<hidden_size = 1>(u, w, r) i = Relu(y) z = ReduceSum<keepdims = 0>(i, axes) }",
        {"n": 2, "m": 1},
    ),
    "arms_of_one_rank": (
        "net (float[n, m] x) => (float[a, b] y) <int64 zero = {0}, int64 one = {1}, int64[1] front = {0}>"
        " { s = Shape(x) d = Gather(s, zero) c = Equal(d, one) t = If(c)"
        " <then_branch = g () => (float[m, n] a) { a = Transpose(x) },"
        " else_branch = e () => (float[k, m] b) { b = Concat<axis = 0>(x, x) }>"
        " y = Relu(t) }",
        {"n": 2, "m": 4},
    ),
    "rank_by_extents_of_1": (
        "net (float[n, m] x) => (int64[k] y, float[k] u) <int64 zero = {0}, int64 one = {1}>"
        " { t = Squeeze(x) u = Relu(t) s = Shape(t) z = ReduceSum<keepdims = 0>(s) y = Range(zero, z, one) }",
        {"n": 1, "m": 5},
    ),
    "range": (
        "net (float[n, m] x) => (int64[k] y) <int64 one = {1}, int64[1] front = {0}>"
        " { t, r = Split<axis = 0>(x) s = Shape(t) z = ReduceSum<keepdims = 0>(s) y = Range(one, z, one) }",
        {"n": 2, "m": 5},
    ),
    "loop": (
        "net (float[n, m] x) => (float[a, b] y) <int64 three = {3}, bool yes = {1}>"
        " { y = Loop(three, yes, x) <body = g (int64 i, bool c, float[p, q] s) => (bool d, float[r, q] o)"
        " { d = Identity(c) o = Concat<axis = 0>(s, s) }> }",
        {"n": 1, "m": 2},
    ),
    "padded": (
        "net (float[n, m] x) => (float[a, b] y) <int64[4] p = {0, 1, 0, 2}> { y = Pad<mode = \"reflect\">(x, p) }",
        {"n": 2, "m": 4},
    ),
    "one_hot": (
        "net (int64[n, m] x) => (float[n, m, 4] y) <int64 depth = {4}, float[2] v = {0, 1}> { y = OneHot(x, depth, v) }",
        {"n": 2, "m": 3},
    ),
    "nonzero": ("net (float[n, m] x) => (int64[2, k] y) { y = NonZero(x) }", {"n": 2, "m": 3}),
    "sliced": (
        "net (float[n, m] x) => (float[n, k] y) <int64[1] b = {-2}, int64[1] e = {9}, int64[1] a = {1}> { y = Slice(x, b, e, a) }",
        {"n": 2, "m": 5},
    ),
    "space": ("net (float[n, 4, h, w] x) => (float[n, 1, a, b] y) { y = DepthToSpace<blocksize = 2>(x) }", {"n": 1, "h": 2, "w": 3}),
    "instance": (
        "net (float[n, 2, h, w] x) => (float[n, 2, h, w] y) <float[2] s = {1, 2}, float[2] b = {0, 1}>"
        " { y = InstanceNormalization(x, s, b) }",
        {"n": 1, "h": 3, "w": 2},
    ),
    "pooled": ("net (float[n, 2, h, w] x) => (float[n, 2, a, b] y) { y = AveragePool<kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\">(x) }",
        {"n": 1, "h": 3, "w": 5}),
    "top": (
        "net (float[n, m] x) => (float[n, 2] y, int64[n, 2] z) <int64[1] k = {2}> { y, z = TopK(x, k) }", {"n": 2, "m": 5}),
    "einsum_of_known_and_open": (
        "net (float[b, i, 3] x, float[b, j, k] w) => (float[b, i, k] y)"
        ' { y = Einsum<equation = "bij,bjk->bik">(x, w) }',
        {"b": 2, "i": 2, "j": 3, "k": 2},
    ),
    "einsum": ("net (float[b, i, j] x, float[b, j, k] w) => (float[b, i, k] y) { y = Einsum<equation = \"bij,bjk->bik\">(x, w) }",
        {"b": 2, "i": 2, "j": 3, "k": 2}),
    "flattened": ("net (float[n, c, h] x) => (float[n, k] y) { y = Flatten(x) }", {"n": 2, "c": 3, "h": 2}),
    "cumulated": ("net (float[n, m] x) => (float[n, m] y) <int64 a = {1}> { y = CumSum(x, a) }", {"n": 2, "m": 3}),
    "gathered": ("net (float[n, m] x, int64[n, k] i) => (float[n, k] y) { y = GatherElements<axis = 1>(x, i) }", {"n": 2, "m": 3, "k": 2}),
    "stft": (
        "net (float[n, m] x) => (float[n, f, 101, 2] y) <int64 step = {100}, int64 window = {200}, int64[1] last = {2}>"
        " { z = Unsqueeze(x, last) y = STFT(z, step, , window) }",
        {"n": 1, "m": 450},
    ),
    "convolved": ("net (float[n, c, h, w] x, float[4, c, 3, 3] k) => (float[n, 4, a, b] y) { y = Conv<kernel_shape = [3, 3]>(x, k) }",
        {"n": 1, "c": 2, "h": 4, "w": 5}),
    "reversed": (
        "net (float[t, b, 2] x, int64[b] l) => (float[t, b, 2] y) { y = ReverseSequence(x, l) }", {"t": 3, "b": 2}),
    "distinct": ("net (int64[n] x) => (int64[k] y) { y = Unique(x) }", {"n": 6}),
    "regions": (
        "net (float[n, 2, h, w] x, float[r, 4] b, int64[r] i) => (float[r, 2, 2, 2] y)"
        " { y = RoiAlign<output_height = 2, output_width = 2>(x, b, i) }",
        {"n": 2, "h": 4, "w": 5, "r": 3},
    ),
    "suppressed": (
        "net (float[1, n, 4] b, float[1, c, n] s) => (int64[k, 3] y) <int64[1] most = {2}> { y = NonMaxSuppression(b, s, most) }",
        {"n": 3, "c": 2},
    ),
    "trilu": ("net (float[n, m] x) => (float[n, m] y) { y = Trilu(x) }", {"n": 3, "m": 3}),
}  # fmt: skip


def recurrent(op: str, gates: int, **attributes: object) -> onnx.ModelProto:
    """A recurrent layer over T steps of a batch of N."""
    n, w = 4, 3
    draw = np.random.default_rng(0)
    count = 2 if attributes.get("direction") == "bidirectional" else 1
    named = {"W": (count, gates * n, w), "R": (count, gates * n, n), "B": (count, 2 * gates * n)}
    weights = [numpy_helper.from_array(draw.standard_normal(s).astype("float32"), k) for k, s in named.items()]
    node = helper.make_node(op, ["x", "W", "R", "B"], ["y", "h"], hidden_size=n, **attributes)
    first = helper.make_node("Relu", ["y"], ["z"])
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node, first],
        "g",
        [value("x", TensorProto.FLOAT, ["T", "N", w])],
        [value("z", TensorProto.FLOAT, ["T", count, "N", n]), value("h", TensorProto.FLOAT, [count, "N", n])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def quantized_lstm() -> onnx.ModelProto:
    """DynamicQuantizeLSTM, of which ONNX itself knows nothing."""
    n, w = 4, 3
    draw = np.random.default_rng(1)
    arrays = {
        "W": draw.integers(-127, 127, (1, w, 4 * n), dtype="int8"),
        "R": draw.integers(-127, 127, (1, n, 4 * n), dtype="int8"),
        "B": draw.standard_normal((1, 8 * n)).astype("float32"),
        "ws": np.full(1, 0.01, "float32"),
        "wz": np.zeros(1, "int8"),
    }
    node = helper.make_node(
        "DynamicQuantizeLSTM",
        ["x", "W", "R", "B", "", "", "", "", "ws", "wz", "ws", "wz"],
        ["y"],
        domain="com.microsoft",
        hidden_size=n,
    )
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node],
        "g",
        [value("x", TensorProto.FLOAT, ["T", "N", w])],
        [value("y", TensorProto.FLOAT, ["T", 1, "N", n])],
        [numpy_helper.from_array(a, k) for k, a in arrays.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 8
    return model


MODELS = {
    **{k: (lambda t=t: onnx.parser.parse_model(HEAD + t), dims) for k, (t, dims) in TEXTS.items()},
    "lstm": (lambda: recurrent("LSTM", 4), {"T": 3, "N": 2}),
    "lstm_both": (lambda: recurrent("LSTM", 4, direction="bidirectional"), {"T": 3, "N": 2}),
    "gru": (lambda: recurrent("GRU", 3, linear_before_reset=1), {"T": 3, "N": 2}),
    "rnn": (lambda: recurrent("RNN", 1), {"T": 3, "N": 2}),
    "quantized_lstm": (quantized_lstm, {"T": 3, "N": 2}),
}


@pytest.fixture(params=sorted(MODELS))
def case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, int]]:
    """A model's path, and numbers for its open extents."""
    make, dims = MODELS[request.param]
    path = tmp_path / "model.onnx"
    onnx.save(make(), str(path))
    return str(path), dims


def run(*arguments: str) -> str:
    code, out, err = command_line.irtool(*arguments)
    assert code == 0, (arguments, out, err)
    return out


def drawn(model: irtool.Module, weights: dict) -> list:
    """Values of parameters: weights, and others drawn."""
    values, draw = [], np.random.default_rng(3)
    for p in model["main"].params:
        t = p.checked_type
        values.append(weights[p.name] if p.name in weights else draw.uniform(0, 3, t.static_shape).astype(t.dtype))
    return values


def leaves(value: object) -> list:
    return [np.asarray(v) for v in value] if isinstance(value, tuple) else [np.asarray(value)]


def test_every_command_answers(case: tuple[str, dict[str, int]], tmp_path: Path) -> None:
    path, dims = case
    (record,) = json.loads(run("info", "--json", path))
    main_ = record["functions"]["main"]
    assert set(main_["dimensions"].values()) >= set(dims)
    assert run("check", path)
    assert run("viz", path, "-o", str(tmp_path / "m.svg")) == ""
    assert "@main" in run("opt", "-O3", path)
    out = tmp_path / "m.relay"
    run("import", path, "-o", str(out))
    again = irtool.parse(out.read_text())
    assert irtool.structural_equal(again, irtool.parse(irtool.to_text(again)))


def test_extents_given_later_give_the_values_of_those_given_at_once(
    case: tuple[str, dict[str, int]], tmp_path: Path
) -> None:
    path, dims = case
    pinned, weights = from_onnx(path, dims=dims)
    values = drawn(pinned, weights)
    expected = leaves(irtool.evaluate(pinned, values))
    out, later = tmp_path / "m.relay", tmp_path / "later.relay"
    run("import", path, "-o", str(out))
    options = [f"--dim={n}={e}" for n, e in dims.items()]
    params = tmp_path / "m.npz"
    params_option = ["--params", str(params)] if params.exists() else []
    text = run("opt", *options, *params_option, str(out))
    later.write_text(text)
    assert "onnx.node" not in text
    inputs = [v for p, v in zip(pinned["main"].params, values, strict=True) if p.name not in weights]
    actual = leaves(irtool.evaluate(irtool.parse(text), inputs))
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_array_equal(a, b)


def test_a_build_of_the_text_settles_what_its_types_decide(quick_compiles: None) -> None:
    """Weights that decide shapes are given as parameters, shapes as annotations, or by the arrays of a run."""
    proto = onnx.parser.parse_model(HEAD + "net (float[n, m] x) => (float[k] y) { t = Relu(x) y = Squeeze(t) }")
    module, _ = from_onnx(proto, open_extents=True)
    text = irtool.to_text(module)
    assert "onnx.node" in text
    x = np.linspace(-1, 1, 5, dtype="float32").reshape(1, 5)
    typed = text.replace("%x: Tensor[(?, ?), float32]", "%x: Tensor[(1, 5), float32]")
    assert typed != text
    np.testing.assert_array_equal(irtool.build(irtool.parse(typed)).run([x]), np.maximum(x, 0)[0])
    deferred = irtool.build(irtool.parse(text))
    for rows, columns in ((1, 5), (3, 1)):
        y = np.resize(x, (rows, columns))
        np.testing.assert_array_equal(deferred.run([y]), np.maximum(y, 0).squeeze())


def test_export_keeps_nodes_and_names(case: tuple[str, dict[str, int]], tmp_path: Path) -> None:
    path, dims = case
    out = tmp_path / "out.onnx"
    run("export", path, "-o", str(out))
    model = onnx.load(str(out))
    names = {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param}
    assert names == set(dims)
    pinned, weights = from_onnx(path, dims=dims)
    values = drawn(pinned, weights)
    again, others = from_onnx(str(out), dims=dims)
    inputs = {p.name: v for p, v in zip(pinned["main"].params, values, strict=True) if p.name not in weights}
    actual = leaves(irtool.evaluate(again, {**others, **inputs}))
    for a, b in zip(actual, leaves(irtool.evaluate(pinned, values)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


CALL = {
    "op_type": '"Relu"',
    "node": '"CgF4EgF5IgRSZWx1"',
    "opsets": '["ai.onnx=17", "a=b=-1"]',
    "inputs": '["x"]',
    "results": '["float32[2]"]',
}
"""The attributes of a node as text."""


def text_of(**changed: str) -> str:
    """A module that calls onnx.node with these attributes, some of them changed."""
    attributes = ", ".join(f"{name}={value}" for name, value in {**CALL, **changed}.items())
    return f"def @main(%x: Tensor[(?), float32]) {{ onnx.node(%x, {attributes}) }}\n"


def test_attributes_that_an_import_writes_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "m.relay"
    path.write_text(text_of())
    assert "onnx.node" in run("opt", str(path))
    assert "nn.relu(%x)" in run("opt", "--shape=x=2", str(path))


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("node", '"!!"', "node is no base64"),
        ("node", "3", "node"),
        ("op_type", "3", "op_type"),
        ("opsets", "3", "attribute opsets of onnx.node: expected a list, not 3"),
        ("opsets", "[17]", "attribute opsets of onnx.node: expected"),
        ("opsets", '["ai.onnx"]', "'ai.onnx' in opsets is no version of a domain"),
        ("opsets", '["ai.onnx=a"]', "'ai.onnx=a' in opsets is no version of a domain"),
        ("opsets", '["=17"]', "'=17' in opsets is no version of a domain"),
        ("opsets", f'["ai.onnx={"9" * 5000}"]', "in opsets is no version of a domain"),
        ("inputs", '["x", "y"]', "inputs names 2 arguments, and there are 1"),
        ("inputs", "3", "attribute inputs of onnx.node: expected a list, not 3"),
        ("results", "3", "attribute results of onnx.node: expected a list, not 3"),
        ("results", '["float32"]', "'float32' is no type of a result"),
        ("results", '["float32[9999999999999999999]"]', "is no type of a result"),
        ("results", f'["float32[{"9" * 5000}]"]', "is no type of a result"),
    ],
)
def test_attributes_of_another_form_are_refused(name: str, value: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.relay"
    path.write_text(text_of(**{name: value}))
    for options in (["check"], ["opt", "--shape=x=2"]):
        code, _, err = command_line.irtool(*options, path)
        assert code == 1 and message in err and "m.relay:1:" in err


def test_bytes_that_are_no_node_are_refused_where_operators_are_made(tmp_path: Path) -> None:
    path = tmp_path / "m.relay"
    path.write_text(text_of(node='"////"'))
    code, _, err = command_line.irtool("opt", "--shape=x=2", path)
    assert code == 1 and "hold no node" in err and "m.relay:1:" in err
