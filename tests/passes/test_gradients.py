"""Gradients against finite differences, for each rule that TVM has, in both modes; `test_gradients_of_cases.py` has all rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.ir import Expr, Function, Module, Tuple, TupleGetItem, TupleType, post_order
from irtool.ops.base import call
from irtool.passes.gradients.rule import differentiable
from tests.passes.slopes import STEP, Case, Make, constant, direct, finite_differences, values, weighted

TOLERANCE = 1e-5
"""Relative and absolute, for float64; central differences are exact to about the square of the step."""


def unary(name: str, low: float = 0.2, high: float = 0.9, **attributes: Any) -> list[Case]:
    return [Case(direct(name, **attributes), [(2, 3)], low, high)]


def binary(name: str) -> list[Case]:
    """Equal shapes, and each side broadcast along a missing axis and along one of extent 1."""
    shapes = [((2, 3), (2, 3)), ((2, 3), (3,)), ((1, 3), (2, 1)), ((), (2, 3)), ((4, 2, 3), (2, 1))]
    return [Case(direct(name), pair) for pair in shapes]


def reduction(name: str) -> list[Case]:
    return [
        Case(direct(name, axis=axis, keepdims=keepdims, exclude=exclude), [(2, 3, 4)])
        for axis, keepdims, exclude in [
            (None, False, False),
            ((1,), False, False),
            ((-1, 0), False, False),
            ((0, 2), True, False),
            ((1,), False, True),
            ((1, 2), True, True),
        ]
    ]


def variance(axis: tuple[int, ...], keepdims: bool, unbiased: bool) -> Make:
    def make(x: Expr) -> Expr:
        mean = call("mean", x, axis=axis, keepdims=True)
        return call("variance", x, mean, axis=axis, keepdims=keepdims, unbiased=unbiased)

    return make


def products(name: str, left: tuple[int, ...], right: tuple[int, ...], **attributes: Any) -> list[Case]:
    def flipped(shape: tuple[int, ...], flip: bool) -> tuple[int, ...]:
        return (*shape[:-2], shape[-1], shape[-2]) if flip else shape

    return [
        Case(direct(name, transpose_a=a, transpose_b=b, **attributes), [flipped(left, a), flipped(right, b)])
        for a in (False, True)
        for b in (False, True)
    ]


def conv(data: tuple[int, ...], weight: tuple[int, ...], **attributes: Any) -> Case:
    return Case(direct("nn.conv2d", channels=weight[0], kernel_size=weight[2:], **attributes), [data, weight])


def pools(name: str, **attributes: Any) -> list[Case]:
    return [
        Case(direct(name, pool_size=size, strides=strides, padding=padding, **attributes), [(1, 2, 5, 6)])
        for size, strides, padding in [((2, 2), (2, 2), (0, 0, 0, 0)), ((3, 3), (1, 2), (1, 1, 1, 1))]
    ]


def of_first(name: str) -> Make:
    """The operator's second argument only gives a shape or a type."""
    return lambda x, like: call(name, x, like)


PROBABILITIES = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
LENGTHS = np.array([2, 3], "int32")

