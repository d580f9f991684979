"""Random operators draw numbers that follow from the model, of the distribution that it says, and the user is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.frontends.onnx.mistakes import DrawnNumbers

onnx = pytest.importorskip("onnx")

from tests.frontends.onnx.agreement import parse  # noqa: E402

pytestmark = pytest.mark.promise("mathematics in ONNX")


def drawn(graph: str, *inputs: Any, compiled: bool = False) -> list[Any]:
    """The outputs of a model; it is a fault if nobody is told that they are random."""
    diagnostics: list[Any] = []
    module, params = irtool.from_onnx(parse(graph, 22), say=diagnostics.append)
    assert [(d.code, d.level) for d in diagnostics] == [(DrawnNumbers, "warning")]
    run = irtool.build(module, params).run if compiled else lambda x: irtool.evaluate(module, x)
    results = run(list(inputs))
    return list(results) if isinstance(results, tuple | list) else [results]


@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_are_of_the_distribution(compiled: bool) -> None:
    graph = """net (float[100, 100] x, double[4, 3] l) => (float16[100, 100] n, double[10000] u, float[100, 100] b, int64[4, 3000] m) {
        n = RandomNormalLike <dtype = 10, mean = 3.0, scale = 2.0> (x)
        u = RandomUniform <dtype = 11, low = -1.0, high = 5.0, shape = [10000]> ()
        b = Bernoulli(x)
        m = Multinomial <dtype = 7, sample_size = 3000> (l)
    }"""
    chances = np.array([[0.2, 0.3, 0.5], [1, 0, 0], [0, 0, 1], [0.9, 0.05, 0.05]])
    with np.errstate(divide="ignore"):
        logs = np.log(chances) + 5
    n, u, b, m = drawn(graph, np.full((100, 100), 0.3, "float32"), logs, compiled=compiled)
    assert [a.dtype for a in (n, u, b, m)] == ["float16", "float64", "float32", "int64"]
    assert abs(n.astype("float64").mean() - 3) < 0.1 and abs(n.astype("float64").std() - 2) < 0.1
    assert -1 <= u.min() < -0.99 and 4.99 < u.max() < 5 and abs(u.mean() - 2) < 0.1
    assert set(np.unique(b)) == {0, 1} and abs(b.mean() - 0.3) < 0.02
    shares = np.stack([(m == k).mean(1) for k in range(3)], 1)
    np.testing.assert_allclose(shares, chances, atol=0.04)


@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_of_a_shape_that_is_known_at_run_time(compiled: bool) -> None:
    """As VITS draws noise for as many frames as the text takes."""
    graph = """net (float[N, M] x) => (float16[N, M] n, double[N, M] u, bool[N, M] b, float[N, M] other) {
        n = RandomNormalLike <dtype = 10, mean = 3.0, scale = 2.0> (x)
        u = RandomUniformLike <dtype = 11, low = -1.0, high = 5.0> (x)
        b = Bernoulli <dtype = 9> (x)
        other = RandomNormalLike(x)
    }"""
    n, u, b, other = drawn(graph, np.full((100, 90), 0.3, "float32"), compiled=compiled)
    assert [a.dtype for a in (n, u, b, other)] == ["float16", "float64", "bool", "float32"]
    assert {a.shape for a in (n, u, b, other)} == {(100, 90)}
    assert abs(n.astype("float64").mean() - 3) < 0.1 and abs(n.astype("float64").std() - 2) < 0.1
    assert -1 <= u.min() < -0.99 and 4.99 < u.max() < 5 and abs(u.mean() - 2) < 0.1
    assert abs(b.mean() - 0.3) < 0.02
    rows = [n.astype("float64").ravel(), u.ravel(), other.ravel(), other.ravel()[::-1], np.roll(other.ravel(), 1)]
    assert np.abs(np.corrcoef(rows) - np.eye(5)).max() < 0.05
    fewer = drawn(graph, np.full((7, 3), 0.3, "float32"), compiled=compiled)
    np.testing.assert_array_equal(fewer[1].ravel(), u.ravel()[:21])


def test_seeds_are_what_numbers_follow_from() -> None:
    graph = """net (float[8] x) => (float[8] a, float[8] b, float[8] c, float[8] d, float[8] e, float[8] f) {
        a = RandomNormalLike(x)
        b = RandomNormalLike(x)
        c = RandomNormalLike <seed = 1.0> (x)
        d = RandomNormalLike <seed = 1.0> (x)
        e = RandomNormalLike <seed = 1.5> (x)
        f = RandomNormalLike <seed = -1.0> (x)
    }"""
    x = np.zeros(8, "float32")
    results = drawn(graph, x)
    a, b, c, d, e, f = (tuple(v.tolist()) for v in results)
    assert c == d and len({a, b, c, e, f}) == 5
    for again, first in zip(drawn(graph, x), results, strict=True):
        np.testing.assert_array_equal(again, first)


def test_python_warns_once_for_all_nodes() -> None:
    nodes = " ".join(f"y{i} = RandomNormalLike(x)" for i in range(3))
    with pytest.warns(
        UserWarning, match="3 nodes draw random numbers, the same ones in every run: y0, y1, y2"
    ) as warnings:
        irtool.from_onnx(parse(f"net (float[2] x) => (float[2] y0, float[2] y1, float[2] y2) {{ {nodes} }}"))
    assert len(warnings) == 1 and warnings[0].filename == __file__


def test_what_nothing_depends_on_is_not_drawn(recwarn: pytest.WarningsRecorder) -> None:
    irtool.from_onnx(parse("net (float[2] x) => (float[2] y) { n = RandomNormalLike(x) y = Relu(x) }"))
    assert not recwarn


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("net (float[N, 3] x) => (int32[N, 1] y) { y = Multinomial(x) }", "its extents must be known"),
        ("net (float[2] x) => (int32[2] y) { y = RandomUniformLike <dtype = 8> (x) }", "string"),
        ("net () => (float[N] y) { y = RandomUniform <shape = [-1]> () }", "has the shape (-1)"),
        ("net (float[2, 0] x) => (int32[2, 1] y) { y = Multinomial(x) }", "no classes"),
    ],
)
def test_what_cannot_be_drawn_is_refused(graph: str, message: str) -> None:
    with pytest.raises(IrError, match=message.replace("(", "\\(").replace(")", "\\)")):
        irtool.from_onnx(parse(graph, 22))
