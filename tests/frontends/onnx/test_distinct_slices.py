"""`Unique` along an axis of a tensor that only the run knows: what numpy gives."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

onnx = pytest.importorskip("onnx")


def model(shape: tuple[int, ...], axis: int, ascending: int, dtype: str) -> onnx.ModelProto:
    extents = ", ".join(map(str, shape))
    element = {"float32": "float", "int32": "int32"}[dtype]
    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]>\n'
        f"net ({element}[{extents}] x) => ({element}[a] y, int64[b] first, int64[c] which, int64[d] counts) "
        f"{{ y, first, which, counts = Unique<axis = {axis}, sorted = {ascending}>(x) }}"
    )


def distinct_slices(x: np.ndarray, axis: int, ascending: int) -> list[np.ndarray]:
    values, first, which, counts = np.unique(x, True, True, True, axis)
    if ascending:
        return [values, first, which.ravel(), counts]
    order = np.argsort(first)
    return [np.take(values, order, axis), first[order], np.argsort(order)[which.ravel()], counts[order]]


@pytest.mark.parametrize("ascending", [0, 1])
@pytest.mark.parametrize(("shape", "axis"), [((7, 2), 0), ((2, 9), 1), ((3, 6, 2), 1), ((5, 3), -2), ((1, 4), 0)])
def test_slices_are_those_of_numpy(shape: tuple[int, ...], axis: int, ascending: int) -> None:
    for seed, dtype in ((0, "float32"), (1, "int32")):
        module, _ = irtool.from_onnx(model(shape, axis, ascending, dtype))
        x = np.random.default_rng(seed).integers(-1, 2, shape).astype(dtype)
        for actual, expected in zip(
            irtool.evaluate(module, [x]), distinct_slices(x, axis % x.ndim, ascending), strict=True
        ):
            np.testing.assert_array_equal(actual, expected)


def test_a_build_gives_the_same(quick_compiles: None) -> None:
    module, _ = irtool.from_onnx(model((6, 2), 0, 1, "float32"))
    x = np.random.default_rng(3).integers(0, 2, (6, 2)).astype("float32")
    results = irtool.build(module).run([x])
    for actual, expected in zip(results, distinct_slices(x, 0, 1), strict=True):
        np.testing.assert_array_equal(actual, expected)
