"""Operators that ONNX Runtime's optimizer writes mean what it made them of."""

from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.onnx.agreement import evaluated, inputs_of, parse

pytestmark = pytest.mark.promise("networks in ONNX")

X = "float[2,4,12] x"
PAIRS = {
    "layer norm of a sum": (
        f"{X}, float[2,4,12] s, float[12] g, float[12] b",
        "y = com.microsoft.SkipLayerNormalization<epsilon=1e-5>(x, s, g, b)",
        "t = Add(x, s) y = LayerNormalization(t, g, b)",
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
}


@pytest.mark.parametrize("case", PAIRS)
def test_pair(case: str) -> None:
    from onnx.reference import ReferenceEvaluator

    inputs, fused, parts = PAIRS[case]
    model = parse(f"net ({inputs}) => (float[n] y) {{ {fused} }}", 23, microsoft=True)
    values = inputs_of(model)
    other = parse(f"net ({inputs}) => (float[n] y) {{ {parts} }}", 23)
    (wanted,) = ReferenceEvaluator(other).run(None, values)
    np.testing.assert_allclose(evaluated(model, values)[0], wanted, 1e-4, 1e-5)
