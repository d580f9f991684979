"""Activations over their whole range, both signs, against double precision: relative to what they give, tails included."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

onnx = pytest.importorskip("onnx")


def softplus(x):
    return np.logaddexp(0, x)


def gelu(x):
    from irtool.ops.erf import erfc

    return x * erfc(-np.asarray(x, "float64") * np.sqrt(0.5)) / 2


def gelu_by_tanh(x):
    return x / (
        1 + np.exp(-2 * np.sqrt(np.longdouble(2) / np.longdouble("3.14159265358979323846")) * (x + 0.044715 * x**3))
    )


ACTIVATIONS = {
    "Softplus": (softplus, {}),
    "Mish": (lambda x: x * np.tanh(softplus(x)), {}),
    "Elu": (lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x), {}),
    "Selu": (
        lambda x: (
            1.05070102214813232421875 * np.where(x < 0, 1.67326319217681884765625 * np.expm1(np.minimum(x, 0)), x)
        ),
        {},
    ),
    "Celu": (lambda x: np.where(x < 0, 2 * np.expm1(np.minimum(x, 0) / 2), x), {"alpha": 2.0}),
    "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), {}),
    "Softsign": (lambda x: x / (1 + np.abs(x)), {}),
    "Tanh": (np.tanh, {}),
    "Gelu": (gelu, {}),
    "com.microsoft.Gelu": (gelu, {}),
    "Gelu tanh": (gelu_by_tanh, {"approximate": "tanh"}),
    "com.microsoft.FastGelu": (gelu_by_tanh, {}),
    "Swish": (lambda x: x / (1 + np.exp(-x)), {}),
    "com.microsoft.QuickGelu": (lambda x: x / (1 + np.exp(-1.702 * x)), {}),
}
GELU = {"Gelu", "com.microsoft.Gelu", "Gelu tanh", "com.microsoft.FastGelu", "com.microsoft.QuickGelu", "Swish"}
"""Functions like exp(-x² / 2): a relative step of x moves them by x² as much, and their factor may be flushed where x times it is not."""
BOUNDS = {"float32": 3e-6, "float64": 1e-14, "float16": 2e-3}
"""Relative errors: of compositions, of which each step is four units at most."""


def sweep(dtype: str) -> np.ndarray:
    """Magnitudes on a logarithmic scale, of both signs, and the ends; results down to the least normal number."""
    info = np.finfo(dtype)
    most = min(-np.log(float(info.tiny)) - 1, 80)
    sizes = np.concatenate([np.geomspace(max(float(info.tiny) * 8, 1e-30), most, 120), np.linspace(0.1, most, 60)])
    return np.concatenate([sizes, -sizes, [0.0, -0.0, float(info.max) / 8]]).astype(dtype)


def model_of(dtype: str, count: int):
    from onnx import TensorProto, helper

    kind = {"float16": TensorProto.FLOAT16, "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}[dtype]
    nodes = []
    for name, (_, attributes) in ACTIVATIONS.items():
        domain, _, kind_of = name.split()[0].rpartition(".")
        nodes.append(helper.make_node(kind_of, ["x"], [name.lower()], domain=domain, **attributes))
    out = [helper.make_tensor_value_info(n.lower(), kind, [count]) for n in ACTIVATIONS]
    graph = helper.make_graph(nodes, "tails", [helper.make_tensor_value_info("x", kind, [count])], out)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 24), helper.make_opsetid("com.microsoft", 1)]
    )


@pytest.mark.parametrize("dtype", list(BOUNDS))
def test_tails_of_activations(dtype):
    x = sweep(dtype)
    module, weights = irtool.from_onnx(model_of(dtype, len(x)))
    exact = x.astype("longdouble")
    ways = {"interpreter": irtool.evaluate(module, [x]), "C": irtool.build(module, params=weights).run([x])}
    if dtype == "float32":
        ways["scalar C"] = irtool.build(module, params=weights, vector="none").run([x])
    for way, got in ways.items():
        for (name, (function, _)), values in zip(ACTIVATIONS.items(), got, strict=True):
            with np.errstate(all="ignore"):
                want = function(exact)
            info = np.finfo(dtype)
            least = info.tiny * (128 if name in GELU else 1)
            most = BOUNDS[dtype] + (2 * np.minimum(np.abs(exact), 40) ** 2 * info.eps if name in GELU else 0)
            error = np.abs(values.astype("longdouble") - want) / np.maximum(np.abs(want), least)
            error = np.where((values == want.astype(dtype)) | (np.abs(want) < least), 0, error)
            worst = int(np.argmax(error - most))
            assert (error <= most).all(), (way, name, x[worst], values[worst], want[worst])


def test_reductions_of_float16_are_computed_in_float32():
    """Squares that float16 does not have, of results that it has."""
    from onnx import TensorProto, helper

    half = TensorProto.FLOAT16
    nodes = [
        helper.make_node("ReduceL2", ["x"], ["length"], keepdims=0),
        helper.make_node("MeanVarianceNormalization", ["x"], ["norm"]),
    ]
    out = [helper.make_tensor_value_info("length", half, []), helper.make_tensor_value_info("norm", half, [1, 2, 8, 8])]
    inputs = [helper.make_tensor_value_info("x", half, [1, 2, 8, 8])]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, out), opset_imports=[helper.make_opsetid("", 17)])
    x = np.random.RandomState(0).uniform(-3000, 4000, (1, 2, 8, 8)).astype("float16")
    module, weights = irtool.from_onnx(model)
    exact = x.astype("float64")
    centred = exact - exact.mean((0, 2, 3), keepdims=True)
    norm = centred / np.sqrt(np.square(centred).mean((0, 2, 3), keepdims=True))
    for length, got in (irtool.evaluate(module, [x]), irtool.build(module, params=weights).run([x])):
        np.testing.assert_allclose(float(length), np.sqrt(np.square(exact).sum()), rtol=1e-3)
        np.testing.assert_allclose(got.astype("float64"), norm, rtol=2e-3, atol=1e-4)
