"""Training of recurrent layers from ONNX: loops of known length are written out."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.training import TrainOptions, train_step

onnx = pytest.importorskip("onnx")


def layer(kind: str, gates: int, direction: str) -> bytes:
    """A recurrent layer of 3 on sequences of 4 steps, 2 sequences, 5 elements; the sum over its outputs is multiplied by weights."""
    from onnx import TensorProto, helper, numpy_helper

    g, count = np.random.default_rng(0), 2 if direction == "bidirectional" else 1
    weights = {
        "w": g.standard_normal((count, gates * 3, 5)),
        "r": g.standard_normal((count, gates * 3, 3)),
        "b": g.standard_normal((count, gates * 6)),
        "v": g.standard_normal(3),
    }
    nodes = [
        helper.make_node(kind, ["x", "w", "r", "b"], ["y"], hidden_size=3, direction=direction),
        helper.make_node("ReduceSum", ["y", "axes"], ["sums"], keepdims=0),
        helper.make_node("Mul", ["sums", "v"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 2, 5])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [2, 3])],
        [
            *(numpy_helper.from_array(a.astype("float32"), n) for n, a in weights.items()),
            numpy_helper.from_array(np.array([0, 1]), "axes"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrent_layers_have_the_outputs_of_inference_and_gradients(kind: str, gates: int, direction: str) -> None:
    model = layer(kind, gates, direction)
    x = np.random.default_rng(1).standard_normal((4, 2, 5)).astype("float32")
    plain, weights = irtool.from_onnx(model)
    module, _ = irtool.from_onnx(model, training=True)
    values = [weights[p.name] for p in module["main"].params[1:]]
    assert not [name for name in module.functions if name != "main"]
    before = irtool.evaluate(module, [x, *values])
    np.testing.assert_allclose(before, irtool.evaluate(plain, [x, *values]), rtol=1e-5, atol=1e-6)
    step = train_step(module, weights, TrainOptions(loss="mse", learning_rate=1e-4))
    instance = irtool.build(step.module, step.params, name="step").instance()
    target = np.zeros((2, 3), "float32")
    losses = [float(np.asarray(instance.step([x, target])))]
    assert losses[0] == pytest.approx(float(np.mean(before**2)), rel=1e-4)
    moved = [(instance.values()[n] - a).astype("float64") for n, a in weights.items()]
    losses.append(float(np.asarray(instance.step([x, target]))))
    # A small step goes down by the rate times the square of the gradient.
    assert losses[0] - losses[1] == pytest.approx(sum(float((d**2).sum()) for d in moved) / 1e-4, rel=0.1)
