"""Elements written where indices say, with every reduction, against ONNX's own evaluator or by hand."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from tests.frontends.onnx.agreement import check, evaluated, parse

pytest.importorskip("onnx")

pytestmark = pytest.mark.promise("networks in ONNX")

ELEMENTS = """net (float[3,4] x, float[2,3] u) => (float[3,4] y) {{
    i = Constant<value = int64[2,3] {{0, 3, 3, -1, -4, 1}}>()
    y = ScatterElements<axis={axis}, reduction="{reduction}">(x, i, u) }}"""
SLICES = """net (float[3,4] x, float[3,4] u) => (float[3,4] y) {{
    i = Constant<value = int64[3,1] {{2, 0, -1}}>()
    y = ScatterND<reduction="{reduction}">(x, i, u) }}"""


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_elements(reduction: str, axis: int) -> None:
    check(ELEMENTS.format(reduction=reduction, axis=axis), 18)


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_slices(reduction: str) -> None:
    check(SLICES.format(reduction=reduction), 18)


def test_what_is_not_combined_is_overwritten() -> None:
    check(ELEMENTS.format(reduction="none", axis=1).replace("0, 3, 3, -1, -4, 1", "0, 3, 2, -1, -4, 1"), 18)
    check(SLICES.format(reduction="none").replace("2, 0, -1", "1, 0, -1"), 18)


@pytest.mark.parametrize("graph", [ELEMENTS.format(reduction="first", axis=1), SLICES.format(reduction="first")])
def test_other_reductions_are_refused(graph: str) -> None:
    with pytest.raises(IrError, match="reduction is first"):
        irtool.from_onnx(parse(graph, 18))


@pytest.mark.parametrize(
    ("mode", "starts", "expected"),
    [("linear", [0, 3], [[7, 8, 0, 0, 0], [0, 0, 0, 7, 8]]), ("circular", [1, 4], [[0, 7, 8, 0, 0], [8, 0, 0, 0, 7]])],
)
def test_new_entries_of_a_cache(mode: str, starts: list[int], expected: list[list[int]]) -> None:
    graph = f"""net (float[2,5,1] c, float[2,2,1] u, int64[2] w) => (float[2,5,1] y) {{
        y = TensorScatter<mode="{mode}">(c, u, w) }}"""
    update = np.array([[[7], [8]]] * 2, "float32")
    inputs = {"c": np.zeros((2, 5, 1), "float32"), "u": update, "w": np.array(starts)}
    (actual,) = evaluated(parse(graph, 24), inputs)
    np.testing.assert_array_equal(actual[..., 0], expected)
