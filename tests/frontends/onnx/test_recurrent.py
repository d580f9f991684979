"""LSTM, GRU and RNN of ONNX: loops whose weights exist once."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.driver.prepare import prepare
from irtool.ir import Call, post_order
from irtool.symbolic_int import symbolic

onnx = pytest.importorskip("onnx")

pytestmark = pytest.mark.promise("onnx loops")

STEPS, BATCH, WIDTH, HIDDEN = 5, 2, 3, 4


def lstm(layout=0, **attributes):
    """A bidirectional LSTM with everything that it may have, its input, and its weights."""
    rng = np.random.default_rng(0)
    shapes = {"W": (2, 16, WIDTH), "R": (2, 16, HIDDEN), "B": (2, 32), "h": (2, BATCH, HIDDEN), "c": (2, BATCH, HIDDEN)}
    weights = {n: rng.standard_normal(s).astype("float32") for n, s in {**shapes, "P": (2, 12)}.items()}
    weights["L"] = np.array([5, 2], "int32")
    x = rng.standard_normal((STEPS, BATCH, WIDTH)).astype("float32")
    stored = dict(weights)
    if layout:
        x = x.transpose(1, 0, 2)
        stored |= {n: weights[n].transpose(1, 0, 2) for n in "hc"}
    helper = onnx.helper
    node = helper.make_node(
        "LSTM",
        ["X", "W", "R", "B", "L", "h", "c", "P"],
        ["Y", "Yh", "Yc"],
        direction="bidirectional",
        hidden_size=HIDDEN,
        layout=layout,
        **attributes,
    )
    graph = helper.make_graph(
        [node],
        "net",
        [helper.make_tensor_value_info("X", 1, x.shape)],
        [helper.make_tensor_value_info(n, 1, None) for n in node.output],
        [onnx.numpy_helper.from_array(np.ascontiguousarray(a), n) for n, a in stored.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    return model, np.ascontiguousarray(x), weights


def expected(x, weights, clip):
    """What ONNX defines, sequence by sequence: a backward direction begins at a sequence's own end."""

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    y = np.zeros((STEPS, 2, BATCH, HIDDEN))
    last = weights["h"].astype("float64"), weights["c"].astype("float64")
    for d in range(2):
        w, r, b, p = (weights[n][d].astype("float64") for n in "WRBP")
        pi, po, pf = np.split(p, 3)
        for n in range(BATCH):
            h, c = last[0][d, n], last[1][d, n]
            length = int(weights["L"][n])
            for t in range(length) if d == 0 else reversed(range(length)):
                i, o, f, g = np.split(w @ x[t, n] + r @ h + b[:16] + b[16:], 4)
                i, f = (sigmoid(np.clip(v, -clip, clip)) for v in (i + pi * c, f + pf * c))
                c = f * c + i * np.tanh(np.clip(g, -clip, clip))
                h = sigmoid(np.clip(o + po * c, -clip, clip)) * np.tanh(c)
                y[t, d, n] = h
            last[0][d, n], last[1][d, n] = h, c
    return y, *last


@pytest.mark.parametrize("layout", [0, 1])
def test_lstm_with_lengths_peepholes_and_clip(layout, tmp_path):
    model, x, weights = lstm(layout, clip=0.8)
    module, params = irtool.from_onnx(model)
    references = expected(x.transpose(1, 0, 2) if layout else x, weights, 0.8)
    if layout:
        references = (references[0].transpose(2, 0, 1, 3), *(v.transpose(1, 0, 2) for v in references[1:]))
    ways = [irtool.evaluate(module, {"X": x, **params})]
    if not layout:
        ways.append(irtool.build(module, params, out_dir=tmp_path, cflags="-O1").run([x]))
        assert (tmp_path / "model.c").read_text().count("continue;") == 2
    for results in ways:
        for f, v in zip(results, references, strict=True):
            np.testing.assert_allclose(f, v, rtol=1e-4, atol=1e-5)
    # For each direction one product before the loop, and one in it.
    assert str(module).count("nn.dense(") == 4


def test_activations_take_their_numbers_in_order():
    names = ["HardSigmoid", "LeakyRelu", "ScaledTanh"] * 2
    model, _, _ = lstm(activations=names, activation_alpha=[0.3, 0.1, 0.5] * 2, activation_beta=[0.4, 2.0] * 2)
    text = str(irtool.from_onnx(model)[0])
    assert "alpha=0.1" in text
    assert "0.3f" in text
    with pytest.raises(IrError, match="ScaledTanh needs an alpha and a beta"):
        irtool.from_onnx(lstm(activations=names)[0])
    with pytest.raises(IrError, match="needs 6 activations, not 3"):
        irtool.from_onnx(lstm(activations=names[:3])[0])
    with pytest.raises(IrError, match="the activation Tangh is not known"):
        irtool.from_onnx(lstm(activations=["Tangh"] * 6)[0])


@pytest.mark.parametrize("op_type", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("initial", [False, True], ids=["zeros", "given"])
def test_steps_that_the_run_decides_begin_with_a_step_of_known_states(op_type, direction, initial):
    """The first step has no product with the state, as in a model with a single step, and all steps are those of pinned models."""
    rng = np.random.default_rng(1)
    count, gates = 2 if direction == "bidirectional" else 1, {"RNN": 1, "GRU": 3, "LSTM": 4}[op_type]
    shapes = {
        "W": (count, gates * HIDDEN, WIDTH),
        "R": (count, gates * HIDDEN, HIDDEN),
        "B": (count, 2 * gates * HIDDEN),
    }
    shapes |= {"h": (count, BATCH, HIDDEN)} if initial else {}
    stored = [onnx.numpy_helper.from_array(rng.standard_normal(s).astype("float32"), n) for n, s in shapes.items()]
    helper = onnx.helper
    inputs = ["X", "W", "R", "B", *(["", "h"] if initial else [])]
    node = helper.make_node(op_type, inputs, ["Y", "Yh"], direction=direction, hidden_size=HIDDEN)
    graph = helper.make_graph(
        [node],
        "net",
        [helper.make_tensor_value_info("X", 1, ("steps", BATCH, WIDTH))],
        [helper.make_tensor_value_info(n, 1, None) for n in node.output],
        stored,
    )
    source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8).SerializeToString()
    module, weights = irtool.from_onnx(source, dims={"steps": symbolic("steps", 1, 9)})
    for steps in (1, 2, 9):
        pinned, same = irtool.from_onnx(source, dims={"steps": steps})
        x = rng.standard_normal((steps, BATCH, WIDTH)).astype("float32")
        results = [irtool.evaluate(m, {"X": x} | w) for m, w in ((module, weights), (pinned, same))]
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    loops = [f for name, f in module.functions.items() if name != "main"]
    assert len(loops) == count
    # the products with all inputs are left in @main
    optimized = prepare(module, weights)["main"]
    products = [e for e in post_order(optimized) if isinstance(e, Call) and getattr(e.op, "name", "") == "nn.dense"]
    assert len(products) == count * (2 if op_type == "GRU" else 1)  # its gate r times the state is no constant
