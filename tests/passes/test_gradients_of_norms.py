"""Gradients of normalizations: drawn attributes against finite differences, and float32 far from zero against float64."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import irtool
from irtool.ir import Expr, Tuple, TupleGetItem
from irtool.ops.base import call
from tests.passes.slopes import PASSES, Case, check, direct

DRAWS = 5


def _statistics_of_data(name: str) -> Callable[[random.Random], Case]:
    def draw(rng: random.Random) -> Case:
        shape = tuple(rng.sample((1, 2, 3, 4, 6), rng.randint(2, 4)))
        axis = rng.randrange(len(shape))
        attributes = {"axis": rng.choice((axis, axis - len(shape))), "epsilon": rng.choice((1e-5, 1e-2))}
        attributes |= {"center": rng.random() < 0.7, "scale": rng.random() < 0.7}
        if name == "nn.group_norm":
            attributes["num_groups"] = rng.choice([d for d in range(1, shape[axis] + 1) if shape[axis] % d == 0])
        return Case(direct(name, **attributes), [shape, (shape[axis],), (shape[axis],)])

    return draw


def _batch_norm(rng: random.Random) -> Case:
    shape = tuple(rng.sample((1, 2, 3, 4), rng.randint(1, 4)))
    axis = rng.choice((*range(len(shape)), -1))
    attributes = {"axis": axis, "epsilon": 1e-3, "center": rng.random() < 0.7, "scale": rng.random() < 0.7}
    result = rng.choice((0, 0, 1, 2))

    def make(*args: Expr) -> Expr:
        normal = call("nn.batch_norm", *args, **attributes)
        if result == 0:
            return TupleGetItem(normal, 0)
        return call("concatenate", Tuple((TupleGetItem(normal, result), TupleGetItem(normal, 1))), axis=0)

    return Case(make, [shape, *[(shape[axis],)] * 4])


def _l2_normalize(rng: random.Random) -> Case:
    shape = tuple(rng.sample((1, 2, 3, 4), rng.randint(1, 4)))
    axes = tuple(rng.sample(range(len(shape)), rng.randint(0, len(shape))))
    return Case(direct("nn.l2_normalize", eps=rng.choice((1e-6, 0.7)), axis=axes), [shape])


def _lrn(rng: random.Random) -> Case:
    shape = (2, 5, 3, 1)[: rng.randint(1, 4)]
    axis = rng.randrange(-len(shape), len(shape))
    return Case(direct("nn.lrn", size=rng.choice((1, 3, 5, 7)), axis=axis, alpha=0.7, beta=0.75, bias=1.5), [shape])


DRAWN = {
    **{name: _statistics_of_data(name) for name in ("nn.layer_norm", "nn.instance_norm", "nn.group_norm")},
    "nn.batch_norm": _batch_norm,
    "nn.l2_normalize": _l2_normalize,
    "nn.lrn": _lrn,
}


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_attributes(name: str) -> None:
    rng = random.Random(name)
    for n in range(DRAWS):
        assert check(DRAWN[name](rng), PASSES if n == 0 else PASSES[:1]), "a rule refuses that has no reason to"


def test_an_instance_without_extent_is_its_own_mean() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float64], %g: Tensor[(3), float64]) { nn.instance_norm(%x, %g, %g) }"""
    module, arrays = irtool.parse(text), [np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])]
    want = np.array([[1.0, 2.0, 3.0]] * 2)
    for passes in ("SimplifyInference", "InferType"):
        np.testing.assert_array_equal(irtool.evaluate(irtool.run_passes(module, passes), arrays), want)


@pytest.mark.parametrize("name", ["nn.layer_norm", "nn.instance_norm", "nn.batch_norm"])
def test_far_from_zero_gradients_keep_their_digits(name: str) -> None:
    """The data are a thousand deviations from zero: squares of them would leave three digits of float32."""
    more = ", %m: Tensor[(6), DT], %v: Tensor[(6), DT]" if name == "nn.batch_norm" else ""
    call_text = f"{name}(%x, %g, %b, {'%m, %v, ' if more else ''}axis=1)" + (".0" if more else "")
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(8, 6, 10), DT], %g: Tensor[(6), DT], %b: Tensor[(6), DT], %w: Tensor[(8, 6, 10), DT]{more}) {{
  sum(multiply({call_text}, %w))
}}"""
    rng = np.random.RandomState(0)
    x = 1000 + rng.normal(size=(8, 6, 10))
    arrays = [x, rng.uniform(1, 2, 6), rng.normal(size=6), rng.normal(size=(8, 6, 10))]
    if more:
        arrays += [x.mean((0, 2)), x.var((0, 2))]
    arrays = [a.astype("float32") for a in arrays]

    def gradients(dtype: str) -> list[np.ndarray]:
        module = irtool.run_passes(irtool.parse(text.replace("DT", dtype)), "FirstOrderGradient")
        return list(irtool.evaluate(module, [a.astype(dtype) for a in arrays])[1])

    for got, want in zip(gradients("float32"), gradients("float64"), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4 * np.abs(want).max())
