"""Operators of every dtype in ONNX Runtime: exactly what the interpreter gives, or a clear refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import InternalError, IrError
from irtool.exports import Request
from irtool.exports.onnx.format import Onnx
from irtool.ir.values import value_leaves
from tests.peers.onnx_cases import run

pytestmark = pytest.mark.promise("networks in ONNX")

DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)
TWO = ("add", "subtract", "multiply", "divide", "floor_divide", "floor_mod", "mod", "maximum", "minimum", "equal", "not_equal",
       "less", "less_equal", "greater", "greater_equal")  # fmt: skip
ONE = ("negative", "abs", "sign", "nn.relu", "max(%x, axis=[1])", "min(%x, axis=[0])", "argmax(%x, axis=[1])", "sum(%x, axis=[1])",
       "sort(%x)", "argsort(%x)", "topk(%x, k=2)", "trilu(%x, 0i64)", "cumsum(%x, axis=1)", "transpose(%x, axes=[1, 0])",
       "where(%c, %x, %y)", "tile(%x, reps=[2, 1])", "unique(reshape(%x, newshape=[-1]))",
       "nn.max_pool2d(reshape(%x, newshape=[1, 1, 3, 4]), pool_size=[2, 2])",
       "nn.avg_pool2d(reshape(%x, newshape=[1, 1, 3, 4]), pool_size=[2, 2])")  # fmt: skip


def values(dtype: str, seed: int) -> Any:
    """Numbers of which many are equal, the least and the largest, and neighbours beyond what other types hold."""
    rng = np.random.default_rng(seed)
    array = rng.integers(0 if dtype[0] in "ub" else -3, 2 if dtype == "bool" else 4, (3, 4)).astype(dtype)
    if dtype[0] in "ui":
        info = np.iinfo(dtype)
        ends = np.array([info.min, info.max, info.max - 1, info.max // 2 + 1, info.max // 2 + 2], dtype)
        array.ravel()[rng.permutation(12)[:5]] = ends
    elif dtype != "bool":
        array.ravel()[:3] = [0.25, -0.5, 0.25]
    return array


def verdict(call: str, dtype: str) -> str:
    """What differs; empty for nothing, and for a refusal."""
    call = call if "(" in call else f"{call}(%x, %y)" if call in TWO else f"{call}(%x)"
    t = f"Tensor[(3, 4), {dtype}]"
    text = f'#[version = "0.0.5"]\ndef @main(%x: {t}, %y: {t}, %c: Tensor[(3, 4), bool]) {{ {call} }}'
    inputs = {"x": values(dtype, 0), "y": values(dtype, 1), "c": np.arange(12).reshape(3, 4) % 3 > 0}
    try:
        module = irtool.infer_types(irtool.parse(text))
        expected = value_leaves(irtool.evaluate(module, inputs))
        model, _ = Onnx().model(module, Request("case.onnx", "main", {}))
    except InternalError:
        raise
    except IrError:
        return ""
    try:
        results = run(model, inputs)
    except Exception as error:  # noqa: BLE001 - the classes of the runtime's errors are not public
        return f"{call} of {dtype}: {str(error)[:160]}"
    for got, want in zip(results, map(np.asarray, expected), strict=True):
        exact = got.dtype == want.dtype and np.array_equal(got, want, equal_nan=want.dtype.kind == "f")
        close = want.dtype.kind == "f" and np.allclose(got, want, 1e-3, 1e-3, equal_nan=True)
        if not exact and not close:
            return f"{call} of {dtype}: {got.ravel()} for {want.ravel()}"
    return ""


@pytest.mark.parametrize("call", (*TWO, *ONE))
@pytest.mark.filterwarnings("ignore")
def test_values_of_every_dtype(call: str, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--peers"):
        pytest.skip("needs --peers")
    pytest.importorskip("onnxruntime")
    assert not [w for d in DTYPES if (w := verdict(call, d))]
