"""Zeros of either sign, infinities, NaN and the largest numbers: numpy, the interpreter and C have the same, signs of zeros included."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ops.conversion import convert

VALUES = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 0.25, -0.25, 7.0, -7.0, 100.0, np.inf, -np.inf, np.nan, 6e4, -6e4]
)
IN_NUMPY = {
    "abs": np.abs, "negative": np.negative, "sqrt": np.sqrt, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc,
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "rsqrt": lambda x: 1 / np.sqrt(x), "copy": np.copy,
}  # fmt: skip
OTHERS = ("erf", "sigmoid", "sign", "round", "nn.relu", "logical_not", "isnan", "isinf", "isfinite")
IN_NUMPY_OF_TWO = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "power": np.power,
    "mod": np.fmod, "equal": np.equal, "less": np.less, "greater_equal": np.greater_equal,
}  # fmt: skip
OTHERS_OF_TWO = ("maximum", "minimum", "floor_divide", "not_equal", "greater", "less_equal")
MORE = ("subtract(%x, %x)", "multiply(%x, ONE)", "divide(ONE, %x)", "add(%x, ZERO)", "subtract(ZERO, %x)")
UNITS = {"float16": 2.0**-8, "bfloat16": 2.0**-5, "float32": 2.0**-21, "float64": 2.0**-50}
"""Four units in the last place and more, relative."""


def module_of(dtype: str) -> tuple[irtool.Module, list[str]]:
    one = [f"{name}(%x)" for name in (*IN_NUMPY, *OTHERS)]
    two = [f"{name}(%a, %b)" for name in (*IN_NUMPY_OF_TWO, *OTHERS_OF_TWO)]
    numbers = {"ONE": "-1f", "ZERO": "0f"}
    more = [
        m.replace(k, f'cast({v}, dtype="{dtype}")') for m in MORE for k, v in numbers.items() if k in m or m is MORE[0]
    ]
    count = len(VALUES)
    params = f"%x: Tensor[({count}), {dtype}], %a: Tensor[({count}, {count}), {dtype}], %b: Tensor[({count}, {count}), {dtype}]"
    calls = [*one, *two, *more]
    text = f'#[version = "0.0.5"]\ndef @main({params}) {{\n  ({", ".join(calls)})\n}}'
    return irtool.infer_types(irtool.parse(text)), calls


def assert_same(got, want, dtype: str, about: str) -> None:
    got, want = np.asarray(got), np.asarray(want)
    if want.dtype.kind == "b":
        np.testing.assert_array_equal(got, want, err_msg=about)
        return
    got, want = got.astype("float64"), want.astype("float64")
    np.testing.assert_allclose(got, want, rtol=UNITS[dtype], atol=0, equal_nan=True, err_msg=about)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers], err_msg=f"signs: {about}")


@pytest.mark.parametrize("dtype", list(UNITS))
def test_numpy_interpreter_and_c_agree(dtype):
    x = convert(VALUES, dtype)
    a, b = np.meshgrid(x, x, indexing="ij")
    module, calls = module_of(dtype)
    expected = irtool.evaluate(module, [x, a, b])
    with np.errstate(all="ignore"):
        for about, want in zip(calls, expected, strict=True):
            name = about.partition("(")[0]
            if name in IN_NUMPY and "%x)" in about and "," not in about:
                assert_same(want, convert(IN_NUMPY[name](x.astype("float64")), dtype), dtype, f"numpy: {about}")
            if name in IN_NUMPY_OF_TWO and about.endswith("(%a, %b)"):
                exact = IN_NUMPY_OF_TWO[name](a.astype("float64"), b.astype("float64"))
                assert_same(want, exact if exact.dtype == "bool" else convert(exact, dtype), dtype, f"numpy: {about}")
    for vector in (True, "none"):
        for about, got, want in zip(calls, irtool.build(module, vector=vector).run([x, a, b]), expected, strict=True):
            assert_same(got, want, dtype, f"C, vector={vector}: {about}")
