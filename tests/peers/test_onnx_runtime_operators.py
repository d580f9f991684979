"""Operators of the domain com.microsoft against ONNX Runtime, whose they are."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.compare.exact_sums import exact_options
from tests.frontends.onnx.agreement import evaluated, inputs_of, parse

pytestmark = pytest.mark.promise("networks in ONNX")

X = "float[2,4,12] x"
CASES = {
    "GELU": f"net ({X}) => (float[a,b,c] y) {{ y = com.microsoft.Gelu(x) }}",
    "GELU of a sum": f"net ({X}, float[12] b) => (float[a,b,c] y) {{ y = com.microsoft.BiasGelu(x, b) }}",
    "GELU by tanh": f"net ({X}, float[12] b) => (float[a,b,c] y) {{ y = com.microsoft.FastGelu(x, b) }}",
    "GELU by a sigmoid": f"net ({X}) => (float[a,b,c] y) {{ y = com.microsoft.QuickGelu<alpha=1.5>(x) }}",
    "product of transposed": (
        "net (float[2,5,3] a, float[2,7,5] b) => (float[x,y,z] c) "
        "{ c = com.microsoft.FusedMatMul<alpha=0.5, transA=1, transB=1>(a, b) }"
    ),
    "product and activation": (
        "net (float[5,3] a, float[4,5] b, float[4] c) => (float[x,y] d) "
        '{ d = com.microsoft.FusedGemm<alpha=0.5, beta=2.0, transA=1, transB=1, activation="LeakyRelu", activation_alpha=0.2>(a, b, c) }'
    ),
    "convolution and activation": (
        "net (float[1,2,6,6] x, float[3,2,3,3] w, float[3] b) => (float[m,n,o,p] y) "
        '{ y = com.microsoft.FusedConv<activation="Clip", activation_params=[-0.5,0.5], pads=[1,1,1,1]>(x, w, b) }'
    ),
    "layer norm of a sum": (
        f"net ({X}, float[2,4,12] s, float[12] g, float[12] b, float[12] c) => (float[a,b,d] y, float[a,b,d] t) "
        "{ y, , , t = com.microsoft.SkipLayerNormalization<epsilon=1e-5>(x, s, g, b, c) }"
    ),
    "RMS norm of a sum": (
        f"net ({X}, float[2,4,12] s, float[12] g) => (float[a,b,d] y, float[a,b,d] t) "
        "{ y, , , t = com.microsoft.SkipSimplifiedLayerNormalization<epsilon=1e-5>(x, s, g) }"
    ),
    "RMS norm": f"net ({X}, float[12] g) => (float[a,b,c] y) {{ y = SimplifiedLayerNormalization<epsilon=1e-5>(x, g) }}",
    "embeddings": (
        "net (int32[2,4] i, int32[2,4] s, float[5,8] w, float[6,8] p, float[5,8] e, float[8] g, float[8] b) "
        "=> (float[a,b,c] y, int32[a] m) { y, m = com.microsoft.EmbedLayerNormalization<epsilon=1e-5>(i, s, w, p, e, g, b) }"
    ),
    "attention": (
        f"net ({X}, float[12,36] w, float[36] b) => (float[a,b,c] y) {{ y = com.microsoft.Attention<num_heads=3>(x, w, b) }}"
    ),
    "attention to what was before": (
        f"net ({X}, float[12,36] w, float[36] b) => (float[a,b,c] y) "
        "{ y = com.microsoft.Attention<num_heads=3, unidirectional=1>(x, w, b) }"
    ),
    "attention with lengths": (
        f"net ({X}, float[12,36] w, float[36] b) => (float[a,b,c] y) "
        "{ m = Constant<value = int32[2] {3, 4}>() y = com.microsoft.Attention<num_heads=3>(x, w, b, m) }"
    ),
    "attention with a past": (
        f"net ({X}, float[12,36] w, float[36] b, float[2,2,3,5,4] p) => (float[a,b,c] y, float[f,a,g,h,i] q) "
        "{ y, q = com.microsoft.Attention<num_heads=3, unidirectional=1>(x, w, b, , p) }"
    ),
    "attention of other keys": (
        f"net ({X}, float[2,6,12] k, float[2,6,12] v, float[36] b) => (float[a,b,c] y) "
        "{ y = com.microsoft.MultiHeadAttention<num_heads=3>(x, k, v, b) }"
    ),
    "attention of keys in heads": (
        f"net ({X}, float[2,3,6,4] k, float[2,3,6,4] v) => (float[a,b,c] y) "
        "{ y = com.microsoft.MultiHeadAttention<num_heads=3>(x, k, v) }"
    ),
    "rotary embedding of halves": (
        "net (float[2,4,24] x, int64[2,4] p, float[6,4] c, float[6,4] s) => (float[a,b,d] y) "
        "{ y = com.microsoft.RotaryEmbedding(x, p, c, s) }"
    ),
    "rotary embedding of neighbours in a part": (
        "net (float[2,3,4,8] x, int64[1] p, float[9,3] c, float[9,3] s) => (float[a,b,d,e] y) "
        "{ y = com.microsoft.RotaryEmbedding<interleaved=1, num_heads=3, rotary_embedding_dim=6>(x, p, c, s) }"
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_operator(case: str, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--peers"):
        pytest.skip("needs --peers")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = parse(CASES[case], 17, microsoft=True)
    inputs = inputs_of(model)
    expected = onnxruntime.InferenceSession(model.SerializeToString(), exact_options()).run(None, inputs)
    for compiled in (False, True):
        for f, w in zip(evaluated(model, inputs, compiled), expected, strict=True):
            assert f.dtype == w.dtype
            np.testing.assert_allclose(f, w, 1e-4, 1e-5)
