"""Operators whose cases in ONNX's own suite are many and slow: a few small ones that take other ways."""

from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.onnx.agreement import check, evaluated, parse

pytest.importorskip("onnx")

pytestmark = pytest.mark.promise("networks in ONNX")

CASES = {
    "the largest of windows, and where they are": (
        "net (float[2,3,7,6] x) => (float[a,b,c,d] y, int64[a,b,c,d] i) "
        "{ y, i = MaxPool<kernel_shape=[3,2], strides=[2,3], pads=[1,0,0,1], dilations=[1,2]>(x) }",
        18,
    ),
    "columns added up to an image": (
        "net (float[1,12,20] x) => (float[a,b,c,d] y) { i = Constant<value_ints=[5,6]>() b = Constant<value_ints=[2,3]>() "
        "y = Col2Im<pads=[0,1,0,0]>(x, i, b) }",
        18,
    ),
    "blocks of channels": (
        'net (float[1,12,2,3] x) => (float[a,b,c,d] y) { y = DepthToSpace<blocksize=2, mode="CRD">(x) }',
        17,
    ),
    "channels of blocks": ("net (float[1,3,4,6] x) => (float[a,b,c,d] y) { y = SpaceToDepth<blocksize=2>(x) }", 17),
    "a matrix of mel bands": (
        "net (float[1] x) => (float[a,b] y) { n = Constant<value_int=6>() l = Constant<value_int=64>() "
        "r = Constant<value_int=8000>() f = Constant<value_float=100.0>() t = Constant<value_float=3000.0>() "
        "m = MelWeightMatrix(n, l, r, f, t) y = Mul(m, x) }",
        17,
    ),
    "a spectrum": ("net (float[2,7,1] x) => (float[a,b,c] y) { y = DFT<axis=1, onesided=1>(x) }", 17),
    "a spectrum turned back": ("net (float[2,6,2] x) => (float[a,b,c] y) { y = DFT<axis=1, inverse=1>(x) }", 17),
    "a short spectrum of many": (
        "net (float[1,16,1] x) => (float[a,b,c,d] y) { s = Constant<value_int=4>() w = Constant<value_floats=[0.5,1.0,1.0,0.5,0.25,0.125]>() "
        "l = Constant<value_int=6>() y = STFT(x, s, w, l) }",
        17,
    ),
    "a transposed convolution of even extents": (
        "net (float[1,2,4,5] x, float[2,3,3,2] w) => (float[a,b,c,d] y) "
        '{ y = ConvTranspose<strides=[2,1], auto_pad="SAME_UPPER">(x, w) }',
        17,
    ),
    "a transposed convolution with more at its ends": (
        "net (float[1,2,4,3] x, float[2,3,3,3] w) => (float[a,b,c,d] y) "
        "{ y = ConvTranspose<strides=[2,2], pads=[0,1,1,0], output_padding=[1,0]>(x, w) }",
        17,
    ),
    "elements of columns": (
        "net (float[3,4] x) => (float[a,b] y) { i = Constant<value = int64[2,4] {0,2,1,-1,-3,0,2,1}>() y = GatherElements(x, i) }",
        17,
    ),
    "elements of rows": (
        "net (float[3,4] x) => (float[a,b] y) { i = Constant<value = int64[3,2] {0,3,1,-1,-4,0}>() "
        "y = GatherElements<axis=1>(x, i) }",
        17,
    ),
    "taps that are moved": (
        "net (float[1,4,5,6] x, float[2,2,2,3] w, float[1,24,4,4] o, float[2] b) => (float[a,b,c,d] y) "
        "{ y = DeformConv<group=2, offset_group=2>(x, w, o, b) }",
        19,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_small_cases(case: str) -> None:
    check(*CASES[case])


def test_points_between_pixels_belong_to_even_ones() -> None:
    graph = """net (float[1,1,1,4] x, float[1,1,4,2] p) => (float[a,b,c,d] y) {
        y = GridSample<mode="nearest", align_corners=1, padding_mode="border">(x, p) }"""
    coordinates = np.array([0.5, 1.5, 2.5, 2.75]) / 1.5 - 1
    points = np.stack([coordinates, np.zeros(4)], -1).reshape(1, 1, 4, 2).astype("float32")
    x = np.array([10, 11, 12, 13], "float32").reshape(1, 1, 1, 4)
    (actual,) = evaluated(parse(graph, 16), {"x": x, "p": points})
    assert actual.ravel().tolist() == [10, 12, 12, 13]
