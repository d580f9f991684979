"""Functions of vectors that are exact: bit by bit what numpy gives, in single and in double precision."""

import numpy as np
import pytest

from irtool.ops.unary import round_half_away
from tests.backends.direct import PROCESSORS, Functions

REFERENCES = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": round_half_away,
    "nearbyint": np.rint,
}
DTYPES = ["float32", "float64"]
SPECIAL = [0.0, 1.0, 0.5, 1.5, 2.5, np.inf, np.nan, 1e-45, 5e-324, 3.4e38, 1.7e308, 1e-38, 3e-39, 2.0**31, 2.0**63]


@pytest.fixture(scope="module", params=PROCESSORS)
def functions(request, tmp_path_factory):
    names = [(name, d) for d in DTYPES for name in (*REFERENCES, "copysign", "fmod")]
    return Functions(names, request.param, tmp_path_factory.mktemp("functions"))


def arguments(dtype: str) -> np.ndarray:
    """From all bit patterns; halves, quarters and their neighbours up to where there is nothing between integers."""
    bits = np.dtype(dtype).itemsize * 8
    generator = np.random.RandomState(0)
    patterns = generator.randint(0, (1 << bits) - 1, 1 << 16, "uint64").astype(f"uint{bits}").view(dtype)
    quarters = np.arange(0, 1 << 14) / 4
    limit = np.ldexp(1.0, np.arange(15, 54))[:, None] + np.arange(-4, 5) / 2
    near = np.concatenate([quarters, limit.ravel(), np.array(SPECIAL)]).astype(dtype)
    below, above = np.nextafter(near, dtype_of(-np.inf, dtype)), np.nextafter(near, dtype_of(np.inf, dtype))
    return np.concatenate(
        [patterns, *(sign * x for x in (near, below, above) for sign in (dtype_of(1, dtype), dtype_of(-1, dtype)))]
    )


def dtype_of(value: float, dtype: str):
    return np.dtype(dtype).type(value)


def same(got: np.ndarray, want: np.ndarray, *operands: np.ndarray) -> None:
    assert got.dtype == want.dtype
    wrong = ~((np.isnan(got) & np.isnan(want)) | ((got == want) & (np.signbit(got) == np.signbit(want))))
    assert not wrong.any(), [(x[wrong][:3], got[wrong][:3], want[wrong][:3]) for x in operands]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REFERENCES)
def test_rounding(functions, name, dtype):
    with np.errstate(all="ignore"):
        x = arguments(dtype)
        want = REFERENCES[name](x)
        if name == "round":
            want = np.where(np.isfinite(x), np.copysign(want, x), x)
        same(functions(name, x), want, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "reference"), [("copysign", np.copysign), ("fmod", np.fmod)])
def test_two_arguments(functions, name, reference, dtype):
    generator = np.random.RandomState(1)
    with np.errstate(all="ignore"):
        x, special = arguments(dtype), np.array([*SPECIAL, *(-a for a in SPECIAL)], dtype)
        pairs = np.array([(a, b) for a in special for b in special], dtype).T
        near = generator.uniform(-1000, 1000, (2, 1 << 16)).astype(dtype)
        steps = np.array([generator.randint(-4000, 4000, 1 << 14), generator.randint(1, 5, 1 << 14)], dtype) / 4
        tiny = (generator.randint(0, 4000, (2, 1 << 14)) * np.finfo(dtype).smallest_subnormal).astype(dtype)
        a, b = np.concatenate([pairs, near, steps, tiny, [x, generator.permutation(x)]], 1).astype(dtype)
        same(functions(name, a, b), reference(a, b), a, b)