CASES: dict[str, list[Case]] = {
    "abs": [*unary("abs"), *unary("abs", -0.9, -0.2)],
    "acos": unary("acos"),
    "acosh": unary("acosh", 1.2, 3.0),
    "add": binary("add"),
    "arange": [
        Case(
            lambda a, b, c: call("arange", a, b, c, start=a, stop=b, step=c, dtype="float64"),
            [np.array(0.5), np.array(3.2), np.array(0.7)],
        )
    ],
    "asin": unary("asin"),
    "asinh": unary("asinh"),
    "atan": unary("atan", -2.0, 2.0),
    "atanh": unary("atanh"),
    "cast": [
        Case(direct("cast", dtype="float64"), [(2, 3)]),
        Case(lambda x: call("cast", call("cast", x, dtype="float32"), dtype="float64"), [(2, 3)], step=1e-2),
    ],
    "cast_like": [Case(of_first("cast_like"), [(2, 3), (4,)])],
    "clip": [
        *unary("clip", a_min=-1.0, a_max=1.0),
        *unary("clip", 1.2, 2.0, a_min=-1.0, a_max=1.0),
        *unary("clip", -2.0, -1.2, a_min=-1.0, a_max=1.0),
    ],
    "collapse_sum_like": [Case(of_first("collapse_sum_like"), [(4, 2, 3), (2, 1)])],
    "collapse_sum_to": [
        Case(lambda x: call("collapse_sum_to", x, constant([2, 1], "int32"), shape=None), [(4, 2, 3)]),
    ],
    "concatenate": [
        Case(lambda x, y, z: call("concatenate", Tuple((x, y, z)), axis=1), [(2, 1), (2, 3), (2, 2)]),
        Case(lambda x, y: call("concatenate", Tuple((x, y, x)), axis=-1), [(2, 1), (2, 3)]),
    ],
    "contrib_reverse_reshape": [Case(direct("contrib_reverse_reshape", newshape=(-1, 0)), [(2, 3, 4)])],
    "copy": unary("copy"),
    "cos": unary("cos"),
    "cosh": unary("cosh"),
    "divide": binary("divide"),
    "dyn.ones": [
        Case(lambda s, x: call("multiply", call("dyn.ones", s, shape=(), dtype="float64"), x), [LENGTHS, (2, 3)])
    ],
    "dyn.reshape": [Case(lambda x, s: call("dyn.reshape", x, s, newshape=()), [(3, 2), LENGTHS])],
    "dyn.zeros": [
        Case(lambda s, x: call("add", call("dyn.zeros", s, shape=(), dtype="float64"), x), [LENGTHS, (2, 3)])
    ],
    "erf": unary("erf", -1.0, 1.0),
    "exp": unary("exp"),
    "expand_dims": [
        *unary("expand_dims", axis=0),
        *unary("expand_dims", axis=1, num_newaxis=2),
        *unary("expand_dims", axis=-1),
        *unary("expand_dims", axis=-2, num_newaxis=2),
    ],
    "gather_nd": [
        Case(direct("gather_nd"), [(3, 4), np.array([[0, 2, 2], [1, 3, 3]], "int32")]),
        Case(direct("gather_nd"), [(3, 4), np.array([[0, 2, 2]], "int32")]),
    ],
    "less_equal": [Case(lambda x, y: call("where", call("less_equal", x, y), x, y), [(2, 3), (2, 3)])],
    "log": unary("log"),
    "log10": unary("log10"),
    "log2": unary("log2"),
    "max": reduction("max"),
    "mean": reduction("mean"),
    "min": reduction("min"),
    "multiply": binary("multiply"),
    "negative": unary("negative"),
    "nn.avg_pool2d": [*pools("nn.avg_pool2d"), *pools("nn.avg_pool2d", count_include_pad=True)],
    "nn.batch_flatten": [Case(direct("nn.batch_flatten"), [(2, 3, 4)])],
    "nn.batch_matmul": [
        *products("nn.batch_matmul", (2, 3, 4), (2, 4, 5)),
        *products("nn.batch_matmul", (1, 3, 4), (2, 4, 5)),
    ],
    "nn.bias_add": [
        Case(direct("nn.bias_add", axis=1), [(2, 3, 4), (3,)]),
        Case(direct("nn.bias_add", axis=-1), [(2, 3, 4), (4,)]),
        Case(direct("nn.bias_add", axis=0), [(2, 3), (2,)]),
    ],
    "nn.conv2d": [
        conv((2, 3, 5, 5), (4, 3, 3, 3)),
        conv((1, 2, 6, 5), (2, 2, 3, 2), padding=(1, 0, 1, 0), strides=(2, 1)),
        conv((1, 2, 7, 7), (2, 2, 3, 3), padding=(2, 2), dilation=(2, 2)),
        conv((1, 2, 6, 6), (2, 2, 3, 3), padding=(0, 1, 2, 1), strides=(2, 2)),
        conv((1, 4, 5, 5), (4, 1, 3, 3), padding=(1, 1), groups=4),
        conv((2, 4, 5, 5), (6, 2, 1, 1), groups=2),
    ],
    "nn.cross_entropy": [Case(direct("nn.cross_entropy"), [PROBABILITIES, PROBABILITIES[::-1].copy()])],
    "nn.cross_entropy_with_logits": [Case(direct("nn.cross_entropy_with_logits"), [(2, 3), PROBABILITIES])],
    "nn.dense": [Case(direct("nn.dense", units=4), [(2, 3), (4, 3)])],
    "nn.global_avg_pool2d": [
        Case(direct("nn.global_avg_pool2d", layout="NCHW"), [(2, 3, 4, 5)]),
        Case(direct("nn.global_avg_pool2d", layout="NHWC"), [(2, 3, 4, 5)]),
    ],
    "nn.log_softmax": [*unary("nn.log_softmax", axis=-1), *unary("nn.log_softmax", axis=0)],
    "nn.matmul": products("nn.matmul", (2, 3), (3, 4), units=None),
    "nn.max_pool2d": pools("nn.max_pool2d"),
    "nn.relu": [*unary("nn.relu"), *unary("nn.relu", -0.9, -0.2)],
    "nn.softmax": [*unary("nn.softmax", axis=-1), *unary("nn.softmax", axis=0)],
    "not_equal": [Case(lambda x, y: call("where", call("not_equal", x, y), x, y), [(2, 3), (2, 3)])],
    "one_hot": [
        Case(direct("one_hot", depth=4, axis=axis, dtype="float64"), [np.array([1, 3, 0], "int32"), (), ()])
        for axis in (-1, 0)
    ],
    "ones": [Case(lambda x: call("multiply", x, call("ones", shape=(3,), dtype="float64")), [(2, 3)])],
    "ones_like": [Case(lambda x: call("multiply", x, call("ones_like", x)), [(2, 3)])],
    "reshape": [
        Case(direct("reshape", newshape=(-1, 2)), [(2, 3)]),
        Case(direct("reshape", newshape=(0, -1)), [(2, 3, 4)]),
    ],
    "reshape_like": [Case(of_first("reshape_like"), [(2, 6), (3, 4)])],
    "shape_of": [
        Case(
            lambda x: call(
                "multiply", call("cast", call("sum", call("shape_of", x, dtype="int32")), dtype="float64"), x
            ),
            [(2, 3)],
        )
    ],
    "sigmoid": unary("sigmoid", -2.0, 2.0),
    "sin": unary("sin"),
    "sinh": unary("sinh"),
    "sqrt": unary("sqrt"),
    "squeeze": [Case(direct("squeeze", axis=None), [(1, 3, 1)]), Case(direct("squeeze", axis=(0,)), [(1, 3, 1)])],
    "stack": [
        Case(lambda x, y, axis=axis: call("stack", Tuple((x, y, x)), axis=axis), [(2, 3), (2, 3)])
        for axis in (0, 1, -1)
    ],
    "strided_slice": [
        Case(direct("strided_slice", begin=(0, 1), end=(2, 3), strides=(1, 1), slice_mode="end", axes=None), [(3, 4)]),
        Case(direct("strided_slice", begin=(1, 0), end=(3, 4), strides=(1, 2), slice_mode="end", axes=None), [(3, 4)]),
        Case(direct("strided_slice", begin=(1, 0), end=(-1, 2), strides=(1,), slice_mode="size", axes=None), [(3, 4)]),
    ],
    "subtract": binary("subtract"),
    "sum": reduction("sum"),
    "take": [
        Case(direct("take", axis=0), [(4, 3), np.array([1, 3, 1], "int32")]),
        Case(direct("take", axis=1), [(4, 3), np.array([2, 0, 2, 2], "int64")]),
        Case(direct("take", axis=1), [(4, 3), np.array(2, "int32")]),
        Case(direct("take", axis=None), [(4, 3), np.array([5, 0, 5], "int32")]),
    ],
    "tan": unary("tan"),
    "tanh": unary("tanh", -1.0, 1.0),
    "transpose": [
        Case(direct("transpose", axes=axes), [(2, 3, 4)])
        for axes in (None, (1, 2, 0), (0, 2, 1), (2, 0, 1), (-1, 0, 1))
    ],
    "variance": [
        Case(variance(axis, keepdims, unbiased), [(3, 4, 2)])
        for axis, keepdims, unbiased in [((1,), False, False), ((0, 2), True, False), ((-1,), False, True)]
    ],
    "where": [
        Case(lambda x, y: call("where", constant([[True, False, True]], "bool"), x, y), [(2, 3), (2, 3)]),
        Case(lambda x, y: call("where", constant([[True, False, True]], "bool"), x, y), [(2, 3), (2, 1)]),
    ],
    "zeros": [Case(lambda x: call("add", x, call("zeros", shape=(3,), dtype="float64")), [(2, 3)])],
    "zeros_like": [Case(lambda x: call("add", x, call("zeros_like", x)), [(2, 3)])],
}
ALL = [pytest.param(c, id=f"{name}-{i}") for name, cases in CASES.items() for i, c in enumerate(cases)]


