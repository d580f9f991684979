"""Own functions of float32 against the C library's in double precision: at most four units in the last place.

Every element of a sweep over all float32 bit patterns (each so many of them: normal, denormal, infinite, NaN) and of dense
ones where the functions bend.
"""

import math

import numpy as np
import pytest

import irtool
from irtool.ops.erf import erfc
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
        expected = [*(np.power(exact, e) for e in exponents), *(np.power(b, exact) for b in bases)]
        for about, values, want in zip([*exponents, *bases], got, expected, strict=True):
            distance = units(values, want)
            worst = int(distance.argmax())
            assert distance[worst] <= LIMIT, (about, x[worst], values[worst], distance[worst])


COMPLEMENTS = {
    "add(erf(%x), 1f)": lambda x: erfc(-x),
    "add(1f, erf(%x))": lambda x: erfc(-x),
    "subtract(1f, erf(%x))": erfc,
    "subtract(erf(%x), 1f)": lambda x: -erfc(x),
    "add(0.5f, multiply(erf(%x), 0.5f))": lambda x: 0.5 * erfc(-x),
    "add(1f, tanh(%x))": lambda x: 2 / (1 + np.exp(-2 * x)),
    "subtract(2f, multiply(2f, tanh(%x)))": lambda x: 4 / (1 + np.exp(2 * x)),
    "subtract(1f, sigmoid(%x))": lambda x: 1 / (1 + np.exp(x)),
    "add(multiply(-3f, sigmoid(%x)), 3f)": lambda x: 3 / (1 + np.exp(x)),
}
"""Sums that lose what is far below 1, and what they are in double precision (`schedule.graph.keep_tails`)."""
WAYS = {
    "interpreter": lambda m, x: irtool.evaluate(m, [x]),
    "old vectors": lambda m, x: irtool.build(m, mcpu="x86-64-v2").run([x]),
    "vectors": lambda m, x: irtool.build(m).run([x]),
    "scalar": lambda m, x: irtool.build(m, vector="none").run([x]),
    "strict": lambda m, x: irtool.build(m, math="strict").run([x]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", COMPLEMENTS)
def test_what_a_function_lacks_to_one(text, way):
    """Relative to its size, down to the least normal number: (12 + 4 x²) · 2^-24 of erf, because a step of x is as much; 8 of others."""
    x = np.concatenate([sweep(), np.linspace(-14, 14, 1 << 16).astype("float32")])
    m = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), float32]) {{ {text} }}')
    with np.errstate(all="ignore"):
        got = WAYS[way](irtool.infer_types(m), x)
        exact = x.astype("float64")
        want = COMPLEMENTS[text](exact)
        units = 12 + 4 * np.minimum(np.abs(exact), 10) ** 2 if "erf" in text else 8
        most = units * 2**-24 * np.abs(want) + 4 * 2**-126
    right = (np.abs(got - want) <= most) | (got == want) | (np.isnan(x) & np.isnan(got))
    assert right.all(), (x[~right][:3], got[~right][:3], want[~right][:3])


def test_a_complement_of_shapes_and_constants():
    """Constants with dimensions of their own, one that is no negative of the factor, and a function that others read."""
    x = np.linspace(-9, 9, 64).astype("float32")
    calls = {
        "add(erf(%x), meta[relay.Constant][0])": ((1, 64), 1 + REFERENCES["erf"](x.astype("float64"))),
        "add(erf(%x), 2f)": ((64,), 2 + REFERENCES["erf"](x.astype("float64"))),
        "subtract(1f, multiply(2f, tanh(%x)))": ((64,), 1 - 2 * np.tanh(x.astype("float64"))),
        "add(1f, sigmoid(%x))": ((64,), 1 + 1 / (1 + np.exp(-x.astype("float64")))),
        "let %e = erf(%x); multiply(add(1f, %e), %e)": (
            (64,), (1 + REFERENCES["erf"](x.astype("float64"))) * REFERENCES["erf"](x.astype("float64")),
        ),
    }  # fmt: skip
    for text, (shape, want) in calls.items():
        e = text.replace("meta[relay.Constant][0]", "reshape(1f, newshape=[1, 1])")
        m = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(64), float32]) {{ {e} }}')
        m = irtool.run_passes(irtool.infer_types(m), "FoldConstant")
        for got in (irtool.evaluate(m, [x]), irtool.build(m).run([x])):
            assert got.shape == shape
            np.testing.assert_allclose(got.reshape(-1), want, rtol=1e-6, atol=3e-7)


def test_an_error_function_that_others_read():
    x = np.linspace(-4, 4, 1 << 12).astype("float32")
    text = "let %e = erf(%x); (multiply(%x, add(1f, %e)), %e)"
    m = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), float32]) {{ {text} }}')
    product, alone = irtool.build(irtool.infer_types(m)).run([x])
    exact = REFERENCES["erf"](x.astype("float64"))
    assert units(alone, exact).max() <= LIMIT
    np.testing.assert_allclose(product, x * (1 + exact), atol=2e-6)
