"""Integer inputs of ONNX's own node tests as constants of other lengths, ranks and values: imported or refused, nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from tests.frontends.onnx.refusals import refusal

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.promise("hostile models")

MOST = 16
"""Elements of an input that is taken for a list of numbers."""


def variants(array: np.ndarray) -> Iterator[np.ndarray]:
    """The list in other lengths, ranks and values."""
    line = array.ravel()
    yield from (
        line[:0],
        line[:-1],
        np.append(line, line.dtype.type(0)),
        np.concatenate([line] * 8),
        line.reshape(1, -1),
    )
    yield from (line * 0, line + 1, line * 0 + 100)
    if line.size:
        yield from (line[0], np.full(line.size, line[0]))
    if line.dtype.kind == "i":
        yield from (-line, line * 0 - 1, line * 0 - 2, line * 0 - 100)


def with_constants(model: Any, constants: dict[str, np.ndarray]) -> Any:
    """A copy of the model in which these inputs are initializers."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.input[:]
    copy.graph.input.extend(i for i in model.graph.input if i.name not in constants)
    copy.graph.initializer.extend(onnx.numpy_helper.from_array(a, name) for name, a in constants.items())
    return copy


def models() -> Iterator[tuple[str, Any]]:
    from onnx.backend.test.case.node import collect_testcases

    seen: Counter[tuple[str, str]] = Counter()
    for case in collect_testcases(None):
        model = case.model
        if model is None or len(model.graph.node) != 1 or not case.data_sets:
            continue
        values = {i.name: v for i, v in zip(model.graph.input, case.data_sets[0][0])}
        lists = {
            name: v
            for name, v in values.items()
            if isinstance(v, np.ndarray) and v.dtype.kind in "iu" and v.ndim <= 1 and v.size <= MOST
        }
        for name, array in lists.items():
            kind = (model.graph.node[0].op_type, name)
            seen[kind] += 1
            if seen[kind] > 3:
                continue
            for v in variants(array):
                changed = np.array(v, array.dtype)
                yield f"{case.name}: {name} = {changed.tolist()}", with_constants(model, {**lists, name: changed})


@pytest.mark.filterwarnings("ignore")
def test_constants_that_no_operator_has_are_refused() -> None:
    tried, wrong = Counter[str](), []
    for name, model in models():
        try:
            irtool.from_onnx(model)
            tried["imported"] += 1
        except IrError:
            tried["refused"] += 1
        except Exception as error:  # noqa: BLE001  # whatever else leaves is what the test looks for
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    assert wrong == []
    assert min(tried["imported"], tried["refused"]) > 300


REFUSED = {
    "an axis of Cumsum": ("net (float[3] x) => (float[3] y) { a = Constant <value_ints = [0, 0]> () y = CumSum(x, a) }", "one integer"),
    "trips": (
        "net (float[3] x) => (float[3] y) { n = Constant <value_ints = [2, 2]> ()"
        " y = Loop <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) { d = Identity(c) t = Add(s, s) }> (n, , x) }",
        "one integer"),
    "codes of Relay's reshape": (
        "net (float[2,3] x) => (float y) { s = Constant <value_ints = [-2, 3]> () y = Reshape(x, s) }", "no extent is below 0"),
    "more parts than outputs": (
        "net (float[4] x) => (float y, float z) { s = Constant <value_ints = [1, 1, 2]> () y, z = Split(x, s) }", "3 parts are given for 2"),
    "axes of a slice": (
        "net (float[4,4] x) => (float y) { b = Constant <value_ints = [1, 0]> () e = Constant <value_ints = [3, 2]> ()"
        " a = Constant <value_ints = [0, -2]> () y = Slice(x, b, e, a) }", "one axis twice"),
    "axes of a sum": (
        "net (float[4,4] x) => (float y) { a = Constant <value_ints = [0, -2]> () y = ReduceSum(x, a) }", "one axis twice"),
    "values of OneHot": (
        "net (int64[4] x) => (float y) { d = Constant <value_int = 3> () v = Constant <value_floats = [0.0, 1.0, 2.0]> ()"
        " y = OneHot(x, d, v) }", "the values of OneHot"),
    "images of regions": (
        "net (float[1,1,4,4] x, float[1,4] r) => (float y) { i = Constant <value_int = 0> () y = RoiAlign(x, r, i) }", "rank must be 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    text, words = REFUSED[name]
    assert words in refusal(text)
