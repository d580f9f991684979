"""Functions and statistics in each float dtype against higher precision: within the bounds of the operators' cases, in every way of running."""

from __future__ import annotations

import math

import numpy as np
import pytest

import irtool
from irtool.ops import operators
from irtool.ops.cases import bounds_of
from irtool.ops.conversion import convert

BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
LEAST = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}
LARGEST = {"float16": 65504.0, "bfloat16": 3.39e38, "float32": 3.402e38, "float64": np.inf}
FUNCTIONS = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": lambda x: np.array([math.erf(v) for v in x], "longdouble"), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip


def units(got: np.ndarray, want: np.ndarray, dtype: str) -> np.ndarray:
    """Distances in units in the last place of the dtype; 0 where both are NaN, or what overflows is infinite."""
    got, want = np.asarray(got).astype("longdouble"), np.asarray(want).astype("longdouble")
    size = np.maximum(np.abs(np.where(np.isfinite(want), want, 1)), LEAST[dtype])
    with np.errstate(all="ignore"):
        distance = np.abs(got - want) / np.ldexp(1.0, np.frexp(size)[1].astype(int) - BITS[dtype])
    same = (np.isnan(got) & np.isnan(want)) | (got == want) | ((np.abs(want) > 0.99 * LARGEST[dtype]) & np.isinf(got))
    return np.where(same, 0, np.where(np.isnan(distance), np.inf, distance))


def ways(module: irtool.Module, inputs: list[np.ndarray]):
    yield "interpreter", irtool.evaluate(module, inputs)
    for vector in (True, "none"):
        yield f"C, vector={vector}", irtool.build(module, vector=vector).run(inputs)


@pytest.mark.parametrize("dtype", list(BITS))
def test_functions(dtype):
    sizes = np.geomspace(1e-6, 80, 60)
    x = convert(np.concatenate([sizes, -sizes, [0.3, 0.7, 0.99, -0.99]]), dtype)
    calls = ", ".join(f"{name}(%x)" for name in FUNCTIONS)
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), {dtype}]) {{ ({calls}) }}'
    exact = x.astype("float64").astype("longdouble")
    for way, results in ways(irtool.infer_types(irtool.parse(text)), [x]):
        for (name, function), got in zip(FUNCTIONS.items(), results, strict=True):
            with np.errstate(all="ignore"):
                distance = units(got, function(exact), dtype)
            worst = int(distance.argmax())
            assert distance[worst] <= bounds_of(operators.get(name))[dtype], (way, name, exact[worst], distance[worst])


def test_every_bound_is_measured() -> None:
    bounded = {cls.name for cls in operators if bounds_of(cls)}
    assert bounded == {*FUNCTIONS, *MEASURED}


STATISTICS = """
  (sum(%x, axis=[1]), mean(%x, axis=[1]), max(%x, axis=[1]),
   nn.layer_norm(%x, %g, %b), nn.instance_norm(reshape(%x, newshape=[1, 4, 64]), %c, %d), nn.l2_normalize(%x, eps=0.001f, axis=[1]),
   nn.group_norm(reshape(%x, newshape=[1, 4, 64]), %c, %d, num_groups=4))
"""


MEASURED = ["sum", "mean", "max", "nn.layer_norm", "nn.instance_norm", "nn.l2_normalize", "nn.group_norm"]
"""Operator of which each statistic is a result."""


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_statistics_of_16_bits_are_float32(dtype):
    """Values whose squares float16 does not have; the same behind SimplifyInference."""
    x = convert(np.random.RandomState(0).uniform(-900, 1000, (4, 64)), dtype)
    params = f"%x: Tensor[(4, 64), {dtype}], %g: Tensor[(64), {dtype}], %b: Tensor[(64), {dtype}], %c: Tensor[(4), {dtype}], %d: Tensor[(4), {dtype}]"
    module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {STATISTICS} }}'))
    inputs = [x, *(convert(np.full(n, v), dtype) for n, v in ((64, 1), (64, 0), (4, 1), (4, 0)))]
    e = x.astype("float64")
    centred = e - e.mean(1, keepdims=True)
    norm = centred / np.sqrt(np.square(centred).mean(1, keepdims=True) + 1e-5)
    length = e / np.sqrt(np.square(e).sum(1, keepdims=True))
    expected = [e.sum(1), e.mean(1), e.max(1), norm, norm, length, norm]
    results = [
        *ways(module, inputs),
        ("SimplifyInference", irtool.evaluate(irtool.run_passes(module, "SimplifyInference"), inputs)),
    ]
    for way, got in results:
        for n, (have, want) in enumerate(zip(got, expected, strict=True)):
            want = want.reshape(np.asarray(have).shape)
            error = np.abs(np.asarray(have).astype("float64") - want)
            limit = bounds_of(operators.get(MEASURED[n]))[dtype]
            assert (error <= limit * 2.0 ** -BITS[dtype] * np.maximum(np.abs(want), 1e-3 if n < 3 else 0.05)).all(), (
                way,
                n,
            )
