"""Executions of each kernel in a run: loops, recursion, branches and calls, counted by a build of the program."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.benchmark.measure import measure_kernels
from irtool.driver.options import choose_options
from irtool.driver.parameters import bind_weights
from irtool.driver.prepare import prepare_entries
from irtool.tune.kernels import find_kernels

X = "Tensor[(8), float32]"
NESTED = f"""
def @inner(%j: int32, %x: {X}) -> {X} {{
  if (%j <= 0) {{ %x }} else {{ @inner(%j - 1, nn.relu(%x)) }}
}}
def @outer(%i: int32, %j: int32, %x: {X}) -> {X} {{
  if (%i <= 0) {{ %x }} else {{ @outer(%i - 1, %j, exp(@inner(%j, %x))) }}
}}
def @main(%i: int32, %j: int32, %x: {X}) -> {X} {{ tanh(@outer(%i, %j, %x)) }}
"""
TREE = f"""
def @grow(%n: int32, %x: {X}) -> {X} {{
  if (%n < 2) {{ exp(%x) }} else {{ sigmoid(maximum(@grow(%n - 1, %x), @grow(%n - 2, %x))) }}
}}
def @main(%n: int32, %x: {X}) -> {X} {{ @grow(%n, %x) }}
"""
TURNS = f"""
def @even(%n: int32, %x: {X}) -> {X} {{ if (%n <= 0) {{ %x }} else {{ @odd(%n - 1, exp(%x)) }} }}
def @odd(%n: int32, %x: {X}) -> {X} {{ if (%n <= 0) {{ %x }} else {{ @even(%n - 1, tanh(%x)) }} }}
def @main(%n: int32, %x: {X}) -> {X} {{ @even(%n, %x) }}
"""
ITSELF = f"""
def @main(%n: int32, %x: {X}) -> {X} {{
  if (%n <= 0) {{ %x }} else {{ sigmoid(@main(%n - 1, exp(%x))) }}
}}
"""
ARMS = f"""
def @main(%c: bool, %x: {X}) -> ({X}, {X}) {{
  let %y = tanh(%x);
  (if (%c) {{ exp(%y) }} else {{ sigmoid(%y) }}, %y)
}}
"""


def counted(text: str, values: list[Any], **flags: Any) -> Counter[str]:
    """Executions of one run, by operator."""
    module = irtool.infer_types(irtool.parse(text))
    options = choose_options("c", ({}, flags), entries=("main",))
    target = options.backend.machine()
    network = find_kernels(prepare_entries(module, options, ()), options, target)
    repeats = network.count(options.backend, target, values)
    counts: Counter[str] = Counter()
    for number, times in zip(network.sequence, repeats, strict=True):
        counts.update(dict.fromkeys(network.kernels[number].kernel.operators, times))
    assert sum(repeats) == sum(k.calls for k in network.kernels)
    return counts


x = np.linspace(-1, 1, 8, dtype="float32")
n = np.int32


@pytest.mark.parametrize(
    "text, values, expected",
    [
        (NESTED, [n(3), n(5), x], {"nn.relu": 15, "exp": 3, "tanh": 1}),
        (NESTED, [n(0), n(5), x], {"nn.relu": 0, "exp": 0, "tanh": 1}),
        (TREE, [n(6), x], {"exp": 13, "sigmoid": 12}),
        (TURNS, [n(5), x], {"exp": 3, "tanh": 2}),
        (ITSELF, [n(4), x], {"exp": 4, "sigmoid": 4}),
        (ARMS, [np.bool_(True), x], {"tanh": 1, "exp": 1, "sigmoid": 0}),
        (ARMS, [np.bool_(False), x], {"tanh": 1, "exp": 0, "sigmoid": 1}),
    ],
    ids=["loops", "no_step", "tree", "turns", "itself", "then", "other"],
)
@pytest.mark.parametrize("flags", [{}, {"vector": False}], ids=["vectors", "scalars"])
def test_every_execution_is_counted(
    text: str, values: list[Any], expected: dict[str, int], flags: dict[str, Any]
) -> None:
    actual = counted(text, values, **flags)
    assert {name: actual[name] for name in expected} == expected


def test_straight_code_is_not_built_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irtool.tune.executions._run", lambda *_: pytest.fail("a build"))
    counts = counted(f"def @main(%x: {X}) {{ let %y = nn.softmax(%x); nn.softmax(%y) }}", [x])
    assert counts == {"nn.softmax": 2}


def test_weights_of_a_loop_are_nearer_than_those_that_are_used_once() -> None:
    """A product of a loop is timed beside the weights of the loop, one in front of it beside those of the network."""
    text = """
def @steps(%n: int32, %h: Tensor[(1, 32), float32], %w: Tensor[(32, 32), float32]) -> Tensor[(1, 32), float32] {
  if (%n <= 0) { %h } else { @steps(%n - 1, tanh(nn.dense(%h, %w, units=32)), %w) }
}
def @main(%n: int32, %x: Tensor[(1, 512), float32], %a: Tensor[(32, 512), float32], %b: Tensor[(32, 32), float32]) {
  @steps(%n, nn.relu(nn.dense(%x, %a, units=32)), %b)
}
"""
    r = np.random.default_rng(0)
    weights = {"a": r.standard_normal((32, 512)).astype("float32"), "b": r.standard_normal((32, 32)).astype("float32")}
    module = bind_weights(irtool.infer_types(irtool.parse(text)), weights, ("main",))
    options = choose_options("c", ({}, {}), entries=("main",))
    target = options.backend.machine()
    network = find_kernels(prepare_entries(module, options, ()), options, target)
    network.count(options.backend, target, [n(9), r.standard_normal((1, 512)).astype("float32")])
    of = {
        k.kernel.operators[1]: size
        for k, size in zip(network.kernels, network.passing)
        if "nn.dense" in k.kernel.operators
    }
    assert of["nn.relu"] == network.weights >= (32 * 512 + 32 * 32) * 4
    assert of["tanh"] < 2 * 32 * 32 * 4


def test_measured_kernels_have_the_counts_of_a_run() -> None:
    module = irtool.infer_types(irtool.parse(NESTED))
    options = choose_options("c", ({}, {}), entries=("main",))
    measured = measure_kernels(prepare_entries(module, options, ()), options, [n(3), n(5), x], 0.001, 1)
    calls = {o: k.calls for k in measured.kernels for o in k.operators}
    assert (calls["nn.relu"], calls["exp"], calls["tanh"]) == (15, 3, 1)
    totals: Counter[int] = Counter()
    for number, times in zip(measured.sequence, measured.repeats, strict=True):
        totals[number] += times
    assert [totals[i] for i in range(len(measured.kernels))] == [k.calls for k in measured.kernels]
