"""Tensor expressions, checked by evaluating them element by element."""

import math

import pytest

from irtool import te
from irtool.tir.expr import Binary, Const, Reduce


def test_python_numbers_take_the_operands_dtype():
    x = te.placeholder((4,), "float64")
    y = te.compute((4,), lambda i: x[i] * 2 + 1)
    assert y.dtype == "float64"
    assert te.compute((4,), lambda i: te.cast(i, "int64") * 3).dtype == "int64"


def test_mixed_dtypes_are_joined():
    x, n = te.placeholder((4,), "float32"), te.placeholder((4,), "int64")
    assert te.compute((4,), lambda i: x[i] + n[i]).dtype == "float32"
    assert te.compute((4,), lambda i: te.cast(i, "int8") + n[i]).dtype == "int64"


def test_constants_fold_and_wrap():
    e = te.const(200, "uint8") + te.const(100, "uint8")
    assert isinstance(e, Const) and e.value == 44
    e = te.const(-7, "int32")
    assert (e // 2).value == -4 and (e % 2).value == 1
    assert te.truncdiv(e, 2).value == -3 and te.truncmod(e, 2).value == -1


def test_neutral_elements_vanish():
    x = te.placeholder((4,), "int32")
    e = x[0]
    assert e + 0 is e and e * 1 is e and e // 1 is e
    assert isinstance(e * 0, Const)


def test_floats_keep_their_zeros_and_nans():
    x = te.placeholder((4,), "float32")
    e = x[0]
    assert isinstance(e + 0.0, Binary), "-0.0 + 0.0 is 0.0, so the sum must stay"
    assert isinstance(e * 0.0, Binary), "nan * 0.0 is nan"


def test_literals_hold_what_their_dtype_holds():
    assert te.const(0.1, "float32").value == 0.10000000149011612
    assert te.const(0.1, "float16").value == 0.0999755859375
    assert te.const(1.01, "bfloat16").value == 1.0078125
    assert te.const(1e6, "float16").value == math.inf


def test_a_reduction_inside_a_formula_becomes_a_tensor_of_its_own():
    x = te.placeholder((3, 5))
    k = te.reduce_axis(5)
    y = te.compute((3,), lambda i: te.sum(x[i, k], axis=k) / 5.0)
    assert not y.op.reduce_axes
    (total,) = y.op.inputs
    assert isinstance(total.op.bodies[0], Reduce) and total.shape == (3,)


def test_tuple_reductions_make_several_tensors():
    x = te.placeholder((3, 5))
    k = te.reduce_axis(5)
    index, value = te.compute((3,), lambda i: te.argmax((k, x[i, k]), axis=k))
    assert (index.dtype, value.dtype) == ("int32", "float32")
    assert index.op is value.op and len(index.op.bodies) == 2


def test_an_expression_has_no_truth_value():
    x = te.placeholder((4,))
    with pytest.raises(TypeError, match="no truth value"):
        if x[0] > 0:
            pass


def test_integer_division_needs_a_rounding():
    x = te.placeholder((4,), "int32")
    with pytest.raises(TypeError, match="floordiv"):
        x[0] / 2


def test_wrong_number_of_indices():
    x = te.placeholder((4, 5))
    with pytest.raises(TypeError, match="2 axes, 1 indices"):
        x[0]


def test_a_long_chain_is_walked_without_recursion():
    x = te.placeholder((4,))
    y = x
    for _ in range(3000):
        y = te.compute((4,), lambda i, y=y: y[i] + 1.0)
    from irtool.lower.stages import choose_stages

    assert choose_stages([y])
