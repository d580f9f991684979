"""Shapes of which some extents are known, as exporters compute them."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

pytest.importorskip("onnx")

pytestmark = pytest.mark.promise("onnx shapes")

HEAD = '<ir_version: 8, opset_import: ["": 17]>\n'

HEADS = """net (float[B, T, 12] x) => (float[B, T, M, N] y) {
  s = Shape (x)
  zero = Constant <value = int64 {0}> ()
  b = Gather (s, zero)
  one = Constant <value = int64 {1}> ()
  t = Gather (s, one)
  two = Constant <value = int64 {2}> ()
  w = Gather (s, two)
  four = Constant <value = int64 {4}> ()
  d = Div (w, four)
  axes = Constant <value = int64[1] {0}> ()
  bb = Unsqueeze (b, axes)
  tt = Unsqueeze (t, axes)
  dd = Unsqueeze (d, axes)
  ff = Unsqueeze (four, axes)
  to = Concat <axis = 0> (bb, tt, ff, dd)
  y = Reshape (x, to)
}"""


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ({"B": 2, "T": 5}, "Tensor[(2, 5, 4, 3), float32]"),
        ({"T": 5}, "Tensor[(?, 5, 4, 3), float32]"),
        ({"B": 2}, "Tensor[(2, ?, 4, 3), float32]"),
        ({}, "Tensor[(?, ?, 4, 3), float32]"),
    ],
)
def test_extents_that_are_known_are_in_the_type(dims, expected):
    module, _ = irtool.from_onnx((HEAD + HEADS).encode(), dims=dims)
    assert str(module["main"].checked_type.ret_type) == expected
    assert "shape_of" not in str(module)  # no shape is computed while the program runs
    x = np.arange(120, dtype="float32").reshape(2, 5, 12)
    np.testing.assert_array_equal(irtool.evaluate(module, [x]), x.reshape(2, 5, 4, 3))


def test_what_compares_extents_is_not_taken_as_known():
    text = """net (float[B, 4] x) => (bool y) {
      s = Shape <end = 1> (x)
      nine = Constant <value = int64[1] {9}> ()
      less = Less (s, nine)
      axes = Constant <value = int64[1] {0}> ()
      y = Squeeze (less, axes)
    }"""
    module, _ = irtool.from_onnx((HEAD + text).encode())
    for extent in (3, 12):
        assert irtool.evaluate(module, [np.zeros((extent, 4), "float32")]) == (extent < 9)


ATTENTION = """net (float[B, T, 12] x, float[B, T] mask) => (float[B, T, M] y)
<float[12, 12] w, int64[1] zero = {0}, int64[1] one = {1}, int64[1] rest = {-1}, int64[1] heads = {4}, int64[1] wide = {12}>
{
  s = Shape (mask)
  b = Gather (s, zero)
  t = Gather (s, one)
  p = MatMul (x, w)
  z = Relu (p)
  apart = Concat <axis = 0> (b, t, heads, rest)
  h = Reshape (z, apart)
  k = Transpose <perm = [0, 2, 1, 3]> (h)
  bh = Mul (b, heads)
  joined = Concat <axis = 0> (bh, t, rest)
  f = Reshape (k, joined)
  split = Concat <axis = 0> (b, heads, t, rest)
  g = Reshape (f, split)
  v = Transpose <perm = [0, 2, 1, 3]> (g)
  copied = Concat <axis = 0> (zero, t, wide)
  y = Reshape (v, copied)
}"""


def test_heads_are_split_and_joined_by_codes():
    """As exporters write attention with both extents open: the shape of one input, and what layers make of another."""
    import onnx
    import onnx.parser

    model = onnx.parser.parse_model(HEAD + ATTENTION)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.eye(12, dtype="float32"), "w"))
    module, params = irtool.from_onnx(model)
    text = irtool.to_text(module)
    assert "shape_of" not in text and "dyn." not in text
    assert [line.split("newshape=")[1].split(")")[0] for line in text.splitlines() if "newshape" in line] == [
        "[0, 0, 4, 3]",
        "[-3, 0, 3]",
        "[-4, -1, 4, 0, 3]",
        "[0, 0, 12]",
    ]
    x = np.arange(120, dtype="float32").reshape(2, 5, 12)
    np.testing.assert_array_equal(irtool.evaluate(module, {"x": x, "mask": x[..., 0], **params}), x)


def test_extents_that_nothing_relates_are_computed():
    text = """net (float[A, 12] x, float[B, C] z) => (float[M, N] y) {
      s = Shape (z)
      y = Reshape (x, s)
    }"""
    module, _ = irtool.from_onnx((HEAD + text).encode())
    assert "dyn.reshape" in str(module)
    x = np.arange(24, dtype="float32").reshape(2, 12)
    np.testing.assert_array_equal(irtool.evaluate(module, [x, np.zeros((3, 8), "float32")]), x.reshape(3, 8))


def test_extents_times_numbers_that_are_given_later_are_computed():
    text = """net (float[B, 12] x, int64[1] n) => (float[M, N] y) {
      s = Shape <end = 1> (x)
      t = Mul (s, n)
      rest = Constant <value_ints = [-1]> ()
      to = Concat <axis = 0> (t, rest)
      y = Reshape (x, to)
    }"""
    module, _ = irtool.from_onnx((HEAD + text).encode())
    assert "dyn.reshape" in str(module)
    x = np.arange(24, dtype="float32").reshape(2, 12)
    np.testing.assert_array_equal(irtool.evaluate(module, [x, np.array([3])]), x.reshape(6, 4))


def test_what_is_the_same_at_large_extents_alone_is_not_known():
    """A slice of 30 rows has as many as there are, if there are fewer."""
    text = """net (float[N, 4] x) => (float[R, 1] y, float[S, 4] z)
    <int64[1] zero = {0}, int64[1] one = {1}, int64[1] some = {30}, int64[1] late = {-20}> {
      rows = Slice (x, zero, some, zero)
      column = Slice (rows, zero, one, one)
      s = Shape (column)
      y = ConstantOfShape (s)
      last = Slice (x, late, some, zero)
      t = Shape (last)
      z = ConstantOfShape (t)
    }"""
    module, _ = irtool.from_onnx((HEAD + text).encode())
    for extent in (1, 3, 25, 30, 45):
        y, z = irtool.evaluate(module, [np.zeros((extent, 4), "float32")])
        assert y.shape == (min(extent, 30), 1)
        assert z.shape == (max(min(extent, 30) - max(extent - 20, 0), 0), 4)