def test_cases_are_of_rules() -> None:
    assert not set(CASES) - set(differentiable())


@pytest.mark.parametrize("case", ALL)
def test_gradients_are_the_slopes(case: Case) -> None:
    arrays = values(case)
    module = weighted(case, arrays)
    want = finite_differences(module, arrays, case.step)
    for passes in ("FirstOrderGradient", "ToANormalForm,Gradient"):
        result, got = irtool.evaluate(irtool.run_passes(module, passes), arrays)
        np.testing.assert_allclose(result, irtool.evaluate(module, arrays))
        assert len(got) == len(want)
        for a, g, w in zip(arrays, got, want, strict=True):
            assert g.shape == a.shape and g.dtype == a.dtype
            np.testing.assert_allclose(
                g, w, rtol=TOLERANCE if case.step == STEP else 1e-3, atol=TOLERANCE, err_msg=passes
            )


TOWER = """#[version = "0.0.5"]
def @cube(%x: float64) -> float64 { multiply(multiply(%x, %x), %x) }
def @main(%x: float64, %y: float64) -> float64 {
  let %f = fn (%z: float64) -> float64 { multiply(%z, @cube(%y)) };
  let %r = ref(%f(%x));
  let %w = ref_write(%r, multiply(ref_read(%r), %x));
  if (less_equal(%x, %y)) { ref_read(%r) } else { exp(%x) }
}"""


