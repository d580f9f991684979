"""Small models of the operators that ONNX Runtime adds: ONNX itself knows nothing of their inputs and attributes."""

from __future__ import annotations

from functools import cache

_HEAD = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>\n'
_GRID = "float s, uint8 z"
NODES = {
    "SkipLayerNormalization<epsilon=1e-5>(x, x, g, g, g)": "float[2,4,6] x, float[6] g",
    "SimplifiedLayerNormalization<axis=-1, stash_type=1>(x, g)": "float[2,4,6] x, float[6] g",
    "SkipSimplifiedLayerNormalization(x, x, g)": "float[2,4,6] x, float[6] g",
    "EmbedLayerNormalization<epsilon=1e-5>(i, i, w, w, w, g, g, i)": "int32[2,4] i, float[9,6] w, float[6] g",
    "GroupNorm<groups=2, activation=1>(x, g, g)": "float[2,3,4,6] x, float[6] g",
    "BiasGelu(x, g)": "float[2,4,6] x, float[6] g",
    "QuickGelu<alpha=1.7>(x)": "float[2,4,6] x",
    "BiasSplitGelu(x, g)": "float[2,4,6] x, float[6] g",
    "BiasAdd(x, g, x)": "float[2,4,6] x, float[6] g",
    "FusedMatMul<alpha=0.5, transA=1, transB=1, transBatchA=0>(x, v)": "float[2,4,6] x, float[2,5,4] v",
    'FusedGemm<activation="LeakyRelu", activation_alpha=0.1, transB=1>(x, v, g)': "float[3,4] x, float[6,4] v, float[6] g",
    'FusedConv<activation="Clip", activation_params=[0.0, 6.0], pads=[1,0,0,1], group=1>(x, w, g)': (
        "float[1,2,5,6] x, float[6,2,3,3] w, float[6] g"
    ),
    "NhwcConv<pads=[1,0,0,1], strides=[1,2], kernel_shape=[3,3]>(x, w, g)": (
        "float[1,5,6,2] x, float[6,2,3,3] w, float[6] g"
    ),
    "MatMulNBits<K=32, N=3, bits=4, block_size=16>(x, b, c)": "float[2,32] x, uint8[3,2,8] b, float[6] c",
    "Attention<num_heads=2, unidirectional=1, scale=0.5>(x, w, b, m)": (
        "float[2,4,6] x, float[6,18] w, float[18] b, int32[2] m"
    ),
    "MultiHeadAttention<num_heads=3, mask_filter_value=-1.0>(x, x, x)": "float[2,4,6] x",
    "GroupQueryAttention<num_heads=4, kv_num_heads=2, do_rotary=1, local_window_size=2>(q, k, k, c, c, l, t, r, r)": (
        "float[2,1,16] q, float[2,1,8] k, float[2,2,5,4] c, int32[2] l, int32 t, float[9,2] r"
    ),
    "GroupQueryAttention<num_heads=4, kv_num_heads=2, softcap=2.0, smooth_softmax=1, causal=1>(q, k, k, c, c, l, t, , , , , h)": (
        "float[1,2,16] q, float[1,2,8] k, float[1,2,5,4] c, int32[1] l, int32 t, float[4] h"
    ),
    "RotaryEmbedding<interleaved=1, num_heads=2>(x, p, r, r)": "float[2,4,8] x, int64[2,4] p, float[9,2] r",
    "QuantizeLinear<axis=0>(x, s, z)": f"float[2,4] x, {_GRID}",
    "DequantizeLinear<axis=0>(x, s, z)": f"uint8[2,4] x, {_GRID}",
    "QLinearAdd(x, s, z, x, s, z, s, z)": f"uint8[2,4] x, {_GRID}",
    "QLinearLeakyRelu<alpha=0.1>(x, s, z, s, z)": f"uint8[2,4] x, {_GRID}",
    "QLinearSoftmax<axis=1, opset=11>(x, s, z, s, z)": f"uint8[2,4,3] x, {_GRID}",
    "QLinearGlobalAveragePool<channels_last=1>(x, s, z, s, z)": f"uint8[1,4,3,2] x, {_GRID}",
    'QLinearAveragePool<kernel_shape=[2,2], auto_pad="SAME_UPPER", ceil_mode=1>(x, s, z, s, z)': (
        f"uint8[1,4,3,2] x, {_GRID}"
    ),
    "QLinearConcat<axis=1>(s, z, x, s, z, x, s, z)": f"uint8[2,4] x, {_GRID}",
    "MatMulIntegerToFloat(x, w, s, s, z, z, g)": f"uint8[2,4] x, uint8[4,6] w, float[6] g, {_GRID}",
    "DynamicQuantizeMatMul(x, w, s, z, g)": f"float[2,4] x, uint8[4,6] w, float[6] g, {_GRID}",
    "QGemm<alpha=0.5, transB=1>(x, s, z, w, s, z, c, s, z)": f"uint8[2,4] x, uint8[6,4] w, int32[6] c, {_GRID}",
}
"""A node each, with its inputs; scales and zero points are initializers."""
_INITIALIZERS = "<float s = {0.1}, uint8 z = {3}>"


@cache
def microsoft_seeds() -> tuple[bytes, ...]:
    """The models, in bytes."""
    import onnx

    protos = []
    for node, inputs in NODES.items():
        own = ", ".join(i for i in inputs.split(", ") if i not in _GRID.split(", "))
        initializers = _INITIALIZERS if _GRID in inputs else ""
        text = f"net ({own}) => (float y) {initializers} {{ y = com.microsoft.{node} }}"
        protos.append(onnx.parser.parse_model(_HEAD + text).SerializeToString())
    return tuple(protos)
