"""Own functions of float32 against the C library's in double precision: at most four units in the last place.

Every element of a sweep over all float32 bit patterns (each so many of them: normal, denormal, infinite, NaN) and of dense
ones where the functions bend.
"""

import math

import numpy as np
import pytest

import irtool
from tests.backends.units import units

pytestmark = pytest.mark.usefixtures("keeps_denormals")

LIMIT = 4.0


COUNT = 1 << 19


def sweep() -> np.ndarray:
    """Float32 values: from all bit patterns, from -20 … 20 (of even spacing), near 0 and 1, and the special ones."""
    patterns = np.linspace(0, 0xFFFFFFFF, COUNT // 2).astype("uint32").view("float32")
    denormal = np.linspace(1, 0x00FFFFFF, COUNT // 16).astype("uint32").view("float32")
    bends = [
        np.linspace(-20, 20, COUNT // 4),
        np.linspace(-110, 92, COUNT // 16),
        np.linspace(0.5, 2, COUNT // 16),
        np.linspace(-1e-3, 1e-3, COUNT // 32),
    ]
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3.4028235e38, 1.1754944e-38, 1e-45, 88.72284, -103.97208]
    flat = np.concatenate([patterns, denormal, -denormal, *bends, special]).astype("float32")
    return np.concatenate([flat, np.zeros(-len(flat) % 64, "float32")])


REFERENCES = {
    "exp": np.exp,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=["float64"]),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


@pytest.mark.parametrize("vector", [True, "none"], ids=["vector", "scalar"])
def test_functions_of_one_argument(vector):
    x = sweep()
    calls = ", ".join(f"{name}(%x)" for name in REFERENCES)
    m = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), float32]) {{ ({calls}) }}')
    got = irtool.build(irtool.infer_types(m), vector=vector).run([x])
    for (name, reference), values in zip(REFERENCES.items(), got, strict=True):
        with np.errstate(all="ignore"):
            distance = units(values, reference(x.astype("float64")))
        worst = int(distance.argmax())
        assert distance[worst] <= LIMIT, (name, x[worst], values[worst], distance[worst], int((distance > LIMIT).sum()))


@pytest.mark.parametrize("vector", [True, "none"], ids=["vector", "scalar"])
def test_power(vector):
    generator = np.random.RandomState(0)
    x = np.exp(generator.uniform(-80, 80, 1 << 17)).astype("float32")
    with np.errstate(all="ignore"):
        y = (generator.uniform(-100, 100, 1 << 17) / np.log(x)).astype("float32")
    corners = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, -3.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38, 1e-38]
    pairs = np.array([(a, b) for a in corners for b in corners], "float32")
    x, y = np.concatenate([x, pairs[:, 0]]), np.concatenate([y, pairs[:, 1]])
    m = irtool.parse(
        f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), float32], %y: Tensor[({len(x)}), float32])'
        " { power(%x, %y) }"
    )
    got = irtool.build(irtool.infer_types(m), vector=vector).run([x, y])
    with np.errstate(all="ignore"):
        distance = units(got, np.power(x.astype("float64"), y.astype("float64")))
    worst = int(distance.argmax())
    assert distance[worst] <= LIMIT, (x[worst], y[worst], got[worst], distance[worst])


@pytest.mark.parametrize("vector", [True, "none"], ids=["vector", "scalar"])
def test_powers_with_a_constant(vector):
    x = sweep()
    exponents, bases = [-2.0, -0.5, 0.0, 0.75, 1.0, 1.625, 2.0, 3.0, 5.0], [0.0, 2.0, 3.0, 10.0, -2.0]
    calls = ", ".join([*(f"power(%x, {e}f)" for e in exponents), *(f"power({b}f, %x)" for b in bases)])
    m = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), float32]) {{ ({calls}) }}')
    got = irtool.build(irtool.infer_types(m), vector=vector).run([x])
    exact = x.astype("float64")
    with np.errstate(all="ignore"):
        wanted = [*(np.power(exact, e) for e in exponents), *(np.power(b, exact) for b in bases)]
        for about, values, want in zip([*exponents, *bases], got, wanted, strict=True):
            distance = units(values, want)
            worst = int(distance.argmax())
            assert distance[worst] <= LIMIT, (about, x[worst], values[worst], distance[worst])


@pytest.mark.parametrize("sum_of_erf", ["add(erf(%x), 1f)", "add(1f, erf(%x))", "add(0.5f, multiply(erf(%x), 0.5f))"])
@pytest.mark.parametrize("mcpu", ["x86-64-v2", "native"])
def test_one_and_an_error_function(sum_of_erf, mcpu):
    """What GELU multiplies has a function of its own: four units of what it is above 1, and no less below."""
    x = np.concatenate([sweep(), np.linspace(-4, 4, 1 << 18).astype("float32")])
    m = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), float32]) {{ {sum_of_erf} }}')
    got = irtool.build(irtool.infer_types(m), mcpu=mcpu).run([x])
    factor = 0.5 if "0.5" in sum_of_erf else 1.0
    wanted = factor * (1 + REFERENCES["erf"](x.astype("float64")))
    assert np.array_equal(np.isnan(got), np.isnan(x))
    assert np.nanmax(np.abs(got - wanted)) <= LIMIT * 2**-23 * factor
    assert (got[x == 0] == factor).all() and (got[x > 5] == 2 * factor).all() and (got[x < -5] == 0).all()


def test_an_error_function_that_others_read():
    x = np.linspace(-4, 4, 1 << 12).astype("float32")
    text = "let %e = erf(%x); (multiply(%x, add(1f, %e)), %e)"
    m = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), float32]) {{ {text} }}')
    product, alone = irtool.build(irtool.infer_types(m)).run([x])
    exact = REFERENCES["erf"](x.astype("float64"))
    assert units(alone, exact).max() <= LIMIT
    np.testing.assert_allclose(product, x * (1 + exact), atol=2e-6)