@pytest.mark.parametrize(("x", "y"), [(1.5, 2.0), (2.0, 1.5)])
def test_control_flow_closures_and_references(x: float, y: float) -> None:
    """x² y³ where x ≤ y, and eˣ elsewhere."""
    module = irtool.parse(TOWER)
    after = irtool.run_passes(module, "Gradient")
    want = (2 * x * y**3, 3 * x**2 * y**2) if x <= y else (np.exp(x), 0.0)
    value, got = irtool.evaluate(after, [np.array(x), np.array(y)])
    np.testing.assert_allclose(value, x**2 * y**3 if x <= y else np.exp(x))
    np.testing.assert_allclose(got, want)
    simpler = irtool.run_passes(after, "ToANormalForm,PartialEvaluate,DeadCodeElimination{inline_once=True}")
    np.testing.assert_allclose(irtool.evaluate(simpler, [np.array(x), np.array(y)])[1], want)


def test_second_derivative() -> None:
    """The gradient of a gradient that was evaluated partially: (x³)'' = 6 x."""
    text = '#[version = "0.0.5"]\ndef @main(%x: float64) -> float64 { multiply(multiply(%x, %x), %x) }'
    once = irtool.run_passes(
        irtool.parse(text), "Gradient,PartialEvaluate,DeadCodeElimination{inline_once=True ignore_impurity=True}"
    )
    (x,) = once["main"].params
    t = once["main"].checked_type.ret_type
    assert isinstance(t, TupleType)
    slope = Function((x,), TupleGetItem(TupleGetItem(once["main"].body, 1), 0))
    twice = irtool.run_passes(irtool.infer_types(Module({"main": slope})), "ToANormalForm,Gradient")
    value, (second,) = irtool.evaluate(twice, [np.array(1.7)])
    np.testing.assert_allclose(value, 3 * 1.7**2)
    np.testing.assert_allclose(second, 6 * 1.7)


