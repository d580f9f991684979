"""RecomputeElementwise: the cut between stored and recomputed values, and the values that steps of training then give."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import irtool
from irtool.ir import Function, post_order
from irtool.ops.base import is_call_to
from irtool.passes.recomputation.min_cut import FlowNetwork


def cut_bytes(edges: list[tuple[int, int, int]], side: tuple[bool, ...]) -> int:
    return sum(c for a, b, c in edges if not side[a] and side[b])


@pytest.mark.parametrize("seed", range(20))
def test_the_cut_is_the_smallest_of_all_and_nearest_to_the_sink(seed: int) -> None:
    chance = random.Random(seed)
    count = 7
    edges = [
        (a, b, chance.randint(0, 4)) for a in range(count) for b in range(count) if a != b and chance.random() < 0.5
    ]
    network = FlowNetwork(count)
    for e in edges:
        network.connect(*e)
    side = tuple(network.sink_side(0, count - 1))
    sides = [(False, *s, True) for s in itertools.product((False, True), repeat=count - 2)]
    least = min(cut_bytes(edges, s) for s in sides)
    assert cut_bytes(edges, side) == least
    assert sum(side) == min(sum(s) for s in sides if cut_bytes(edges, s) == least)


def chain(steps: int) -> str:
    """Steps `c = tanh(c * u + u)`, each with a layer's `u`, of which a gradient reads all."""
    lines = ['%0 = zeros(shape=[8, 16], dtype="float32");']
    for n in range(0, 3 * steps, 3):
        state, total = f"%{n - 1}" if n else "%0", f"%{n}"
        lines.append(f"%{n + 1} = nn.dense(%x, %w, units=16);")
        lines.append(f"%{n + 2} = tanh(add(multiply({state}, %{n + 1}), %{n + 1}));")
        lines.append(f"%{n + 3} = add({total}, multiply(%{n + 2}, %{n + 2}));")
    return (
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(8, 4), float32], %w: Tensor[(16, 4), float32], loss_output=0) {\n'
        + "\n".join(lines)
        + f"\n(sum(%{3 * steps - 1}), sum(%{3 * steps}))\n}}\n"
    )


@pytest.mark.parametrize("steps", [10, 40])
def test_chains_of_any_length_are_computed_again_a_few_operators_at_a_time(steps: int) -> None:
    module = irtool.infer_types(irtool.parse(chain(steps)))
    after = irtool.run_passes(module, "RecomputeElementwise")
    counts = []
    for m in (module, after):
        main = m["main"]
        assert isinstance(main, Function)
        counts.append(sum(is_call_to(e, "tanh") for e in post_order(main.body)))
    assert counts[0] == steps and counts[1] <= 5 * steps
    inputs = [np.random.default_rng(0).standard_normal(s).astype("float32") for s in ((8, 4), (16, 4))]
    for a, b in zip(irtool.evaluate(module, inputs), irtool.evaluate(after, inputs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_functions_with_branches_stay_as_they_are() -> None:
    text = """#[version = "0.0.5"]
def @main(%b: bool, %x: Tensor[(4), float32], loss_output=0) {
  %0 = if (%b) { exp(%x) } else { %x };
  %1 = tanh(%0);
  (sum(%1), multiply(%1, 2f))
}
"""
    module = irtool.infer_types(irtool.parse(text))
    assert irtool.structural_equal(irtool.run_passes(module, "RecomputeElementwise"), module)


@pytest.mark.parametrize("number", ["1", "7", "-1", '"loss"', "True"])
def test_an_attribute_that_is_no_output_names_none(number: str) -> None:
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(4, 4), float32], loss_output={number}) {{
  %0 = nn.dense(%x, %x, units=4);
  %1 = tanh(%0);
  (multiply(%1, 2f), multiply(%1, 3f))
}}
"""
    module = irtool.infer_types(irtool.parse(text))
    after = irtool.run_passes(module, "RecomputeElementwise")
    x = np.eye(4, dtype="float32")
    for a, b in zip(irtool.evaluate(module, [x]), irtool.evaluate(after, [x]), strict=True):
        np.testing.assert_array_equal(a, b)
