"""Random networks with states, next values of which are any values of their type: steps give the bits of the network without states."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from tests.driver.programs import parse

STEPS = 6
CASES = 24
TYPE = "Tensor[(4, 4), float32]"
_ONE = ("tanh({})", "nn.softmax({})", "transpose({}, axes=[1, 0])", "nn.relu({})", "reverse({}, axis=0)")
_TWO = ("add({}, {})", "multiply({}, {})", "nn.dense({}, {}, units=None)", "maximum({}, {})")
_THREE = (
    "if (greater(sum({}), 0f)) {{ tanh({}) }} else {{ {} }}",
    "strided_slice(concatenate(({}, {}, {}), axis=0), begin=[3, 0], end=[7, 4], strides=[1, 1], axes=None)",
)


def draw(seed: int) -> tuple[str, int, int]:
    """A network, and how many states and visible outputs it has: two inputs, and operators on any values before them."""
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
    return f"def @main({params}) {{ {' '.join(lines)} ({', '.join(results)},) }}", count, shown


@pytest.mark.robustness("compiled states")
@pytest.mark.parametrize("target", ["c", "c{openmp=true}"])
@pytest.mark.parametrize("seed", range(CASES))
def test_random_states(seed: int, target: str) -> None:
    text, count, shown = draw(seed)
    states = {f"s{n}": f"out{shown + n}" for n in range(count)}
    step = irtool.build(parse(text), target=target, states=states).instance().step
    run = irtool.build(parse(text), target=target).run
    g = np.random.RandomState(seed)
    values = [np.zeros((4, 4), "float32")] * count
    for _ in range(STEPS):
        inputs = [g.randn(4, 4).astype("float32") for _ in range(2)]
        results = run([*inputs, *values])
        values = list(results[shown:])
        got = step(inputs)
        for a, b in zip(got if isinstance(got, tuple) else (got,), results[:shown], strict=True):
            np.testing.assert_array_equal(a, b, text)


def test_the_networks_copy_some_states_and_update_others() -> None:
    """The drawn networks come to both."""
    copied = set()
    for seed in range(CASES):
        text, count, shown = draw(seed)
        states = {f"s{n}": f"out{shown + n}" for n in range(count)}
        report = irtool.build(parse(text), states=states, emit="c").report
        copied |= {s["copied"] for s in report["states"]}
        if len(copied) == 2:
            return
    raise AssertionError(f"all states of {CASES} networks are {'copied' if True in copied else 'in place'}")
