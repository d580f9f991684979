"""The memory of training steps: what is stored from the forward pass to the backward pass, and when weights are updated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.training import TrainOptions, train_step

from .networks import IMAGES, PERCEPTRON, network


def layers(count: int) -> str:
    """Dense layers of 64 on 128 rows, each with an activation of three operators."""
    weights = ", ".join(f"%w{n}: Tensor[(64, 64), float32]" for n in range(count))
    lines = [
        f"  %{2 * n} = nn.dense({f'%{2 * n - 1}' if n else '%x'}, %w{n}, units=64);\n"
        f"  %{2 * n + 1} = multiply(%{2 * n}, sigmoid(multiply(%{2 * n}, 1.7f)));"
        for n in range(count)
    ]
    body = "\n".join(lines)
    return f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(128, 64), float32], {weights}) {{\n{body}\n  %{2 * count - 1}\n}}\n'


def arena(text: str, **options: Any) -> int:
    module, weights, _ = network(text)
    step = train_step(module, weights, TrainOptions(loss="mse"))
    artifact = irtool.build(step.module, step.params, name="net", emit="c", **options)
    return int(artifact.report["arena_bytes"])


def test_a_step_stores_two_tensors_of_each_layer_and_no_gradients_of_weights() -> None:
    """Weights have half the bytes of a layer's result."""
    result = 128 * 64 * 4
    growth = arena(layers(12)) - arena(layers(6))
    assert growth <= 6 * 2 * result + result
    assert arena(layers(12), disabled_pass=["RecomputeElementwise"]) > 1.4 * arena(layers(12))


@pytest.mark.parametrize("text", [PERCEPTRON, IMAGES, layers(3)], ids=["perceptron", "images", "layers"])
@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
def test_steps_with_values_computed_again_are_those_of_the_interpreter(text: str, loss: str) -> None:
    module, weights, inputs = network(text)
    step = train_step(module, weights, TrainOptions(loss=loss, learning_rate=0.1))
    target_type = step.module["main"].params[1].type_annotation  # type: ignore[union-attr]  # the step's function
    g = np.random.default_rng(3)
    shape = target_type.static_shape
    target = g.integers(0, 3, shape) if loss == "cross_entropy" else g.standard_normal(shape).astype("float32")
    instance = irtool.build(step.module, step.params, name="net").instance()
    states = {p.name: step.params.get(p.name) for p in step.module["main"].params[2:]}  # type: ignore[union-attr]
    for _ in range(2):
        loss_value, *after = irtool.evaluate(step.module, [*inputs, target, *states.values()])
        np.testing.assert_allclose(instance.step([*inputs, target]), loss_value, rtol=1e-4, atol=1e-6)
        states = dict(zip(states, after, strict=True))
        for name, value in instance.values().items():
            np.testing.assert_allclose(value, states[name], rtol=1e-3, atol=1e-5 * np.abs(value).max())