def test_checkpoint_changes_no_gradient() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(3), float64], %y: Tensor[(3), float64]) -> Tensor[(3), float64] {
  let %z = multiply(%x, exp(%y));
  MARK(tanh(multiply(%z, %x)))
}"""
    arrays = [np.array([0.1, 0.2, 0.3]), np.array([0.4, -0.5, 0.6])]
    plain, marked = (
        irtool.evaluate(irtool.run_passes(irtool.parse(text.replace("MARK", mark)), "Gradient"), arrays)
        for mark in ("copy", "annotation.checkpoint")
    )
    np.testing.assert_allclose(plain[0], marked[0])
    for a, b in zip(plain[1], marked[1], strict=True):
        np.testing.assert_allclose(a, b)


T = "Tensor[(3), float64]"
TUPLES_OF_TUPLES = [
    # a field used through the tuple and beside it, and one that is never used
    f"def @main(%x: {T}, %y: {T}) {{ %0 = tanh(%x); %1 = (%0, (%y, %0)); %2 = %1.1; multiply(multiply(%2.1, %2.0), %0) }}",
    # of a parameter, and of a call of a function
    f"def @main(%p: ({T}, ({T}, {T}))) {{ %0 = %p.1; %1 = fn (%q: ({T}, ({T}, {T}))) {{ %q.1 }}; "
    "%2 = %1((%0.1, %0)); add(multiply(%2.0, %p.0), multiply(%0.0, %0.0)) }",
]


@pytest.mark.parametrize("text", TUPLES_OF_TUPLES)
def test_both_modes_agree_on_tuples_of_tuples(text: str) -> None:
    x, y, z = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.6, 0.7]), np.array([2.0, 3.0, 4.0])
    module = irtool.infer_types(irtool.parse(text))
    packed = "%p" in text
    first = irtool.run_passes(module, "FirstOrderGradient")
    actual = irtool.evaluate(first, [(x, (y, z))] if packed else [x, y])[1]
    if packed:
        (((of_x, (of_y, of_z))),) = actual
        np.testing.assert_allclose([of_x, of_y, of_z], [y, x + 2 * y, 0 * z])
    else:
        expected = irtool.evaluate(irtool.run_passes(module, "ToANormalForm,Gradient"), [x, y])[1]
        np.testing.assert_allclose(actual, expected)
        np.testing.assert_allclose(actual[1], np.tanh(x) ** 2)


def test_a_result_of_tuples_has_gradients_of_all_its_tensors() -> None:
    module = irtool.infer_types(irtool.parse(f"def @main(%x: {T}) {{ %0 = multiply(%x, %x); (%0, (%x, (%0,))) }}"))
    x = np.array([1.0, 2.0, 3.0])
    _, (gradient,) = irtool.evaluate(irtool.run_passes(module, "FirstOrderGradient"), [x])
    np.testing.assert_allclose(gradient, 4 * x + 1)


def test_the_work_on_nested_tuples_grows_with_their_depth() -> None:
    def size(depth: int) -> int:
        packed = " ".join(f"%{i + 1} = (%{i},);" for i in range(depth))
        unpacked = " ".join(f"%{i + 1} = %{i}.0;" for i in range(depth, 2 * depth))
        text = f"def @main(%x: {T}) {{ %0 = tanh(%x); {packed} {unpacked} (%{depth}, tanh(%{2 * depth})) }}"
        rewritten = irtool.run_passes(irtool.infer_types(irtool.parse(text)), "FirstOrderGradient")
        return sum(1 for _ in post_order(rewritten.functions["main"]))

    assert size(800) < 2.2 * size(400)


def test_constructors_hold_pairs_of_values_and_gradients() -> None:
    text = """#[version = "0.0.5"]
type Box[A] { Box(A), }
def @main(%x: Tensor[(3), float32]) -> Tensor[(3), float32] {
  let %b = Box(%x);
  match (%b) { Box(%y) => multiply(%y, %y) }
}"""
    module = irtool.run_passes(irtool.parse(text), "ToANormalForm,Gradient")
    x = np.array([1, 2, 3], "float32")
    value, (gradient,) = irtool.evaluate(module, [x])
    np.testing.assert_allclose(value, x * x)
    np.testing.assert_allclose(gradient, 2 * x)
