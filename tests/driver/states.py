"""Networks with states, and what every build of them must hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import irtool
from irtool.driver.artifact import Artifact
from tests.driver.programs import parse


@dataclass(frozen=True)
class Network:
    """A module by its text, the shapes of its inputs, and its states with their outputs by number.

    Attributes:
        copied: the states whose next value a step computes elsewhere.
        whole: inputs of whole numbers, below this one.
    """

    text: str
    inputs: dict[str, tuple[int, ...]]
    states: dict[str, tuple[int, tuple[int, ...]]]
    weights: dict[str, tuple[int, ...]] = field(default_factory=dict)
    copied: tuple[str, ...] = ()
    whole: dict[str, int] = field(default_factory=dict)

    def params(self) -> dict[str, np.ndarray]:
        """Random weights."""
        g = np.random.RandomState(5)
        return {n: (0.4 * g.randn(*s)).astype("float32") for n, s in self.weights.items()}

    def build(self, target: str = "c", **options: Any) -> Artifact:
        """The build with states, under the name `net`."""
        states = {name: f"out{n}" for name, (n, _) in self.states.items()}
        return irtool.build(parse(self.text), self.params(), target, states=states, **{"name": "net", **options})

    def stateless(self, target: str = "c", **options: Any) -> Artifact:
        """The build that takes and gives the states."""
        return irtool.build(parse(self.text), self.params(), target, **{"name": "net", **options})

    def step(self, number: int) -> dict[str, np.ndarray]:
        """Random inputs of a step."""
        g = np.random.RandomState(number)
        arrays = {n: g.randn(*s).astype("float32") for n, s in self.inputs.items()}
        return {
            n: g.randint(0, self.whole[n], a.shape).astype("int32") if n in self.whole else a for n, a in arrays.items()
        }

    def first(self) -> dict[str, np.ndarray]:
        """The states as they begin."""
        return {name: np.zeros(shape, "float32") for name, (_, shape) in self.states.items()}

    def after(self, values: Sequence[Any], states: dict[str, np.ndarray]) -> list[np.ndarray]:
        """The outputs that are no states, for all outputs of a run; `states` get their next values."""
        states.update({name: values[n] for name, (n, _) in self.states.items()})
        numbers = {n for n, _ in self.states.values()}
        return [v for n, v in enumerate(values) if n not in numbers]


def all_outputs(value: Any) -> list[np.ndarray]:
    """The tensors of a flat result."""
    return list(value) if isinstance(value, tuple) else [value]


_GATES = "%2 = add(add(nn.dense(%x, %wx, units=None), nn.dense(%h, %wh, units=None)), %b);"

NETWORKS = {
    "lstm": Network(
        "def @main(%x: Tensor[(1, 8), float32], %h: Tensor[(1, 16), float32], %c: Tensor[(1, 16), float32], "
        "%wx: Tensor[(64, 8), float32], %wh: Tensor[(64, 16), float32], %b: Tensor[(64), float32]) { "
        + _GATES
        + "%3 = split(%2, indices_or_sections=4, axis=1); "
        "%4 = add(multiply(sigmoid(%3.1), %c), multiply(sigmoid(%3.0), tanh(%3.2))); "
        "%5 = multiply(sigmoid(%3.3), tanh(%4)); (nn.softmax(%5), %5, %4) }",
        {"x": (1, 8)},
        {"h": (1, (1, 16)), "c": (2, (1, 16))},
        {"wx": (64, 8), "wh": (64, 16), "b": (64,)},
    ),
    "gru": Network(
        "def @main(%x: Tensor[(1, 8), float32], %h: Tensor[(1, 16), float32], "
        "%wx: Tensor[(48, 8), float32], %wh: Tensor[(48, 16), float32]) { "
        "%0 = split(nn.dense(%x, %wx, units=48), indices_or_sections=3, axis=1); "
        "%1 = split(nn.dense(%h, %wh, units=48), indices_or_sections=3, axis=1); "
        "%2 = sigmoid(add(%0.0, %1.0)); %3 = tanh(add(%0.2, multiply(sigmoid(add(%0.1, %1.1)), %1.2))); "
        "%4 = add(multiply(subtract(1f, %2), %3), multiply(%2, %h)); (sum(%4, axis=[1]), %4) }",
        {"x": (1, 8)},
        {"h": (1, (1, 16))},
        {"wx": (48, 8), "wh": (48, 16)},
    ),
    "convolution": Network(
        "def @main(%x: Tensor[(1, 4, 5), float32], %past: Tensor[(1, 4, 2), float32], %w: Tensor[(8, 4, 3), float32]) { "
        "%0 = concatenate((%past, %x), axis=2); "
        "(nn.relu(nn.conv1d(%0, %w, channels=8, kernel_size=[3])), "
        "strided_slice(%0, begin=[0, 0, 5], end=[1, 4, 7], strides=[1], axes=None)) }",
        {"x": (1, 4, 5)},
        {"past": (1, (1, 4, 2))},
        {"w": (8, 4, 3)},
    ),
    "rows written": Network(
        "def @main(%x: Tensor[(1, 6), float32], %at: Tensor[(1, 1), int32], %table: Tensor[(10, 6), float32]) { "
        '%0 = scatter_nd(%table, %at, %x, mode="update"); (sum(%0, axis=[0]), %0) }',
        {"x": (1, 6), "at": (1, 1)},
        {"table": (1, (10, 6))},
        whole={"at": 10},
    ),
    "shifted": Network(
        "def @main(%x: Tensor[(1, 6), float32], %past: Tensor[(9, 6), float32]) { "
        "%0 = strided_slice(concatenate((%past, %x), axis=0), begin=[1, 0], end=[10, 6], strides=[1], axes=None); "
        "(max(%0, axis=[0]), %0) }",
        {"x": (1, 6)},
        {"past": (1, (9, 6))},
        copied=("past",),
    ),
    "exchanged": Network(
        "def @main(%x: Tensor[(4), float32], %a: Tensor[(4), float32], %b: Tensor[(4), float32]) { "
        "(subtract(%a, %b), %b, add(%a, %x)) }",
        {"x": (4,)},
        {"a": (1, (4,)), "b": (2, (4,))},
        copied=("b",),
    ),
    "read after": Network(
        "def @main(%x: Tensor[(1, 8), float32], %h: Tensor[(1, 8), float32], %w: Tensor[(8, 8), float32]) { "
        "%0 = tanh(nn.dense(add(%h, %x), %w, units=8)); "
        "(nn.dense(nn.dense(%0, %w, units=8), nn.dense(%h, %w, units=8), units=None), %0) }",
        {"x": (1, 8)},
        {"h": (1, (1, 8))},
        {"w": (8, 8)},
        copied=("h",),
    ),
    "branch": Network(
        "def @main(%x: Tensor[(1, 6), float32], %h: Tensor[(1, 6), float32]) { "
        "%0 = if (greater(sum(%x), 0f)) { tanh(add(%h, %x)) } else { exp(multiply(%h, -1f)) }; (negative(%0), %0) }",
        {"x": (1, 6)},
        {"h": (1, (1, 6))},
    ),
    "kept": Network(
        "def @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32]) { (add(%x, %h), %h) }",
        {"x": (3,)},
        {"h": (1, (3,))},
    ),
    "output, too": Network(
        "def @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32]) { %0 = add(%x, %h); (%0, %0) }",
        {"x": (3,)},
        {"h": (1, (3,))},
    ),
    "state alone": Network(
        "def @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32]) { (add(%x, %h),) }",
        {"x": (3,)},
        {"h": (0, (3,))},
    ),
    "loop": Network(
        "def @f(%i: int32, %v: Tensor[(4), float32]) -> Tensor[(4), float32] "
        "{ if (less(%i, 5)) { @f(add(%i, 1), tanh(%v)) } else { %v } } "
        "def @main(%x: Tensor[(4), float32], %h: Tensor[(4), float32]) { %0 = @f(0, add(%x, %h)); (exp(%0), %0) }",
        {"x": (4,)},
        {"h": (1, (4,))},
    ),
}
