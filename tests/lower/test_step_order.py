"""The order of steps of functions with several results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool


def pyramid(states: bool) -> str:
    """A chain of products, and results that each read one of them from the end of a second chain, last ones first."""
    count = 6
    lines = ["  %0 = nn.dense(%x, %x, units=256);"]
    lines += [f"  %{n} = nn.dense(%{n - 1}, %x, units=256);" for n in range(1, 2 * count)]
    results = [f"%{2 * count - 1}"]
    for n in range(count):
        lines.append(f"  %{2 * count + n} = nn.dense(%{2 * count - 1 - n}, %{n}, units=256);")
        results.append(f"multiply(%{2 * count + n}, %s{n})")
    params = ", ".join(f"%s{n}: Tensor[(256, 256), float32]" for n in range(count))
    attrs = f", state_outputs={[-1, *range(1, count + 1)]}" if states else ""
    body = "\n".join(lines)
    return (
        f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(256, 256), float32], {params}{attrs}) {{\n'
        f"{body}\n  ({results[0]}, {', '.join(reversed(results[1:]))})\n}}\n"
    )


def test_results_come_as_soon_as_their_operands_are_there() -> None:
    module = irtool.parse(pyramid(states=False))
    artifact = irtool.build(module, name="net")
    g = np.random.default_rng(0)
    inputs = [(0.05 * g.standard_normal((256, 256))).astype("float32") for _ in range(7)]
    for a, b in zip(artifact.run(inputs), irtool.evaluate(module, inputs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert artifact.report["arena_bytes"] <= 7 * 256 * 256 * 4


def stepped(weights: dict[str, Any], x: Any, y: Any) -> tuple[dict[str, Any], Any]:
    """A step of descent in numpy, each gradient by the weights before the step."""
    h = x @ weights["w"].T
    d = 2 * (h @ weights["v"].T - y) / y.size
    return {"v": weights["v"] - d.T @ h, "w": weights["w"] - (d @ weights["v"]).T @ x}, d


@pytest.mark.parametrize("order", ["v, w", "w, v"])
def test_states_are_read_before_they_are_updated_in_their_memory(order: str) -> None:
    results = {
        "v": "subtract(%v, nn.dense(transpose(%2, axes=None), transpose(%0, axes=None), units=7))",
        "w": "subtract(%w, nn.dense(transpose(nn.dense(%2, transpose(%v, axes=None), units=7), axes=None), transpose(%x, axes=None), units=4))",
    }
    names = order.split(", ")
    numbers = [-1, -1, *(1 + names.index(n) for n in ("w", "v"))]
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(5, 4), float32], %y: Tensor[(5, 3), float32], %w: Tensor[(7, 4), float32], %v: Tensor[(3, 7), float32], state_outputs={numbers}) {{
  %0 = nn.dense(%x, %w, units=7);
  %1 = nn.dense(%0, %v, units=3);
  %2 = divide(multiply(subtract(%1, %y), 2f), 15f);
  (sum(%2), {", ".join(results[n] for n in names)})
}}
"""
    g = np.random.default_rng(1)
    weights = {"w": g.standard_normal((7, 4)).astype("float32"), "v": g.standard_normal((3, 7)).astype("float32")}
    x, y = g.standard_normal((5, 4)).astype("float32"), g.standard_normal((5, 3)).astype("float32")
    instance = irtool.build(irtool.parse(text), weights, name="net").instance()
    for _ in range(3):
        weights, d = stepped(weights, x, y)
        np.testing.assert_allclose(instance.step([x, y]), d.sum(), rtol=1e-3, atol=1e-4)
        for n, a in instance.values().items():
            np.testing.assert_allclose(a, weights[n], rtol=1e-3, atol=1e-4)
