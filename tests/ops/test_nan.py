"""NaN in what compares elements: the interpreter and C, with vectors and without, do the same."""

import numpy as np
import pytest

import irtool
from tests.driver.sanitizers import run_all

pytestmark = [pytest.mark.promise("NaN and overflow"), pytest.mark.robustness("numbers")]

NAN, INF = np.nan, np.inf
ROWS = 40


def data(dtype: str = "float32") -> np.ndarray:
    x = np.random.default_rng(0).integers(-4, 5, (ROWS, 37)).astype(dtype)
    for n in range(ROWS):
        x[n, n % 37] = (NAN, NAN, INF, -INF)[n % 4]
    x[0], x[1], x[2], x[3] = NAN, -INF, INF, 0
    x[4, 3], x[4, 30] = NAN, NAN
    return x


def both(text: str, x: np.ndarray, vector: bool):
    module = irtool.infer_types(
        irtool.parse(f"def @main(%x: Tensor[({', '.join(map(str, x.shape))}), {x.dtype}]) {{ {text} }}")
    )
    want, got = irtool.evaluate(module, [x]), irtool.build(module, vector=vector).run([x])
    return np.asarray(want), np.asarray(got)


@pytest.mark.parametrize("vector", [True, False], ids=["vector", "scalar"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "text, function",
    [
        ("max(%x, axis=[1])", lambda x: x.max(1)),
        ("min(%x, axis=[1])", lambda x: x.min(1)),
        ("max(%x, axis=[0])", lambda x: x.max(0)),
        ("min(%x)", lambda x: x.min()),
        ("argmax(%x, axis=[1])", lambda x: x.argmax(1)),
        ("argmin(%x, axis=[1])", lambda x: x.argmin(1)),
        ("argmax(%x, axis=[0], select_last_index=True)", lambda x: len(x) - 1 - x[::-1].argmax(0)),
        ("sort(%x)", lambda x: np.sort(x, 1)),
        ("sort(%x, is_ascend=False)", lambda x: np.sort(x, 1)[:, ::-1]),
        ('argsort(%x, dtype="int32")', lambda x: np.argsort(x, 1, kind="stable")),
        ('topk(%x, k=3, ret_type="values", dtype="int32")', lambda x: np.sort(x, 1)[:, :-4:-1]),
        ("nn.relu(%x)", lambda x: np.maximum(x, 0)),
        ("nn.softmax(%x)", None),
    ],
)
def test_rows(text: str, function, dtype: str, vector: bool) -> None:
    x = data(dtype)
    want, got = both(text, x, vector)
    if function is None:
        assert (np.isnan(want) == np.isnan(got)).all()
        assert np.allclose(want, got, atol=1e-3, equal_nan=True)
        return
    np.testing.assert_array_equal(want, function(x))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("vector", [True, False], ids=["vector", "scalar"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    "text",
    [
        "nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])",
        "nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2])",
        "nn.max_pool2d(%x, pool_size=[3, 3], padding=[1, 1, 1, 1])",
        "nn.global_max_pool2d(%x)",
        "nn.adaptive_max_pool2d(%x, output_size=[3, 3])",
    ],
)
def test_a_window_with_nan_has_no_largest_element(text: str, dtype: str, vector: bool) -> None:
    x = np.random.default_rng(1).standard_normal((1, 4, 21, 21)).astype(dtype)
    for n in range(4):
        x[0, n, 5 * n, 3 * n + 1] = x[0, n, n, 20 - 5 * n] = NAN
    want, got = both(text, x, vector)
    assert np.isnan(want).any()
    np.testing.assert_array_equal(got, want)


EDGES = [
    NAN,
    INF,
    -INF,
    1e30,
    -1e30,
    2.0**31,
    2.0**32,
    2.0**63,
    2.0**64,
    1.5 * 2.0**63,
    -1.5,
    -(2.0**31),
    -(2.0**63),
    300.7,
    255.9,
    -129.0,
]


@pytest.mark.parametrize("vector", [True, False], ids=["vector", "scalar"])
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("target", [f"{s}int{w}" for s in ("", "u") for w in (8, 16, 32, 64)])
def test_casts_of_what_does_not_fit(target: str, source: str, vector: bool) -> None:
    with np.errstate(over="ignore"):
        x = np.array(EDGES * 4, source)
    want, got = both(f'cast(%x, dtype="{target}")', x, vector)
    np.testing.assert_array_equal(got, want)
    assert want.dtype == target
    assert want[0] == {"int32": -(2**31), "int64": -(2**63), "uint64": 2**63}.get(target, 0)


@pytest.mark.usefixtures("keeps_denormals")
@pytest.mark.parametrize("name", ["log", "log2", "log10", "asinh", "acosh", "atanh"])
def test_logarithms_of_edges_under_the_sanitizer(name: str, tmp_path) -> None:
    x = np.array([NAN, -NAN, INF, -INF, 0.0, -0.0, 1e-45, -1e-45, -1.0, 3e38, -3e38, 1.0] * 4, np.float32)
    module = irtool.infer_types(irtool.parse(f"def @main(%x: Tensor[(48), float32]) {{ {name}(%x) }}"))
    assert run_all([(module, [x])], tmp_path) == 1
    want, got = both(f"{name}(%x)", x, True)
    np.testing.assert_allclose(got, want, rtol=1e-5)
