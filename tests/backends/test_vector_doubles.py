"""Own functions of double precision against the C library's in extended precision: at most four units in the last place, and the
signs of zeros. Arguments are from all over the range, and dense where functions bend, overflow or become subnormal.
"""

import re

import numpy as np
import pytest

import irtool
from irtool.backends.formulas import vector_math
from irtool.backends.formulas.vector_powers import CHEAP
from tests.backends.direct import PROCESSORS, Functions

LIMIT = 4.0
WIDE = np.longdouble
REFERENCES = {
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "atan": np.arctan,
    "asin": np.arcsin,
    "acos": np.arccos,
}
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    -5e-324,
    1.7e308,
    -1.7e308,
    2.3e-308,
    1e-308,
]
SPECIAL += [709.78, 710.4, 710.5, -745.2, 1 - 2**-53, 1 + 2**-52, -1 - 2**-52, 1e6, 1000001.0, 1e22, np.pi / 2, np.pi]

pytestmark = [
    pytest.mark.skipif(np.finfo(WIDE).nmant < 60, reason="no more digits than a double"),
    pytest.mark.usefixtures("keeps_denormals"),
]


def arguments() -> np.ndarray:
    patterns = np.linspace(0, (1 << 63) - 1, 1 << 15).astype("uint64")
    signed = np.concatenate([patterns, patterns | np.uint64(1 << 63)]).view("float64")
    bends = [np.linspace(-a, a, 1 << 13) for a in (1e-8, 0.01, 1.01, 4, 20, 180, 750, 5000, 3e6)]
    bends += [np.linspace(0.5, 2, 1 << 13), np.linspace(1, 1.001, 1 << 12), np.exp(np.linspace(-745, 700, 1 << 12))]
    return np.concatenate([signed, *bends, SPECIAL])


def units(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distance in units in the last place of the nearest double; 0 where both are NaN or the same infinity."""
    with np.errstate(all="ignore"):
        nearest = exact.astype("float64")
        distance = np.abs(got.astype(WIDE) - exact) / np.spacing(np.abs(nearest)).astype(WIDE)
    same = (got == nearest) | (np.isnan(got) & np.isnan(nearest))
    distance = np.where(same, 0, distance)
    distance[(got == 0) & (np.signbit(got) != np.signbit(nearest))] = np.inf
    return np.where(np.isnan(distance), np.inf, distance)


@pytest.fixture(scope="module", params=PROCESSORS)
def functions(request, tmp_path_factory):
    return Functions(
        [(name, "float64") for name in (*REFERENCES, "pow", *CHEAP.values())],
        request.param,
        tmp_path_factory.mktemp("doubles"),
    )


@pytest.mark.parametrize("name", REFERENCES)
def test_functions_of_doubles(functions, name: str) -> None:
    x = arguments()
    with np.errstate(all="ignore"):
        got, exact = functions(name, x), REFERENCES[name](x.astype(WIDE))
    distance = units(got, exact)
    worst = int(distance.argmax())
    assert distance[worst] <= LIMIT, (name, x[worst], got[worst], distance[worst])


def pairs() -> np.ndarray:
    """Bases and exponents: powers from all over the range of results, and of any numbers."""
    generator = np.random.RandomState(0)
    n = 1 << 14
    with np.errstate(all="ignore"):
        bases = [np.exp(generator.uniform(-w, w, n)) for w in (700, 0.4, 0.1, 1e-5, 1e-12)]
        wide = [(x, np.nan_to_num(generator.uniform(-745, 710, n) / np.log(x))) for x in bases]
    any_bits = generator.randint(0, 1 << 64, (2, n), "uint64").view("float64")
    whole = -np.exp(generator.uniform(-20, 20, n)), generator.randint(-9, 10, n).astype("float64")
    ends = np.array([(a, b) for a in SPECIAL for b in SPECIAL]).T
    return np.concatenate([np.stack(p) for p in (*wide, any_bits, whole, ends)], 1)


def test_powers_of_doubles(functions) -> None:
    x, y = pairs()
    with np.errstate(all="ignore"):
        distance = units(functions("pow", x, y), np.power(x.astype(WIDE), y.astype(WIDE)))
    worst = int(distance.argmax())
    assert distance[worst] <= LIMIT, (x[worst], y[worst], distance[worst])


@pytest.mark.parametrize("exponent", CHEAP)
def test_cheap_powers_of_doubles(functions, exponent: float) -> None:
    x = arguments()
    with np.errstate(all="ignore"):
        distance = units(functions(CHEAP[exponent], x), np.power(x.astype(WIDE), np.full(len(x), exponent, WIDE)))
    worst = int(distance.argmax())
    assert distance[worst] <= LIMIT, (exponent, x[worst], distance[worst])


@pytest.mark.parametrize("constant", ["power(%x, 2.0)", "power(%x, 1.7)", "power(2.0, %x)", "power(10.0, %x)"])
def test_powers_of_doubles_with_a_constant(constant: str) -> None:
    x = np.linspace(0.1, 3, 64)
    text = constant.replace(".0", ".0f64").replace(".7", ".7f64")
    module = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(64), float64]) {{ {text} }}')
    np.testing.assert_allclose(irtool.build(module).run([x]), irtool.evaluate(module, [x]), rtol=1e-15)


def test_functions_come_with_what_they_call() -> None:
    for name, dtype in vector_math.FUNCTIONS:
        definitions = vector_math.define(name, dtype, 4)
        for (_, _, _), text in definitions:
            called = set(re.findall(r"irt_v(\w+)_f\d\dx4\(", text))
            assert called <= {n for (n, _, _), _ in definitions}, (name, dtype)


def test_they_are_used_unless_told_otherwise(tmp_path) -> None:
    calls = ", ".join(f"{name}(%x)" for name in ("log", "tanh", "sin", "sinh"))
    source = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(64), float64]) {{ ({calls}) }}'
    for how, scalar in (("fast", 1), ("strict", 2)):
        irtool.build(irtool.infer_types(irtool.parse(source)), name="m", emit="c", out_dir=tmp_path, math=how)
        text = (tmp_path / "m.c").read_text()
        assert [text.count(f"= {name}(p0[") for name in ("log", "tanh")] == [scalar, scalar]


def test_a_softmax_makes_no_subnormals() -> None:
    source = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 64), float32]) { nn.softmax(%x) }'
    module = irtool.infer_types(irtool.parse(source))
    x = np.linspace(-110, 0, 256).astype("float32").reshape(64, 4).T.copy()
    (got,) = [np.asarray(irtool.build(module).run([x]))]
    assert not ((got > 0) & (got < np.finfo("float32").tiny)).any()
    np.testing.assert_allclose(got, irtool.evaluate(module, [x]), rtol=1e-5, atol=1.2e-38)


def test_waves_are_whole_where_they_are_highest(functions) -> None:
    quarter = np.pi / 2
    np.testing.assert_array_equal(functions("cos", np.array([0.0, -0.0, np.pi, -np.pi, 2 * np.pi])), [1, 1, -1, -1, 1])
    np.testing.assert_array_equal(functions("sin", np.array([quarter, -quarter, 3 * quarter, 0.0])), [1, -1, -1, 0])
    assert np.signbit(functions("sin", np.array([-0.0, 0.0]))).tolist() == [True, False]
