"""Own trigonometric functions against the C library's in double precision: at most four units in the last place.

They are asked all over the range of float32: from subnormal numbers over angles near multiples of π/2 to huge ones, which
the C library has to turn back.
"""

import numpy as np
import pytest

import irtool
from tests.backends.direct import PROCESSORS, Functions
from tests.backends.units import units

pytestmark = pytest.mark.usefixtures("keeps_denormals")

LIMIT = 4.0
REFERENCES = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38, -3.4e38, 1e-38, 3e-39]


def arguments() -> np.ndarray:
    """From all bit patterns, densely where functions bend, and the neighbours of multiples of π/2."""
    patterns = np.linspace(0, 0xFFFFFFFF, 1 << 17).astype("uint32").view("float32")
    bends = [np.linspace(-a, a, 1 << 15) for a in (0.01, 1.01, 20, 1000, 20000)]
    turns = (np.arange(-10000, 10000) * (np.pi / 2)).astype("float32")
    near = [turns, np.nextafter(turns, np.float32(np.inf)), np.nextafter(turns, np.float32(-np.inf))]
    hard = [float.fromhex(h) for h in ("0x1.25e926p+13", "0x1.08a354p+13", "0x1.146b4p+13", "0x1.07e2ccp+13")]
    return np.concatenate([patterns, *bends, *near, hard, SPECIAL]).astype("float32")


def check(name, got, exact, *operands):
    distance = units(got, exact)
    distance[(got == 0) & (np.signbit(got) != np.signbit(exact))] = np.inf
    worst = int(distance.argmax())
    assert distance[worst] <= LIMIT, (name, *(a[worst] for a in operands), got[worst], distance[worst])


@pytest.fixture(scope="module", params=PROCESSORS)
def functions(request, tmp_path_factory):
    names = [(name, "float32") for name in (*REFERENCES, "atan2")]
    return Functions(names, request.param, tmp_path_factory.mktemp("functions"))


@pytest.mark.parametrize("name", REFERENCES)
def test_functions_of_one_argument(functions, name):
    x = arguments()
    with np.errstate(all="ignore"):
        check(name, functions(name, x), REFERENCES[name](x.astype("float64")), x)


def test_atan2(functions):
    generator = np.random.RandomState(0)
    near = generator.uniform(-4, 4, (2, 1 << 16)).astype("float32")
    far = generator.randint(0, 1 << 32, (2, 1 << 16), "uint64").astype("uint32").view("float32")
    pairs = np.array([(a, b) for a in SPECIAL for b in SPECIAL], "float32").T
    y, x = np.concatenate([near, far, pairs], 1)
    with np.errstate(all="ignore"):
        check("atan2", functions("atan2", y, x), np.arctan2(y.astype("float64"), x.astype("float64")), y, x)


@pytest.mark.parametrize("mcpu", PROCESSORS)
def test_they_are_vectors_unless_told_otherwise(mcpu, tmp_path):
    m = irtool.infer_types(irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(64), float32]) { sin(%x) }'))
    for math, scalar in (("fast", 1), ("strict", 2)):
        irtool.build(m, name="m", emit="c", out_dir=tmp_path, mcpu=mcpu, math=math)
        text = (tmp_path / "m.c").read_text()
        assert text.count("= sinf(p0[") == scalar
