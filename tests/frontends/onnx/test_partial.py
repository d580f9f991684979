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
    ("dims", "wanted"),
    [
        ({"B": 2, "T": 5}, "Tensor[(2, 5, 4, 3), float32]"),
        ({"T": 5}, "Tensor[(?, 5, 4, 3), float32]"),
        ({}, "Tensor[(?, ?, 4, 3), float32]"),
    ],
)
def test_extents_that_are_known_are_in_the_type(dims, wanted):
    module, _ = irtool.from_onnx((HEAD + HEADS).encode(), dims=dims)
    assert str(module["main"].checked_type.ret_type) == wanted
    # With one extent that is not known, no shape is computed while the program runs.
    assert ("shape_of" in str(module)) == (not dims)
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
