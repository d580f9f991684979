"""Quantized operators of ONNX: what they become, and that the numbers are those that ONNX defines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError

pytest.importorskip("onnx")

HEAD = '<ir_version: 8, opset_import: ["": 21, "com.microsoft": 1]>\n'


def import_text(graph: str) -> tuple[Any, Any]:
    return irtool.from_onnx((HEAD + graph).encode())


def both(graph: str, **inputs: np.ndarray) -> Any:
    """The result on the interpreter, which C gives, too."""
    module, params = import_text(graph)
    interpreted = np.asarray(irtool.evaluate(module, {**inputs, **params}))
    built = np.asarray(irtool.build(module, params, opt_level=3, cflags="-O1").run(inputs))
    assert interpreted.dtype == built.dtype
    np.testing.assert_allclose(interpreted, built, rtol=1e-6, atol=1e-6)
    return interpreted


def listed(values: Any) -> str:
    return ", ".join(str(v) for v in np.ravel(values))


@pytest.mark.promise("ONNX quantization")
def test_scales_and_zero_points_are_constants_in_the_text() -> None:
    module, _ = import_text("""g (float[2, 3] x) => (float[2, 3] y)
        <float s = {0.5}, uint8 z = {3}, float[3] t = {1.0, 2.0, 4.0}, int8[3] u = {0, 1, 2}> {
            q = QuantizeLinear(x, s, z)
            d = DequantizeLinear(q, s, z)
            r = QuantizeLinear<axis = 1>(d, t, u)
            y = DequantizeLinear<axis = 1>(r, t, u)
        }""")
    text = irtool.to_text(module)
    assert "qnn.quantize(%x, 0.5f /* ty=float32 */, 3 /* ty=int32 */" in text
    assert len(module["main"].params) == 1
    assert text.count("meta[relay.Constant][") == 4 and "axis=1" in text


@pytest.mark.promise("ONNX quantization")
def test_quantized_convolution_is_that_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 256, (1, 2, 5, 5), "uint8"), rng.integers(-128, 128, (3, 2, 3, 3), "int8")
    bias, scales = np.array([100, -300, 5], "int32"), np.array([0.1, 0.2, 0.05], "float32")
    graph = f"""g (uint8[1, 2, 5, 5] x) => (uint8[1, 3, 3, 3] y) <
        float sx = {{0.25}}, uint8 zx = {{113}}, int8[3, 2, 3, 3] w = {{{listed(w)}}}, float[3] sw = {{{listed(scales)}}},
        int8[3] zw = {{0, 0, 0}}, float sy = {{7.0}}, uint8 zy = {{120}}, int32[3] b = {{{listed(bias)}}}> {{
            y = QLinearConv<strides = [2, 2], pads = [1, 1, 1, 1]>(x, sx, zx, w, sw, zw, sy, zy, b)
        }}"""
    data = np.pad(x.astype("int64") - 113, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(data, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    sums = np.einsum("nchwij,ocij->nohw", windows, w.astype("int64")) + bias[None, :, None, None]
    expected = np.clip(np.rint(sums * (0.25 * scales[None, :, None, None] / 7.0)) + 120, 0, 255)
    assert np.abs(both(graph, x=x).astype(int) - expected).max() == 0
    assert "qnn.conv2d" in str(import_text(graph)[0])


@pytest.mark.promise("ONNX quantization")
def test_convolutions_and_sums_are_rounded_as_one_product_in_float32() -> None:
    """Scales of small powers of two make many halves; others are next to halves often enough."""
    rng = np.random.default_rng(1)
    x, other = rng.integers(0, 256, (1, 16, 24, 24), "uint8"), rng.integers(0, 256, (1, 64, 24, 24), "uint8")
    w = rng.integers(-128, 128, (64, 16, 1, 1), "int8")
    scales = np.where(np.arange(64) % 2, rng.uniform(0.001, 0.01, 64), 2.0**-8).astype("float32")
    graph = f"""g (uint8[1, 16, 24, 24] x, uint8[1, 64, 24, 24] o) => (uint8[1, 64, 24, 24] y, uint8[1, 64, 24, 24] c) <
        float sx = {{0.25}}, uint8 zx = {{113}}, int8[64, 16, 1, 1] w = {{{listed(w)}}}, float[64] sw = {{{listed(scales)}}},
        int8[64] zw = {{{listed([0] * 64)}}}, float sy = {{0.5}}, uint8 zy = {{120}}, float so = {{0.37}}, float sc = {{0.75}}> {{
            c = QLinearConv(x, sx, zx, w, sw, zw, sy, zy)
            y = com.microsoft.QLinearAdd(c, sy, zy, o, so, zx, sc, zy)
        }}"""
    module, params = import_text(graph)
    inputs = {"x": x, "o": other}
    interpreted = irtool.evaluate(module, {**inputs, **params})
    built = irtool.build(module, params).run(inputs)
    sums = np.einsum("oc,nchw->nohw", w[:, :, 0, 0].astype("int32"), x.astype("int32") - 113)
    ratio = (np.float32(0.25) * scales / np.float32(0.5))[None, :, None, None]
    c = np.clip(np.rint(sums.astype("float32") * ratio) + 120, 0, 255)
    ratios = np.float32(0.5) / np.float32(0.75), np.float32(0.37) / np.float32(0.75)
    y = (c - 120).astype("float32") * ratios[0] + (other.astype("float32") - 113) * ratios[1]
    y = np.clip(np.rint(y) + 120, 0, 255)
    for got, exact, real in zip(built, interpreted, (y, c), strict=True):
        np.testing.assert_array_equal(np.asarray(got), real)
        np.testing.assert_array_equal(np.asarray(exact), real)


@pytest.mark.promise("ONNX quantization")
def test_zero_points_that_the_program_computes() -> None:
    graph = """g (float[4, 6] x) => (int32[4, 2] y) <int8[6, 2] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12},
        int8[2] zw = {3, -5}> {
            q, s, z = DynamicQuantizeLinear(x)
            y = MatMulInteger(q, w, z, zw)
        }"""
    x = np.random.default_rng(1).standard_normal((4, 6)).astype("float32")
    low, high = min(x.min(), 0), max(x.max(), 0)
    scale = np.float32(high - low) / np.float32(255)
    zero = np.rint(-low / scale)
    data = np.clip(np.rint(x / scale) + zero, 0, 255) - zero
    weights = np.arange(1, 13).reshape(6, 2) * [1, -1] - [3, -5]
    assert np.array_equal(both(graph, x=x), data @ weights)


@pytest.mark.promise("ONNX quantization")
@pytest.mark.parametrize("left", ["7", "1, 7, 250, 0"])
@pytest.mark.parametrize("right", ["3", "-5, 3"])
@pytest.mark.parametrize("shape", [(6, 2), (3, 6, 2)])
def test_zero_points_of_rows_and_columns(left: str, right: str, shape: tuple[int, ...]) -> None:
    rows, columns = ([int(n) for n in t.split(",")] for t in (left, right))
    zeros = f"uint8{'' if len(rows) == 1 else [4]} z = {{{listed(rows)}}}, int8{'' if len(columns) == 1 else [2]} u = {{{right}}}"
    graph = (
        f"""g (uint8[4, 6] a, int8{list(shape)} b) => (int32[N, M] y) <{zeros}> {{ y = MatMulInteger(a, b, z, u) }}"""
    )
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 256, (4, 6), "uint8"), rng.integers(-128, 128, shape, "int8")
    expected = (a.astype("int32") - np.array(rows).reshape(-1, 1)) @ (b.astype("int32") - np.array(columns))
    module, params = import_text(graph)
    assert np.array_equal(irtool.evaluate(module, {"a": a, "b": b, **params}), expected)


@pytest.mark.promise("ONNX quantization")
@pytest.mark.parametrize("dtype", ["FLOAT", "FLOAT16", "BFLOAT16"])
def test_scales_of_products_may_be_halves(dtype: str) -> None:
    import onnx
    from onnx import TensorProto, helper

    kind = getattr(TensorProto, dtype)
    scales = [helper.make_tensor(n, kind, [], [v]) for n, v in {"sa": 0.5, "sb": 0.25, "sy": 2.0}.items()]
    zeros = [helper.make_tensor(n, TensorProto.UINT8, [], [v]) for n, v in {"za": 3, "zb": 5, "zy": 7}.items()]
    shapes = {"a": (6, 4), "b": (4, 5)}
    graph = helper.make_graph(
        [helper.make_node("QLinearMatMul", ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"], ["y"])],
        "g",
        [helper.make_tensor_value_info(n, TensorProto.UINT8, s) for n, s in shapes.items()],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, (6, 5))],
        scales + zeros,
    )
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    module, params = irtool.from_onnx(model.SerializeToString())
    rng = np.random.default_rng(0)
    inputs = {n: rng.integers(0, 20, s, "uint8") for n, s in shapes.items()}
    sums = (inputs["a"].astype(int) - 3) @ (inputs["b"].astype(int) - 5)
    expected = np.clip(np.rint(sums * (0.5 * 0.25 / 2.0)) + 7, 0, 255)
    np.testing.assert_array_equal(np.asarray(irtool.build(module, params).run(inputs)), expected)
    assert np.abs(np.asarray(irtool.evaluate(module, {**inputs, **params})) - expected).max() <= 1  # of halves


@pytest.mark.promise("ONNX quantization")
def test_weights_of_four_bits_are_unpacked() -> None:
    packed = np.random.default_rng(2).integers(0, 256, (3, 2, 8), "uint8")
    scales = np.linspace(0.1, 0.6, 6).astype("float32")
    graph = f"""g (float[5, 20] a) => (float[5, 3] y) <uint8[3, 2, 8] w = {{{listed(packed)}}},
        float[6] s = {{{listed(scales)}}}, uint8[3] z = {{17, 98, 211}}> {{
            y = com.microsoft.MatMulNBits<K = 20, N = 3, bits = 4, block_size = 16>(a, w, s, z)
        }}"""
    a = np.random.default_rng(3).standard_normal((5, 20)).astype("float32")
    nibbles = np.stack([packed & 15, packed >> 4], -1).reshape(3, 2, 16).astype("float32")
    zeros = np.array([[17 & 15, 17 >> 4], [98 & 15, 98 >> 4], [211 & 15, 211 >> 4]], "float32")
    matrix = ((nibbles - zeros[..., None]) * scales.reshape(3, 2, 1)).reshape(3, 32)[:, :20]
    np.testing.assert_allclose(both(graph, a=a), a @ matrix.T, rtol=1e-4, atol=1e-4)


@pytest.mark.promise("ONNX quantization")
@pytest.mark.parametrize("half", [0.5, 1.5, 2.5, -0.5, -1.5, 126.5])
def test_a_half_goes_to_the_even_number_where_nothing_else_is_said(half: float) -> None:
    graph = "g (float[2] x, float s) => (int8[2] y) <int8 z = {0}> { y = QuantizeLinear(x, s, z) }"
    actual = both(graph, x=np.array([half, half / 2], "float32"), s=np.array(1, "float32"))
    assert actual.tolist() == np.rint([half, half / 2]).tolist()


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (
            "g (float[4] x) => (float[4] y) <float[2, 2] s = {1.0, 1.0, 1.0, 1.0}> {"
            " q = QuantizeLinear(x, s) y = DequantizeLinear(q, s) }",
            "vectors at most",
        ),
        (
            "g (uint8[1, 2, 5, 5] x, uint8[1, 2, 5] w) => (int32[1, 1, 3, 3] y) { y = ConvInteger(x, w) }",
            "do not fit together",
        ),
    ],
)
def test_what_does_not_fit_is_refused(graph: str, message: str) -> None:
    with pytest.raises(IrError, match=message):
        import_text(graph)


@pytest.mark.promise("ONNX quantization")
@pytest.mark.parametrize(
    ("body", "function"),
    [
        ("s = Add(a, b)", lambda a, b: a + b),
        ("s = Sub(a, b)", lambda a, b: a - b),
        ("t = Add(a, b)\n s = Relu(t)", lambda a, b: np.maximum(a + b, 0)),
    ],
)
def test_sums_of_quantized_tensors_are_rounded_once(body: str, function: Any) -> None:
    """qnn.add would round each operand in steps of the result: a quarter of the elements were one off."""
    graph = f"""g (uint8[64, 64] x, uint8[64, 64] y) => (uint8[64, 64] z) <float sa = {{0.0371}}, uint8 za = {{113}},
        float sb = {{0.0212}}, uint8 zb = {{140}}, float sc = {{0.0517}}, uint8 zc = {{120}}> {{
            a = DequantizeLinear(x, sa, za)
            b = DequantizeLinear(y, sb, zb)
            {body}
            z = QuantizeLinear(s, sc, zc)
        }}"""
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 256, (2, 64, 64), "uint8")
    real = function((x.astype(float) - 113) * 0.0371, (y.astype(float) - 140) * 0.0212)
    assert np.array_equal(both(graph, x=x, y=y), np.clip(np.rint(real / 0.0517) + 120, 0, 255))
    assert "qnn.dequantize" not in irtool.to_text(irtool.run_passes(import_text(graph)[0], "PropagateDequantize"))


@pytest.mark.promise("ONNX quantization")
def test_means_of_quantized_tensors_are_rounded_once() -> None:
    graph = """g (int8[2, 3, 6, 6] x) => (int8[2, 3, 4, 4] y) <float s = {0.0371}, int8 z = {-13}, float t = {0.0253}, int8 u = {9}> {
            y = com.microsoft.QLinearAveragePool
                <kernel_shape = [3, 3], strides = [2, 2], pads = [2, 2, 2, 2], count_include_pad = 1>(x, s, z, t, u)
        }"""
    x = np.random.default_rng(5).integers(-128, 128, (2, 3, 6, 6), "int8")
    data = np.pad((x.astype(float) + 13) * 0.0371, ((0, 0), (0, 0), (2, 2), (2, 2)))
    means = np.lib.stride_tricks.sliding_window_view(data, (3, 3), axis=(2, 3))[:, :, ::2, ::2].mean((-1, -2))
    assert np.array_equal(both(graph, x=x), np.clip(np.rint(means / 0.0253) + 9, -128, 127))


@pytest.mark.promise("ONNX quantization")
@pytest.mark.parametrize(
    ("call", "function"),
    [
        ("QLinearAdd(x, s, z, y, t, u, o, p)", lambda a, b: a + b),
        ("QLinearMul(x, s, z, y, t, u, o, p)", lambda a, b: a * b),
        ("QLinearSigmoid(x, s, z, o, p)", lambda a, b: 1 / (1 + np.exp(-a))),
        ("QLinearLeakyRelu<alpha = 0.2>(x, s, z, o, p)", lambda a, b: np.where(a < 0, 0.2 * a, a)),
    ],
)
def test_functions_of_quantized_tensors_are_rounded_once(call: str, function: Any) -> None:
    graph = f"""g (uint8[8, 8] x, uint8[8, 8] y) => (uint8[8, 8] r) <float s = {{0.0371}}, uint8 z = {{113}},
        float t = {{0.0212}}, uint8 u = {{140}}, float o = {{0.0517}}, uint8 p = {{120}}> {{ r = com.microsoft.{call} }}"""
    x, y = np.random.default_rng(6).integers(0, 256, (2, 8, 8), "uint8")
    exact = function((x.astype(float) - 113) * 0.0371, (y.astype(float) - 140) * 0.0212)
    module, params = import_text(graph)
    actual = irtool.evaluate(module, {"x": x, "y": y, **params})
    assert np.array_equal(actual, np.clip(np.rint(exact / 0.0517) + 120, 0, 255))


@pytest.mark.promise("ONNX quantization")
@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 200), ("uint8", 3), ("int16", -20000)])
def test_borders_of_integer_programs_are_zero(dtype: str, zero: int) -> None:
    module, _ = import_text(f"""g (float[3] x) => (float[5] y) <
        float s = {{0.5}}, {dtype} z = {{{zero}}}, int64[2] p = {{1, 1}}, float c = {{0.0}}> {{
            q = QuantizeLinear(x, s, z)
            d = DequantizeLinear(q, s, z)
            b = Pad(d, p, c)
            r = QuantizeLinear(b, s, z)
            y = DequantizeLinear(r, s, z)
        }}""")
    integers = irtool.run_passes(module, "FakeQuantizationToInteger")
    assert irtool.to_text(integers).count("qnn.dequantize") == 1
    x = np.array([-1, 0.5, 2], "float32")
    np.testing.assert_array_equal(irtool.evaluate(integers, [x]), np.pad(x, 1))


@pytest.mark.promise("ONNX quantization")
@pytest.mark.parametrize("depth", [1400, 70000])
def test_sums_that_leave_32_bits_are_real_ones(depth: int) -> None:
    """The file says that products of real numbers are added: 255 · 127 · 70,000 is more than an int32 holds."""
    x = np.full((2, depth), 255, "uint8")
    actual = both(
        f"""g (uint8[2, {depth}] x) => (uint8[2, 3] y) <
        float s = {{0.01}}, uint8 z = {{0}}, int8 zw = {{0}}, float t = {{{depth / 70:.1f}}}, int8 c = {{127}}, int64[2] n = {{{depth}, 3}}> {{
            w = Expand(c, n)
            d = DequantizeLinear(x, s, z)
            e = DequantizeLinear(w, s, zw)
            p = MatMul(d, e)
            y = QuantizeLinear(p, t, z)
        }}""",
        x=x,
    )
    assert (actual == np.rint(2.55 * 1.27 * 70)).all()
