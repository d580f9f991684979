"""Corners of elementwise operators: what C leaves undefined, rounding, and what the errors say."""

import math

import numpy as np
import pytest

from irtool.diagnostics import IrError
from irtool.infer import infer_expr
from irtool.ir import ANY, TensorType, Var
from irtool.ops import call, operators
from irtool.ops.erf import erf, erfc


def value(name, *inputs, **attributes):
    with np.errstate(all="ignore"):  # as the interpreter does
        return operators.get(name).make(attributes).evaluate(*map(np.asarray, inputs))


def inferred(name, *types, **attributes):
    return infer_expr(call(name, *[Var(f"x{i}", t) for i, t in enumerate(types)], **attributes)).checked_type


INT = np.array([7, -7, 7, -7, -(2**31), 5], "int32")
BY = np.array([2, 2, -2, -2, -1, 0], "int32")


@pytest.mark.parametrize(
    "name, expected",
    [
        ("divide", [3, -3, -3, 3, -(2**31), 0]),
        ("trunc_divide", [3, -3, -3, 3, -(2**31), 0]),
        ("floor_divide", [3, -4, -4, 3, -(2**31), 0]),
        ("mod", [1, -1, 1, -1, 0, 0]),
        ("trunc_mod", [1, -1, 1, -1, 0, 0]),
        ("floor_mod", [1, 1, -1, -1, 0, 0]),
    ],
)
def test_integer_division_is_defined_everywhere(name, expected):
    result = value(name, INT, BY)
    assert result.tolist() == expected and result.dtype == "int32"


def test_shifts_by_the_width_shift_everything_out():
    assert value("left_shift", np.array([1, 1], "int32"), np.array([31, 32], "int32")).tolist() == [-(2**31), 0]
    assert value("right_shift", np.array([-8, -8], "int32"), np.array([1, 40], "int32")).tolist() == [-4, -1]


def test_integer_powers():
    base, by = np.array([2, -1, -1, 1, 0, 3], "int32"), np.array([10, -3, -2, -5, -1, 0], "int32")
    assert value("power", base, by).tolist() == [1024, -1, 1, 1, 0, 1]


def test_round_takes_halves_away_from_zero():
    x = np.array([0.5, 1.5, -2.5, 0.49999997, 2**23 + 1], "float32")
    assert value("round", x).tolist() == [1, 2, -3, 0, 2**23 + 1]


def test_clip_keeps_to_the_range_of_the_dtype():
    x = np.array([0, 100, 255], "uint8")
    assert value("clip", x, a_min=-5.0, a_max=1e9).tolist() == [0, 100, 255]
    assert value("clip", x, a_min=2.9, a_max=100.9).tolist() == [2, 100, 100]


@pytest.mark.parametrize("shift", [-9, -1, 0, 3])
@pytest.mark.parametrize("multiplier", [2**30, 1518500250, 2**31 - 1])
def test_fixed_point_multiply_rounds_halves_up(multiplier, shift):
    x = np.array([-1001, -2, -1, 0, 1, 2, 3, 999], "int32")
    if multiplier == 2**30 and shift == 1:
        pytest.skip("no shift")
    exact = [math.floor(v * multiplier * 2.0**shift / 2**31 + 0.5) for v in x.tolist()]
    assert value("fixed_point_multiply", x, multiplier=multiplier, shift=shift).tolist() == exact


def test_erfc_is_that_of_the_math_library():
    x = np.concatenate([np.linspace(-8, 26.2, 4001), [0.0, 11.99, 12.0, 12.01]])
    assert np.allclose(erfc(x), [math.erfc(v) for v in x], rtol=2e-15, atol=0)
    assert np.isnan(erfc(np.array(np.nan))) and erfc(np.array(np.inf)) == 0 and erfc(np.array(-np.inf)) == 2
    assert 0 < erfc(np.array(26.6)) < 1e-300 and erfc(np.array(1e300)) == 0


def test_erf_is_that_of_the_math_library():
    x = np.concatenate([np.linspace(-7, 7, 1001), [1e-300, -1e-8]])
    assert np.allclose(erf(x), [math.erf(v) for v in x], rtol=1e-15, atol=0)
    assert np.isnan(erf(np.array(np.nan)))


@pytest.mark.parametrize("fast, exact", [("fast_exp", np.exp), ("fast_tanh", np.tanh), ("fast_erf", erf)])
def test_fast_functions_are_close(fast, exact):
    x = np.linspace(-6, 6, 301).astype("float32")
    assert np.allclose(value(fast, x), exact(x), rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize(
    "name, expected",
    [("isnan", [False, True, False]), ("isinf", [False, False, True]), ("isfinite", [True, False, False])],
)
def test_questions_about_floats(name, expected):
    assert value(name, np.array([1, np.nan, -np.inf])).tolist() == expected


def test_bits_of_floats_are_refused():
    with pytest.raises(IrError, match="bitwise_and has no meaning on float32"):
        value("bitwise_and", np.ones(2, "float32"), np.ones(2, "float32"))


def test_broadcasting_takes_unknown_extents():
    a, b = TensorType((ANY, 3, 1)), TensorType((2, 1, ANY))
    assert inferred("add", a, b) == TensorType((2, 3, ANY))


def test_broadcasting_refuses_by_axis_and_values():
    with pytest.raises(IrError, match="axis 1 is 3 and 4"):
        inferred("add", TensorType((1, 3)), TensorType((2, 4)))


def test_data_types_must_agree():
    with pytest.raises(IrError, match="float32 and int32"):
        inferred("add", TensorType((1,)), TensorType((1,), "int32"))


def test_a_sum_has_the_type_of_what_it_is_collapsed_to():
    assert inferred("collapse_sum_like", TensorType((4, 3)), TensorType((1, 3))) == TensorType((1, 3))
    with pytest.raises(IrError):
        inferred("collapse_sum_like", TensorType((4, 3)), TensorType((2, 3)))


def test_reductions_of_integers_stay_integers():
    x = np.array([[3, 4], [-3, -4]], "int32")
    assert value("mean", x, axis=[1]).tolist() == [3, -3]
    assert value("sum", np.full(300, 100, "int8")).dtype == "int8"


def test_half_precision_sums_are_accumulated_wide():
    x = np.ones((5000, 2), "float16")
    assert value("sum", x, axis=[0]).tolist() == [5000, 5000]


def test_argmax_counts_through_several_axes():
    x = np.array([[[1, 9], [9, 2]]])
    assert value("argmax", x, axis=[1, 2]).tolist() == [1]
    assert value("argmax", x, axis=[1, 2], select_last_index=True).tolist() == [2]
    assert value("argmin", x, axis=[0, 1], keepdims=True).tolist() == [[[0, 1]]]
