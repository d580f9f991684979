"""Integer powers wrap modulo 2^n, in the interpreter and in C."""

import numpy as np
import pytest

import irtool
from tests.driver.sanitizers import run_all

pytestmark = pytest.mark.promise("NaN and overflow")


def wrapped(a: int, b: int, dtype: np.dtype) -> int:
    if b < 0:
        return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)
    bits = dtype.itemsize * 8
    value = pow(a, b, 1 << bits)
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


@pytest.mark.parametrize("dtype", [f"{s}int{w}" for s in ("", "u") for w in (8, 16, 32, 64)])
def test_every_pair_of_edges(dtype: str) -> None:
    ends = np.iinfo(dtype)
    values = [
        v
        for v in (ends.min, ends.min + 1, -3, -2, -1, 0, 1, 2, 3, 7, 31, 63, 64, ends.max - 1, ends.max)
        if v >= ends.min
    ]
    a, b = (np.array(x, dtype).ravel() for x in np.meshgrid(np.array(values, dtype), np.array(values, dtype)))
    text = f"def @main(%a: Tensor[({a.size}), {dtype}], %b: Tensor[({a.size}), {dtype}]) {{ power(%a, %b) }}"
    module = irtool.infer_types(irtool.parse(text))
    want = np.array([wrapped(int(x), int(y), np.dtype(dtype)) for x, y in zip(a, b, strict=True)], dtype)
    np.testing.assert_array_equal(irtool.evaluate(module, [a, b]), want)
    for vector in (True, False):
        np.testing.assert_array_equal(irtool.build(module, vector=vector).run([a, b]), want)


def test_powers_under_the_sanitizer(tmp_path) -> None:
    cases = []
    for dtype in ("int8", "uint16", "int32", "int64"):
        text = f"def @main(%a: Tensor[(9), {dtype}], %b: Tensor[(9), {dtype}]) {{ power(%a, %b) }}"
        ends = np.iinfo(dtype)
        x = np.array([0, 1, 2, 3, 100, ends.min, ends.max, ends.max - 1, ends.min + 1], dtype)
        cases += [(irtool.parse(text), [x, x[::-1].copy()]), (irtool.parse(text), [x, x])]
    assert run_all(cases, tmp_path) == len(cases)
