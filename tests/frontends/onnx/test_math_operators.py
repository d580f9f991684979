"""Arithmetic, shapes and indices of ONNX where shapes or bounds are known only when the program runs, and at the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError

onnx = pytest.importorskip("onnx")

from tests.frontends.onnx.agreement import check, parse  # noqa: E402

rng = np.random.default_rng(3)


def run(graph: str, opset: int = 21, **inputs: Any) -> Any:
    """What irtool gives for inputs whose extents the model leaves open, once it agrees with ONNX's own evaluator."""
    from onnx.reference import ReferenceEvaluator

    model = parse(graph, opset)
    expected = ReferenceEvaluator(model).run(None, inputs)
    module, params = irtool.from_onnx(model)
    assert "?" in irtool.to_text(module)
    actual = irtool.evaluate(module, {**inputs, **params})
    for f, w in zip(actual if isinstance(actual, tuple) else (actual,), expected, strict=True):
        assert f.dtype == w.dtype
        np.testing.assert_allclose(f, w, 1e-5, 1e-6)
    return module


def floats(*shape: int) -> Any:
    return rng.standard_normal(shape).astype("float32")


@pytest.mark.promise("mathematics in ONNX")
@pytest.mark.parametrize(
    ("a", "b", "left", "right"),
    [
        ("N, 4, 3, 5", "N, 4, 5, 2", (2, 4, 3, 5), (2, 4, 5, 2)),
        ("N, 1, S, 5", "1, 4, 5, S", (2, 1, 3, 5), (1, 4, 5, 3)),
        ("N, S, 5", "5, 7", (2, 3, 5), (5, 7)),
        ("S, 5", "N, 5, 7", (3, 5), (2, 5, 7)),
        ("N, 3, 5", "5", (2, 3, 5), (5,)),
    ],
)
def test_products_whose_batches_are_not_known(a: str, b: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    run(f"net (float[{a}] a, float[{b}] b) => (float[M] y) {{ y = MatMul(a, b) }}", a=floats(*left), b=floats(*right))


@pytest.mark.promise("mathematics in ONNX")
def test_bounds_that_the_program_computes() -> None:
    x = floats(5, 6)
    graph = "net (float[5, 6] x, int64[1] s, int64[1] e) => (float[5, M] y) { a = Constant <value_ints = [-1]> () y = Slice(x, s, e, a) }"
    run(graph, x=x, s=np.array([-4]), e=np.array([100]))
    run("net (float[N, 1] x, int64[2] s) => (float[N, M] y) { y = Expand(x, s) }", x=floats(3, 1), s=np.array([1, 4]))
    run(
        "net (float[N, 6] x, int64[2, 2] i) => (float[2, 2, 6] y) { y = Gather(x, i) }",
        x=x,
        i=np.array([[-1, 0], [4, -5]]),
    )
    run("net (float[N, 6] x, int64[1] k) => (float[N, K] y, int64[N, K] i) { y, i = TopK(x, k) }", x=x, k=np.array([2]))
    run("net (bool[N] x) => (int64[1, M] y) { y = NonZero(x) }", x=np.array([True, False, True]))
    run("net (float[N, 2, 3] x) => (float[N, 6] y) { y = Flatten(x) }", x=floats(4, 2, 3))


@pytest.mark.promise("mathematics in ONNX")
@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_borders_wider_than_the_tensor_and_below_zero(mode: str) -> None:
    """A width below 0 crops before the others are added (ONNX's own evaluator has none of these)."""
    x = floats(3, 5)
    model = parse(
        f"""net (float[3, 5] x) => (float[A, B] y) {{
            pads = Constant <value_ints = [4, -1, 7, 3]> ()
            y = Pad <mode = "{mode}"> (x, pads)
        }}""",
        21,
    )
    expected = np.pad(x[:, 1:], ((4, 7), (0, 3)), mode)  # type: ignore[call-overload]
    np.testing.assert_array_equal(irtool.evaluate(irtool.from_onnx(model)[0], [x]), expected)


@pytest.mark.promise("mathematics in ONNX")
@pytest.mark.parametrize(
    "nodes",
    [
        "low = Constant <value_float = 2.0> () high = Constant <value_float = -1.0> () y = Clip(x, low, high)",
        "y = ReduceLogSumExp <keepdims = 0> (x)",
        "a = Constant <value_ints = [1]> () s = ReduceSumSquare <keepdims = 0> (x, a) y = Sqrt(s)",
        "d = Det(x) y = Identity(d)",
        "y = Mod <fmod = 1> (x, x)",
        "h = Constant <value_float = 0.5> () z = Mul(x, h) y = Round(z)",
        "y = Trilu <upper = 0> (x)",
        "i = Constant <value = int64[2, 2] {0, -1, -2, 2}> () y = GatherND(x, i)",
        "i = Constant <value = int64[2, 1] {0, -1}> () n = NonZero(x) t = Transpose <perm = [1, 0]> (n) y = GatherND(t, i)",
        "a = Constant <value_int = -1> () y = CumSum <exclusive = 1, reverse = 1> (x, a)",
    ],
)
def test_edges_agree_with_onnx(nodes: str) -> None:
    """Ranges in the wrong order, pivots, halves, indices from the end."""
    check(f"net (float[4, 4] x) => (float[N] y) {{ {nodes} }}", 21)


@pytest.mark.promise("mathematics in ONNX")
@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("i = Constant <value_ints = [9]> () y = Gather(x, i)", "out of range"),
        ("y = Transpose <perm = [0, 0]> (x)", "no order of 2 axes"),
        ('y = BitShift <direction = "UP"> (x, x)', ""),
        ("k = Constant <value_ints = [9]> () y, i = TopK(x, k)", "9 elements are wanted"),
    ],
)
def test_what_contradicts_itself_is_refused(nodes: str, message: str) -> None:
    with pytest.raises(IrError) as caught:
        irtool.from_onnx(parse(f"net (float[4, 4] x) => (float[N, M] y) {{ {nodes} }}", 21))
    assert message in str(caught.value)
    assert caught.value.diagnostics[0].code is not None


@pytest.mark.promise("mathematics in ONNX")
@pytest.mark.parametrize("opset", [17, 20])
def test_a_fourier_transform_of_which_nothing_is_said_goes_forward(opset: int) -> None:
    check("net (float[2, 6, 2] x) => (float[2, 6, 2] y) { y = DFT(x) }", opset)
    check("net (float[2, 6, 1] x) => (float[2, 4, 2] y) { y = DFT<onesided = 1>(x) }", opset)
    check("net (float[2, 6, 2] x) => (float[2, 6, 2] y) { y = DFT<inverse = 1>(x) }", opset)


@pytest.mark.promise("mathematics in ONNX")
def test_distinct_elements_of_a_constant_are_found_when_importing() -> None:
    constant = "c = Constant <value_ints = [3, 1, 3, 2]> () y, f, w, n = Unique(c)"
    folded = check(f"net (float[1] x) => (int64[M] y, int64[M] f, int64[4] w, int64[M] n) {{ {constant} }}")
    assert "unique(" not in irtool.to_text(folded)
    computed = check("net (float[4] x) => (float[M] y, int64[M] f, int64[4] w, int64[M] n) { y, f, w, n = Unique(x) }")
    assert "unique(" in irtool.to_text(computed)
