"""Remainders of floats: the product is rounded before it is subtracted, as the interpreter and the operator's meaning have it."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

OPERATORS = {
    "floor_mod": lambda a, b: a - np.floor(a / b) * b,
    "trunc_mod": lambda a, b: a - np.trunc(a / b) * b,
    "floor_divide": lambda a, b: np.floor(a / b),
    "trunc_divide": lambda a, b: np.trunc(a / b),
}
WAYS = {
    "vectors": {},
    "scalar": {"vector": "none"},
    "AVX2": {"mcpu": "haswell"},
    "no multiply-add": {"mcpu": "x86-64-v2"},
    "strict": {"math": "strict"},
    "LLVM": {"target": "llvm"},
}


def operands(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Quotients of all sizes, many of them just below or above a whole number."""
    generator = np.random.RandomState(0)
    b = generator.uniform(0.1, 9, 4099) * generator.choice([-1, 1], 4099)
    a = b * generator.randint(-2000, 2000, 4099) * generator.choice([1, 1 + 1e-7, 1e3], 4099)
    with np.errstate(over="ignore"):
        return a.astype(dtype), b.astype(dtype)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_remainders_are_those_of_the_interpreter(operator, dtype, way):
    if way == "LLVM":
        pytest.importorskip("llvmlite")
    a, b = operands(dtype)
    t = f"Tensor[({len(a)}), {dtype}]"
    m = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main(%a: {t}, %b: {t}) {{ {operator}(%a, %b) }}'))
    with np.errstate(all="ignore"):
        want = irtool.evaluate(m, [a, b])
        got = irtool.build(m, **WAYS[way]).run([a, b])
    assert np.array_equal(got, want, equal_nan=True)
    if dtype != "float16":  # computed in float32, and rounded once
        assert np.array_equal(want, OPERATORS[operator](a, b))


def test_functions_of_two_arguments_in_the_interpreter_of_nests():
    """atan2, fmod, hypot, copysign, nextafter and products."""
    from irtool.interp.nests.functions import function_of
    from irtool.tir.expr import Call, const

    x, y = np.float32([3.5, -2.0]), np.float32([2.0, 0.75])
    expected = {
        "atan2": np.arctan2, "fmod": np.fmod, "hypot": np.hypot, "copysign": np.copysign, "nextafter": np.nextafter, "product": np.multiply,
    }  # fmt: skip
    for name, function in expected.items():
        e = Call(name, (const(1.0, "float32"), const(2.0, "float32")), "float32")
        np.testing.assert_array_equal(function_of(e)(x, y), function(x, y))
