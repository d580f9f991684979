"""Own exponentials, logarithms, hyperbolic functions and powers against the C library's in double precision: at most four
units in the last place, and the signs of zeros.

Arguments are from all over the range of float32, and dense where functions bend, overflow or become subnormal.
"""

import math

import numpy as np
import pytest

import irtool
from irtool.backends.formulas.vector_powers import CHEAP
from tests.backends.direct import PROCESSORS, Functions
from tests.backends.units import units

pytestmark = pytest.mark.usefixtures("keeps_denormals")

LIMIT = 4.0
REFERENCES = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "expm1": np.expm1,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=["float64"]),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4028235e38]
SPECIAL += [-3.4028235e38, 1e-38, 88.72284, 89.41599, -103.97208, 128.0, -149.0, 1e10, -1e10, 1 - 2**-24, 1 + 2**-23]
SPECIAL += [-1 - 2**-23, 2**24 - 1, 1 - 2**24, 2**24, 2**23 + 1, -1 - 2**23, 2**22 + 0.5, 2**22 + 1]


def arguments() -> np.ndarray:
    """From all bit patterns, and densely where functions bend."""
    patterns = np.linspace(0, 0xFFFFFFFF, 1 << 17).astype("uint32").view("float32")
    bends = [np.linspace(-a, a, 1 << 15) for a in (0.01, 1.01, 4, 20, 180)]
    bends += [np.linspace(0.5, 2, 1 << 15), np.linspace(1, 1.001, 1 << 12)]
    return np.concatenate([patterns, *bends, SPECIAL]).astype("float32")


def check(name, got, exact, *operands):
    distance = units(got, exact)
    distance[(got == 0) & (np.signbit(got) != np.signbit(exact))] = np.inf
    worst = int(distance.argmax())
    assert distance[worst] <= LIMIT, (name, *(a[worst] for a in operands), got[worst], distance[worst])


def pairs() -> np.ndarray:
    """Bases and exponents."""
    generator = np.random.RandomState(0)
    n = 1 << 16
    bases = [np.exp(generator.uniform(-w, w, n)).astype("float32") for w in (88, 0.4, 1e-5)]
    with np.errstate(all="ignore"):
        # Powers from all over the range of results.
        wide = [(x, np.nan_to_num(generator.uniform(-104, 89, n) / np.log(x.astype("float64")))) for x in bases]
    whole = -np.exp(generator.uniform(-20, 20, n)), generator.randint(-9, 10, n)
    any_bits = generator.randint(0, 1 << 32, (2, n), "uint64").astype("uint32").view("float32")
    small = generator.randint(0, 1 << 23, n).astype("uint32").view("float32"), generator.uniform(-1.2, 1.2, n)
    ends = np.array([(a, b) for a in SPECIAL for b in SPECIAL]).T
    with np.errstate(all="ignore"):
        return np.concatenate([np.stack(p).astype("float32") for p in (*wide, whole, any_bits, small, ends)], 1)


@pytest.fixture(scope="module", params=PROCESSORS)
def functions(request, tmp_path_factory):
    names = [(name, "float32") for name in (*REFERENCES, "flushed_exp", "pow", "hypot", *CHEAP.values())]
    return Functions(names, request.param, tmp_path_factory.mktemp("functions"))


@pytest.mark.parametrize("name", REFERENCES)
def test_functions_of_one_argument(functions, name):
    x = arguments()
    with np.errstate(all="ignore"):
        check(name, functions(name, x), REFERENCES[name](x.astype("float64")), x)


def test_flushed_exp_is_exp_of_numbers_up_to_0_without_subnormal_ones(functions):
    x = arguments()
    x = np.concatenate([x[~(x > 0)], np.linspace(-88, -86, 1 << 12, dtype="float32")])
    with np.errstate(all="ignore"):
        check("flushed_exp", functions("flushed_exp", x), np.where(x < -87, 0, np.exp(x.astype("float64"))), x)


def test_pow(functions):
    x, y = pairs()
    with np.errstate(all="ignore"):
        check("pow", functions("pow", x, y), np.power(x.astype("float64"), y.astype("float64")), x, y)


@pytest.mark.parametrize("exponent", CHEAP)
def test_pow_of_cheap_exponents(functions, exponent):
    x = arguments()
    with np.errstate(all="ignore"):
        check(
            CHEAP[exponent], functions(CHEAP[exponent], x), np.power(x.astype("float64"), np.full(len(x), exponent)), x
        )


def test_hypot(functions):
    x, y = pairs()
    y[::3] = (x * np.float32(1.37))[::3]
    with np.errstate(all="ignore"):
        check("hypot", functions("hypot", x, y), np.hypot(x.astype("float64"), y.astype("float64")), x, y)


@pytest.mark.parametrize("exponent", ["1.7f", "0.75f"])
def test_powers_are_vectors_unless_told_otherwise(exponent, tmp_path):
    source = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(64), float32]) {{ power(%x, {exponent}) }}'
    for how, scalar in (("fast", 1), ("strict", 2)):
        irtool.build(irtool.infer_types(irtool.parse(source)), name="m", emit="c", out_dir=tmp_path, math=how)
        assert (tmp_path / "m.c").read_text().count("= powf(p0[") == scalar
