"""Operators that ONNX Runtime's optimizer writes mean what it made them of."""

from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.onnx.agreement import evaluated, inputs_of, parse

pytestmark = pytest.mark.promise("networks in ONNX")

X = "float[2,4,12] x"
QUANTITIES = (
    "s = Constant<value_float=0.25>() t = Constant<value_float=0.37>() z = Constant<value = uint8 {3}>() "
    "u = Constant<value = int8 {1}>()"
)
"""Scales and zero points: of data, and of weights or results."""
ONE = "tt = Constant<value_floats=[0.37]>() uu = Constant<value = int8[1] {1}>()"
LSTM = "float[1,3,5] x, int8[1,5,8] w, int8[1,2,8] r, float[1,3,2] h, float[1,3,2] c"
"""Of one step: what is quantized by a scale of its own is all of the data."""

PAIRS = {
    "layer norm of a sum": (
        f"{X}, float[2,4,12] s, float[12] g, float[12] b",
        "y = com.microsoft.SkipLayerNormalization<epsilon=1e-5>(x, s, g, b)",
        "t = Add(x, s) y = LayerNormalization(t, g, b)",
    ),
    "Trilu under its older name": ("float[3,4] x", "y = com.microsoft.Trilu<upper=0>(x)", "y = Trilu<upper=0>(x)"),
    "GridSample under its older name": (
        "float[1,2,4,5] x, float[1,3,3,2] g",
        'y = com.microsoft.GridSample<mode="bilinear", padding_mode="border">(x, g)',
        'y = GridSample<mode="linear", padding_mode="border">(x, g)',
    ),
    "FusedMatMul under its older name": (
        "float[5,3] a, float[5,4] b",
        "y = com.microsoft.TransposeMatMul<transA=1>(a, b)",
        "t = Transpose(a) y = MatMul(t, b)",
    ),
    "GELU of a sum": (
        f"{X}, float[12] b",
        "y = com.microsoft.BiasGelu(x, b)",
        "t = Add(x, b) y = Gelu(t)",
    ),
    "GELU of one half times the other": (
        f"{X}, float[12] b",
        "y = com.microsoft.BiasSplitGelu(x, b)",
        "t = Add(x, b) u, v = Split<axis=-1, num_outputs=2>(t) w = Gelu(v) y = Mul(u, w)",
    ),
    "group norm of channels at the end": (
        "float[2,3,4,6] x, float[6] g, float[6] b",
        "y = com.microsoft.GroupNorm<groups=2, activation=1>(x, g, b)",
        "t = Transpose<perm=[0,3,1,2]>(x) n = GroupNormalization<num_groups=2>(t, g, b) s = Sigmoid(n) m = Mul(n, s) "
        "y = Transpose<perm=[0,2,3,1]>(m)",
    ),
    "convolution of channels at the end": (
        "float[1,5,6,2] x, float[3,2,3,3] w, float[3] b",
        "y = com.microsoft.NhwcConv<pads=[1,0,0,1]>(x, w, b)",
        "t = Transpose<perm=[0,3,1,2]>(x) c = Conv<pads=[1,0,0,1]>(t, w, b) y = Transpose<perm=[0,2,3,1]>(c)",
    ),
    "attention": (
        "float[2,4,12] q, float[2,6,12] k, float[2,6,12] v",
        "y = com.microsoft.MultiHeadAttention<num_heads=3>(q, k, v)",
        "y = Attention<q_num_heads=3, kv_num_heads=3>(q, k, v)",
    ),
    "attention of packed queries, keys and values": (
        "float[2,4,3,3,4] p",
        "y = com.microsoft.MultiHeadAttention<num_heads=3>(p)",
        "a, b, c = Split<axis=3, num_outputs=3>(p) s = Constant<value_ints=[2,4,12]>() q = Reshape(a, s) k = Reshape(b, s) "
        "v = Reshape(c, s) y = Attention<q_num_heads=3, kv_num_heads=3>(q, k, v)",
    ),
    "grouped attention": (
        "float[2,4,12] q, float[2,4,6] k, float[2,4,6] v",
        "l = Constant<value_ints=[3,3]>() n = Cast<to=6>(l) "
        "y = com.microsoft.GroupQueryAttention<num_heads=4, kv_num_heads=2>(q, k, v, , , n)",
        "y = Attention<q_num_heads=4, kv_num_heads=2, is_causal=1>(q, k, v)",
    ),
    "attention of quantized data and weights": (
        "uint8[2,4,12] x, int8[12,36] w, float[36] b",
        f"{QUANTITIES} y = com.microsoft.QAttention<num_heads=3, unidirectional=1>(x, w, b, s, t, , z, u)",
        f"{QUANTITIES} d = DequantizeLinear(x, s, z) e = DequantizeLinear(w, t, u) p = MatMul(d, e) a = Add(p, b) "
        "q, k, v = Split<axis=2, num_outputs=3>(a) y = Attention<q_num_heads=3, kv_num_heads=3, is_causal=1>(q, k, v)",
    ),
    "quantized embeddings, without segments": (
        "int32[2,4] i, uint8[20,12] w, uint8[6,12] p, uint8[12] g, uint8[12] b",
        f"{QUANTITIES} y = com.microsoft.QEmbedLayerNormalization<epsilon=1e-5>"
        "(i, , w, p, , g, b, , s, s, , s, s, z, z, , z, z)",
        f"{QUANTITIES} wd = DequantizeLinear(w, s, z) pd = DequantizeLinear(p, s, z) gd = DequantizeLinear(g, s, z) "
        "bd = DequantizeLinear(b, s, z) f = Constant<value_ints=[0]>() l = Constant<value_ints=[4]>() first = Slice(pd, f, l) "
        "words = Gather(wd, i) sum = Add(words, first) y = LayerNormalization(sum, gd, bd)",
    ),
    "a choice of quantized tensors": (
        "bool[2,4] c, uint8[2,4] x, uint8[2,4] o",
        f"{QUANTITIES} y = com.microsoft.QLinearWhere(c, x, s, z, o, s, z, t, z)",
        f"{QUANTITIES} d = DequantizeLinear(x, s, z) e = DequantizeLinear(o, s, z) w = Where(c, d, e) "
        "y = QuantizeLinear(w, t, z)",
    ),
    "a sum of quantized tensors, without zero points": (
        "uint8[2,4] x, uint8[2,4] o",
        f"{QUANTITIES} y = com.microsoft.QLinearAdd(x, s, , o, s, z, t, z)",
        f"{QUANTITIES} d = DequantizeLinear(x, s) e = DequantizeLinear(o, s, z) w = Add(d, e) y = QuantizeLinear(w, t, z)",
    ),
    "a step of an LSTM with quantized weights": (
        LSTM,
        f"{QUANTITIES} {ONE} y = com.microsoft.DynamicQuantizeLSTM<hidden_size=2>(x, w, r, , , h, c, , tt, uu, tt, uu)",
        f"{QUANTITIES} xq, xs, xz = DynamicQuantizeLinear(x) xd = DequantizeLinear(xq, xs, xz) "
        "hq, hs, hz = DynamicQuantizeLinear(h) hd = DequantizeLinear(hq, hs, hz) "
        "wd = DequantizeLinear(w, t, u) rd = DequantizeLinear(r, t, u) "
        "wt = Transpose<perm=[0,2,1]>(wd) rt = Transpose<perm=[0,2,1]>(rd) "
        "y = LSTM<hidden_size=2>(xd, wt, rt, , , hd, c)",
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_pair(case: str) -> None:
    from onnx.reference import ReferenceEvaluator

    inputs, fused, parts = PAIRS[case]
    model = parse(f"net ({inputs}) => (float[n] y) {{ {fused} }}", 23, microsoft=True)
    values = inputs_of(model)
    other = parse(f"net ({inputs}) => (float[n] y) {{ {parts} }}", 23)
    (expected,) = ReferenceEvaluator(other).run(None, values)
    np.testing.assert_allclose(evaluated(model, values)[0], expected, 1e-4, 1e-5)
