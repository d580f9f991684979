"""Transposed convolutions of any geometry, of data and weights that are infinite here and there: C is the interpreter."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import irtool
from irtool.infer import infer_types
from irtool.ir import Function, Module, Tuple, Var
from irtool.ops import call, operators
from tests.ops.layers import convolutions, type_of

pytestmark = pytest.mark.promise("NaN and overflow")


@pytest.mark.parametrize("vector", [True, False], ids=["vector", "scalar"])
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), phases=["generate"])
@given(st.data())
def test_only_taps_that_exist_are_multiplied(vector: bool, data) -> None:
    cases = [data.draw(convolutions().filter(lambda c: c[0].endswith("transpose"))) for _ in range(12)]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    params, results, inputs, expected = [], [], [], []
    for name, arguments, attributes in cases:
        for x, share in zip(arguments, (0.05, 0.05), strict=True):
            x[rng.random(x.shape) < share * rng.integers(0, 2)] = rng.choice([np.inf, -np.inf, np.nan])
        mine = [Var(f"x{len(params)}", type_of(arguments[0])), Var(f"w{len(params)}", type_of(arguments[1]))]
        params += mine
        inputs += arguments
        results.append(call(name, *mine, **attributes))
        with np.errstate(all="ignore"):
            expected.append(operators.get(name).make(attributes).evaluate(*arguments))
    module = infer_types(Module({"main": Function(tuple(params), Tuple(tuple(results)))}))
    got = irtool.build(module, vector=vector, opt_level=0, cflags="-O0").run(inputs)
    for case, want, out in zip(cases, expected, got, strict=True):
        np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-4, err_msg=f"{case[0]} {case[2]}")
    assert any(np.isinf(w).any() for w in expected)


def test_infinite_data_reaches_what_its_taps_reach() -> None:
    x = np.ones((1, 1, 3), np.float32)
    x[0, 0, 1] = np.inf
    text = (
        "def @main(%x: Tensor[(1, 1, 3), float32], %w: Tensor[(1, 1, 3), float32])"
        " { nn.conv1d_transpose(%x, %w, strides=[2], channels=1, kernel_size=[3]) }"
    )
    module = infer_types(irtool.parse(text))
    w = np.ones((1, 1, 3), np.float32)
    want = [1, 1, np.inf, np.inf, np.inf, 1, 1]
    assert irtool.evaluate(module, [x, w]).ravel().tolist() == want
    assert irtool.build(module).run([x, w]).ravel().tolist() == want


SINGLE_TAPS = {
    "a kernel of 3 x 2": ((4, 2), {"strides": (2, 2), "padding": [1, 0, 1, 0], "kernel_size": (3, 2)}),
    "a kernel of 2 x 3": ((3, 3), {"strides": (2, 2), "padding": [0, 1, 0, 0], "kernel_size": (2, 3)}),
    "longer strides": (
        (3, 4),
        {"strides": (3, 2), "padding": [1, 1, 1, 1], "kernel_size": (4, 3), "output_padding": (1, 0)},
    ),
    "one dimension": ((5,), {"strides": (2,), "padding": [1, 1], "kernel_size": (3,)}),
    "three dimensions": ((2, 3, 2), {"strides": (1, 2, 3), "padding": [0, 0, 1, 0, 0, 1], "kernel_size": (1, 3, 3)}),
}
"""Geometries with phases of one tap beside others of several."""


@pytest.mark.parametrize("vector", [True, False], ids=["vector", "scalar"])
@pytest.mark.parametrize("case", SINGLE_TAPS)
def test_phases_of_one_tap_read_the_data_that_others_read(case: str, vector: bool) -> None:
    size, attributes = SINGLE_TAPS[case]
    name = f"nn.conv{len(size)}d_transpose"
    attributes = {**attributes, **({"kernel_layout": "IOHW"} if len(size) == 2 else {})}
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 1, *size)).astype("float32")
    w = rng.standard_normal((1, 3, *attributes["kernel_size"])).astype("float32")
    x.flat[1], w.flat[-1] = np.inf, np.nan
    params = (Var("x", type_of(x)), Var("w", type_of(w)))
    module = infer_types(Module({"main": Function(params, call(name, *params, channels=3, **attributes))}))
    with np.errstate(all="ignore"):
        expected = np.asarray(irtool.evaluate(module, [x, w]))
    actual = irtool.build(module, vector=vector).run([x, w])
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)
