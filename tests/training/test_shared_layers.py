"""Gradients of weights that several layers share."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ir import post_order
from irtool.ops.base import is_call_to
from irtool.training import TrainOptions, train_step

from .networks import network


def recurrent(count: int, rows: int, width: int) -> str:
    """`h = tanh(h · wᵀ + x · vᵀ)` for each of the steps of a sequence."""
    lines = []
    for n in range(0, 2 * count, 2):
        x = f"take(%x, {n // 2}, axis=0)"
        lines.append(f"  %{n} = nn.dense({x}, %v, units={width});")
        before = f"add(%{n}, nn.dense(%{n - 1}, %w, units={width}))" if n else "%0"
        lines.append(f"  %{n + 1} = tanh({before});")
    return (
        f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({count}, {rows}, 3), float32], %v: Tensor[({width}, 3), float32], '
        f"%w: Tensor[({width}, {width}), float32]) {{\n" + "\n".join(lines) + f"\n  %{2 * count - 1}\n}}\n"
    )


def gradients(w: np.ndarray, v: np.ndarray, x: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of the weights, by hand."""
    states = [np.zeros((x.shape[1], len(w)))]
    for row in x:
        states.append(np.tanh(states[-1] @ w.T + row @ v.T))
    d = 2 * (states[-1] - target) / target.size
    of_w, of_v = np.zeros_like(w), np.zeros_like(v)
    for n in reversed(range(len(x))):
        d = d * (1 - states[n + 1] ** 2)
        of_w += d.T @ states[n]
        of_v += d.T @ x[n]
        d = d @ w
    return of_w, of_v


@pytest.mark.parametrize(("rows", "width"), [(2, 8), (6, 5)])
def test_steps_of_a_sequence_have_one_product_where_operands_are_smaller(rows: int, width: int) -> None:
    """Two rows of 8 and 8 elements have 32 in both operands, and 64 in the product; six rows of 5 have more than their product."""
    count = 6
    module, weights, inputs = network(recurrent(count, rows, width))
    weights = {n: (0.3 * a).astype("float32") for n, a in weights.items()}
    step = train_step(module, weights, TrainOptions(loss="mse", learning_rate=1.0))
    products = sum(is_call_to(e, "nn.dense") for e in post_order(step.module["main"]))
    separate = 2 * count - 1 + 2 * count - 1 + count - 1  # the forward pass, gradients of weights, those of rows
    assert products == (separate - (count - 2) - (count - 1) if rows == 2 else separate)
    target = np.random.default_rng(2).standard_normal((rows, width)).astype("float32")
    expected = gradients(*(weights[n].astype("float64") for n in ("w", "v")), inputs[0], target)
    instance = irtool.build(step.module, step.params, name="net").instance()
    instance.step([*inputs, target])
    for n, gradient in zip(("w", "v"), expected, strict=True):
        np.testing.assert_allclose(weights[n] - instance.values()[n], gradient, rtol=1e-3, atol=1e-5)


def test_layers_of_one_convolution_have_one_gradient() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 12, 2, 2), float32], %w: Tensor[(12, 12, 3, 3), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=12, kernel_size=[3, 3]));
  %1 = nn.relu(nn.conv2d(%0, %w, padding=[1, 1, 1, 1], channels=12, kernel_size=[3, 3]));
  nn.conv2d(%1, %w, padding=[1, 1, 1, 1], channels=12, kernel_size=[3, 3])
}
"""
    module, weights, inputs = network(text)
    weights = {n: (0.1 * a).astype("float32") for n, a in weights.items()}
    step = train_step(module, weights, TrainOptions(loss="mse", learning_rate=1.0))
    assert sum(is_call_to(e, "nn.conv2d_backward_weight") for e in post_order(step.module["main"])) == 1
    target = np.zeros((1, 12, 2, 2), "float32")
    instance = irtool.build(step.module, step.params, name="net").instance()
    loss = instance.step([*inputs, target])
    gradient = weights["w"] - instance.values()["w"]
    direction = np.random.default_rng(4).standard_normal(gradient.shape).astype("float32")
    near = [weights["w"] + s * 1e-2 * direction / np.linalg.norm(direction) for s in (-1, 1)]
    losses = [float(np.mean(irtool.evaluate(module, [*inputs, w]).astype("float64") ** 2)) for w in near]
    slope = float((gradient * direction).sum() / np.linalg.norm(direction))
    assert (losses[1] - losses[0]) / 2e-2 == pytest.approx(slope, rel=2e-2)
    assert float(np.asarray(loss)) == pytest.approx(sum(losses) / 2, rel=1e-2)
