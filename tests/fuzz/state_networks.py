"""Random networks with states: those whose states have one shape, and those whose states grow; steps give the bits of the network without states."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.driver.lengths import StateFull
from tests.driver.programs import parse
from tests.fuzz.trial import Outcome

STEPS = 6
GROWING_STEPS = 12
TARGETS = ("c", "c{openmp=true}", "c{vector=none}")
TYPE = "Tensor[(4, 4), float32]"
_ONE = ("tanh({})", "nn.softmax({})", "transpose({}, axes=[1, 0])", "nn.relu({})", "reverse({}, axis=0)")
_TWO = ("add({}, {})", "multiply({}, {})", "nn.dense({}, {}, units=None)", "maximum({}, {})")
_THREE = (
    "if (greater(sum({}), 0f)) {{ tanh({}) }} else {{ {} }}",
    "strided_slice(concatenate(({}, {}, {}), axis=0), begin=[3, 0], end=[7, 4], strides=[1, 1], axes=None)",
)
_ROWS = ("tanh({r})", "nn.relu({r})", "add({r}, {r})", "multiply({r}, {r})", "nn.dense({r}, %w, units=4)")
_OF_STATES = (
    "add({r}, sum({p}, axis=[0], keepdims=1))",
    "multiply({r}, tanh(sum({j}, axis=[0], keepdims=1)))",
    "nn.dense(nn.softmax(nn.dense({r}, {j}, units=None)), transpose({j}, axes=[1, 0]), units=4)",
)
_JOINED = (
    "concatenate(({p}, {r}), axis=0)",
    "concatenate(({p}, {r}), axis=0)",
    "concatenate(({r}, {p}), axis=0)",
    "tanh(concatenate(({p}, {r}), axis=0))",
)


@dataclass(frozen=True)
class StateNetwork:
    """A network in text, whose states `s0`, … are the last of its outputs, behind `shown` others.

    Attributes:
        growing: whether its states have a row more for each row of a step, up to `CAPACITY`.
    """

    text: str
    count: int
    shown: int
    growing: bool

    @property
    def states(self) -> dict[str, str]:
        """The states with their outputs."""
        return {f"s{n}": f"out{self.shown + n}" for n in range(self.count)}


CAPACITY = 9


def draw(seed: int) -> StateNetwork:
    """Two inputs, and operators on any values before them."""
    g = np.random.RandomState(seed)
    count, shown = int(g.randint(1, 4)), int(g.randint(0, 3))
    values = ["%x", "%y", *(f"%s{n}" for n in range(count))]
    lines = []
    for n in range(int(g.randint(1, 9))):
        kind = (_ONE, _TWO, _THREE)[g.choice(3, p=[0.4, 0.4, 0.2])]
        form = kind[g.randint(len(kind))]
        lines.append(f"%{n} = {form.format(*g.choice(values, form.replace('{{', '').replace('}}', '').count('{}')))};")
        values.append(f"%{n}")
    results = list(g.choice(values, shown + count))
    params = ", ".join(f"{v}: {TYPE}" for v in values[: 2 + count])
    text = f"def @main({params}) {{ {' '.join(lines)} ({', '.join(results)},) }}"
    return StateNetwork(text, count, shown, False)


def draw_growing(seed: int) -> StateNetwork:
    """Rows of a step, and states with those of the steps before, which operators on rows read before and after they grow."""
    g = np.random.RandomState(seed)
    count, shown = int(g.randint(1, 4)), int(g.randint(1, 3))
    rows, pasts, joined = ["%x"], [f"%s{n}" for n in range(count)], list[str]()
    lines: list[str] = []

    def add(form: str) -> str:
        name = f"%{len(lines)}"
        parts = {"r": rows, "p": pasts, "j": joined}
        words = form.replace("{", " {").split(" ")
        drawn = [parts[w[1]][g.randint(len(parts[w[1]]))] + w[3:] if w.startswith("{") else w for w in words]
        lines.append(f"{name} = {''.join(drawn)};")
        return name

    for _ in range(int(g.randint(2, 10))):
        choice = g.rand()
        if choice < 0.35 or (not joined and choice < 0.6):
            joined.append(add(_JOINED[g.randint(len(_JOINED))]))
        else:
            forms = [*_ROWS, *(f for f in _OF_STATES if joined or "{j}" not in f)]
            rows.append(add(forms[g.randint(len(forms))]))
    while len(joined) < count:
        joined.append(add(_JOINED[0]))
    results = [*g.choice(rows, shown), *g.choice(joined, count)]
    params = ", ".join(["%x: Tensor[(?, 4), float32]", *(f"{p}: Tensor[(?, 4), float32]" for p in pasts)])
    text = f"def @main({params}, %w: Tensor[(4, 4), float32]) {{ {' '.join(lines)} ({', '.join(results)},) }}"
    return StateNetwork(text, count, shown, True)


def check(network: StateNetwork, target: str, seed: int) -> None:
    """Asserts that steps give the bits of the network that takes and gives its states."""
    (_check_growing if network.growing else _check_fixed)(network, target, seed)


def _check_fixed(network: StateNetwork, target: str, seed: int) -> None:
    step = irtool.build(parse(network.text), target=target, states=network.states).instance().step
    run = irtool.build(parse(network.text), target=target).run
    g = np.random.RandomState(seed)
    values = [np.zeros((4, 4), "float32")] * network.count
    for _ in range(STEPS):
        inputs = [g.randn(4, 4).astype("float32") for _ in range(2)]
        results = run([*inputs, *values])
        values = list(results[network.shown :])
        _equal(step(inputs), results[: network.shown], network.text)


def _check_growing(network: StateNetwork, target: str, seed: int) -> None:
    weights = {"w": np.random.RandomState(1).randn(4, 4).astype("float32")}
    lengths: dict[str, Any] = {"x": ("n<=3", 4)}
    bounded = {f"s{n}": (f"p<={CAPACITY}", 4) for n in range(network.count)}
    open_ended = {n: ("0<=p<=" + str(CAPACITY - 1), 4) for n in bounded}
    artifact = irtool.build(
        parse(network.text), weights, target, shapes={**lengths, **bounded}, states=network.states, name="net"
    )
    stateless = irtool.build(parse(network.text), weights, target, shapes={**lengths, **open_ended}, name="net")
    instance, g = artifact.instance(), np.random.RandomState(seed)
    values = [np.zeros((0, 4), "float32")] * network.count
    for _ in range(GROWING_STEPS):
        x = g.randn(g.randint(1, 4), 4).astype("float32")
        saved = instance.save()
        try:
            got = instance.step([x])
        except StateFull:
            assert len(values[0]) + len(x) > CAPACITY
            assert instance.save() == saved
            instance.reset()
            got, values = instance.step([x]), [v[:0] for v in values]
        results = stateless.run([x, *values])
        values = list(results[network.shown :])
        _equal(got, results[: network.shown], network.text)


def _equal(got: Any, want: Sequence[Any], text: str) -> None:
    for a, b in zip(got if isinstance(got, tuple) else (got,), want, strict=True):
        np.testing.assert_array_equal(a, b, text)


def run_states(seed: int) -> Outcome:
    """The outcome of one network: half of them grow."""
    network = (draw_growing if seed % 2 else draw)(seed)
    target = TARGETS[seed // 2 % len(TARGETS)]
    try:
        check(network, target, seed)
    except Exception:  # noqa: BLE001  # whatever it is, it is a failure
        return Outcome(seed, "failed", traceback.format_exc(), (target,))
    return Outcome(seed, "kept")


def write_states(outcome: Outcome, folder: Path) -> Path:
    """Writes the network with its states as a comment; returns the file."""
    network = (draw_growing if outcome.seed % 2 else draw)(outcome.seed)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"states{outcome.seed}.relay"
    states = " ".join(f"--state {n}={out}" for n, out in network.states.items())
    path.write_text(f'// {outcome.pipeline[0]}: {states}\n#[version = "0.0.5"]\n{network.text}\n', encoding="utf-8")
    return path
