"""Operators of neural networks: versions and attributes that ONNX's own test suite leaves out."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from tests.frontends.onnx.agreement import check, evaluated, parse

pytestmark = pytest.mark.promise("networks in ONNX")

CASES = {
    "a convolution in 1-D with groups": (
        "net (float[2,4,9] x, float[6,2,3] w, float[6] b) => (float[N,6,L] y) "
        "{ y = Conv<group=2, pads=[2,0], strides=[2], dilations=[2]>(x, w, b) }",
        17,
    ),
    "a convolution in 3-D padded to the same extents": (
        'net (float[1,2,5,6,4] x, float[3,2,3,2,3] w) => (float[a,b,c,d,e] y) { y = Conv<auto_pad="SAME_LOWER", strides=[2,1,2]>(x, w) }',
        17,
    ),
    "a transposed convolution in 1-D": (
        "net (float[2,4,5] x, float[4,3,3] w, float[3] b) => (float[a,b,c] y) "
        "{ y = ConvTranspose<strides=[2], pads=[1,0], output_padding=[1]>(x, w, b) }",
        17,
    ),
    "a maximum over windows with a number rounded up": (
        "net (float[1,2,7,8] x) => (float[a,b,c,d] y) { y = MaxPool<kernel_shape=[3,2], strides=[2,3], ceil_mode=1, pads=[1,0,0,1]>(x) }",
        17,
    ),
    "an even number of channels in LRN": ("net (float[7,7,2,3] x) => (float[a,b,c,d] y) { y = LRN<size=4>(x) }", 17),
    "batch norm of a matrix": (
        "net (float[5,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[a,b] y) "
        "{ w = Mul(v, v) y = BatchNormalization(x, s, b, m, w) }",
        15,
    ),
    "layer norm over two axes without summand": (
        "net (float[2,3,4] x, float[3,4] s) => (float[a,b,c] y) { y = LayerNormalization<axis=1>(x, s) }",
        17,
    ),
    "group norm with a factor for each group": (
        "net (float[2,6,4] x, float[3] s, float[3] b) => (float[a,b,c] y) { y = GroupNormalization<num_groups=3>(x, s, b) }",
        18,
    ),
    "dropout with its mask": ("net (float[2,3] x) => (float[a,b] y, bool[a,b] m) { y, m = Dropout(x) }", 13),
    "the norm of windows": (
        "net (float[1,2,6,6] x) => (float[a,b,c,d] y) { y = LpPool<kernel_shape=[2,3], p=3, strides=[2,1]>(x) }",
        18,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_the_suite_leaves_out(case: str) -> None:
    check(*CASES[case])


def test_normalizations_are_those_of_relay() -> None:
    module = check(*CASES["layer norm over two axes without summand"])
    assert "nn.layer_norm" in irtool.to_text(module)
    assert "nn.group_norm" in irtool.to_text(check(*CASES["group norm with a factor for each group"]))


def test_softmax_before_opset_13_is_over_all_axes_behind_one() -> None:
    graph = "net (float[2,3,4] x) => (float[a,b,c] y) { y = Softmax<axis=1>(x) }"
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("float32")
    for opset, axes in ((11, (1, 2)), (13, (1,))):
        (y,) = evaluated(parse(graph, opset), {"x": x})
        np.testing.assert_allclose(y, np.exp(x) / np.exp(x).sum(axes, keepdims=True), 1e-5)


def test_padding_counts_and_what_rounding_up_adds_does_not() -> None:
    graph = (
        "net (float[1,1,4] x) => (float[a,b,c] y) "
        "{ y = AveragePool<kernel_shape=[3], strides=[2], pads=[1,0], ceil_mode=1, count_include_pad=1>(x) }"
    )
    (y,) = evaluated(parse(graph, 19), {"x": np.array([[[1, 2, 3, 4]]], "float32")})
    np.testing.assert_allclose(y.ravel(), [(0 + 1 + 2) / 3, (2 + 3 + 4) / 3], 1e-6)


def test_training_without_a_mode_is_refused() -> None:
    graph = (
        "net (float[5,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[a,b] y) "
        "{ y, m2 = BatchNormalization(x, s, b, m, v) }"
    )
    with pytest.raises(IrError, match="training mode"):
        irtool.from_onnx(parse(graph, 9))


def test_batches_are_normalized_by_their_own_statistics() -> None:
    module = check(
        """net (float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[o,p,q] y, float[r] m2, float[t] v2)
        { y, m2, v2 = BatchNormalization<training_mode=1, momentum=0.7, epsilon=0.01>(x, s, b, m, v) }""",
        15,
    )
    assert [str(t) for t in module["main"].ret_type.fields[1:]] == ["Tensor[(3), float32]"] * 2


def test_windows_that_contradict_their_weights_are_refused() -> None:
    graph = "net (float[1,2,5] x, float[3,2,3] w) => (float[a,b,c] y) { y = Conv<kernel_shape=[5]>(x, w) }"
    with pytest.raises(IrError, match="do not fit"):
        irtool.from_onnx(parse(graph))


OPEN = {
    "layer norm over two axes": (
        "net (float[N,3,4] x, float[3,4] s) => (float[a,b,c] y) { y = LayerNormalization<axis=1>(x, s) }",
        17,
    ),
    "softmax over all axes behind one": ("net (float[N,3,4] x) => (float[a,b,c] y) { y = Softmax(x) }", 11),
    "resize": (
        """net (float[N,3,4,4] x) => (float[a,b,c,d] y) {
        t = Constant<value = float[4] {1, 1, 0.7, 2}>() y = Resize<mode="cubic">(x, , t) }""",
        17,
    ),
    "group norm": (
        "net (float[N,6,4] x, float[6] s, float[6] b) => (float[a,b,c] y) { y = GroupNormalization<num_groups=3>(x, s, b) }",
        21,
    ),
    "attention": (
        "net (float[N,4,6] q, float[N,5,6] k) => (float[a,b,c] y) { y = com.microsoft.MultiHeadAttention<num_heads=2>(q, k, k) }",
        17,
    ),
}


@pytest.mark.parametrize("case", OPEN)
def test_the_number_of_samples_may_stay_open(case: str) -> None:
    graph, opset = OPEN[case]
    module, _ = irtool.from_onnx(parse(graph, opset, microsoft=True))
    result = str(module["main"].checked_type).rpartition("->")[2]
    assert result.strip().startswith("Tensor[(?,") and result.count("?") == 1


def test_attributes_are_refused_before_the_opset_that_added_them() -> None:
    text = """<ir_version: 8, opset_import: ["": OPSET]>
    net (float[1, 1, 5, 5] x) => (float[1, 1, 3, 3] y) {
      y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)
    }"""
    with pytest.raises(IrError, match="MaxPool of opset 9 has no attribute ceil_mode"):
        irtool.from_onnx(text.replace("OPSET", "9").encode())
    module, _ = irtool.from_onnx(text.replace("OPSET", "10").encode())
    assert str(module["main"].ret_type) == "Tensor[(1, 1, 3, 3), float32]"
