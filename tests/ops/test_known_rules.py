"""Dynamic operators ask the rule of the static one; results that the type leaves no room for are refused."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.ir import IncompleteType, TensorType
from irtool.ops.base import RelationError
from irtool.ops.known import Known

pytestmark = pytest.mark.promise("agreement")


def test_a_method_that_there_is_not() -> None:
    text = """def @main(%x: Tensor[(1, 2, 3, 4), float32], %s: Tensor[(2), int64], %r: Tensor[(4), float32]) {
      dyn.image.resize2d(%x, %s, %r, size=[], roi=[], layout="NHWC", method="nhwc", rounding_method="") }"""
    with pytest.raises(IrError, match='method is "nhwc"; it can be') as caught:
        irtool.parse(text)
    assert caught.value.diagnostics[0].span is not None


def test_an_axis_that_is_named_twice() -> None:
    text = "def @main(%x: Tensor[(1, 1, 3, 1), int8], %a: Tensor[(2), int64]) { dyn.squeeze(%x, %a, axis=[]) }"
    module = irtool.infer_types(irtool.parse(text))
    assert irtool.evaluate(module, [np.ones((1, 1, 3, 1), "int8"), np.array([0, 3])]).shape == (1, 3)
    with pytest.raises(IrError, match=r"gives the shape \(1, 3, 1\), which is not of the type"):
        irtool.evaluate(module, [np.ones((1, 1, 3, 1), "int8"), np.array([0, 0])])


def test_vectors_of_several_lengths() -> None:
    text = """def @main(%x: Tensor[(4, 3, 5), uint8], %b: Tensor[(1), int64], %e: Tensor[(2), int64]) {
      dyn.strided_slice(%x, %b, %e, %e, begin=None, end=None, strides=None, axes=None) }"""
    module = irtool.infer_types(irtool.parse(text))
    assert str(module["main"].ret_type) == "Tensor[(?, ?, 5), uint8]"
    result = irtool.evaluate(module, [np.ones((4, 3, 5), "uint8"), np.array([1]), np.array([2, 2])])
    assert result.shape == (1, 1, 5)


def test_types_that_are_known() -> None:
    known, t = Known(), TensorType((2,), "int8")
    assert known.unify(IncompleteType(), t) is t
    assert known.unify(t, TensorType((2,), "int8")) is t
    with pytest.raises(RelationError, match="differ"):
        known.unify(t, TensorType((3,), "int8"))
    assert known.argument(0) is None
    assert isinstance(known.out, IncompleteType)
