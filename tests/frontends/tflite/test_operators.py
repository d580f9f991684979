"""Operators of TensorFlow Lite by their own meaning, in the interpreter and in C; tests/peers has all of them against the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError

from .agreement import outputs_of
from .build import Graph, Op, Tensor, model_bytes
from .cases import cases

pytest.importorskip("tflite")
pytestmark = pytest.mark.promise("networks in TensorFlow Lite")


def both(tensors: Sequence[Tensor], op: Op, *inputs: np.ndarray, graphs: Sequence[Graph] = ()) -> list[Any]:
    """The outputs of a model of one operator, the same ones by the interpreter and by C."""
    own = [i for i in op.inputs if i >= 0 and tensors[i].data is None]
    model = model_bytes(Graph(tensors, [op], own, op.outputs), *graphs)
    results, compiled = outputs_of(model, inputs), outputs_of(model, inputs, True)
    for r, c in zip(results, compiled, strict=True):
        np.testing.assert_allclose(r, c, rtol=1e-6)
    return results


IMAGE = np.arange(2 * 4 * 5 * 3, dtype=np.float32).reshape(2, 4, 5, 3)


def test_a_convolution_has_channels_last() -> None:
    w = np.random.default_rng(0).standard_normal((2, 3, 3, 3)).astype(np.float32)
    tensors = [
        Tensor("x", IMAGE.shape),
        Tensor("w", w.shape, "float32", w),
        Tensor("b", (2,), "float32", [1, 2]),
        Tensor("y", ()),
    ]
    options = {"Padding": 1, "StrideW": 2, "StrideH": 1, "FusedActivationFunction": 1}
    (y,) = both(tensors, Op("CONV_2D", [0, 1, 2], [3], options, "Conv2DOptions"), IMAGE)
    windows = np.lib.stride_tricks.sliding_window_view(IMAGE, (3, 3), axis=(1, 2))[:, :, ::2]
    expected = np.maximum(np.einsum("nhwcij,oijc->nhwo", windows, w) + [1, 2], 0)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


def test_same_padding_puts_the_odd_element_behind() -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 4, 1)
    tensors = [Tensor("x", x.shape), Tensor("y", ())]
    options = {"Padding": 0, "StrideW": 2, "StrideH": 1, "FilterWidth": 3, "FilterHeight": 1}
    (y,) = both(tensors, Op("AVERAGE_POOL_2D", [0], [1], options, "Pool2DOptions"), x)
    assert y.ravel().tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("begin", "end", "strides", "masks", "index"),
    [
        ([0, 1], [2, 4], [1, 2], {}, np.s_[0:2, 1:4:2]),
        ([0, -1], [2, 0], [1, -1], {}, np.s_[0:2, -1:0:-1]),
        ([1, 0], [2, 5], [1, 1], {"ShrinkAxisMask": 1}, np.s_[1, 0:5]),
        ([0, 2], [0, 0], [1, 1], {"BeginMask": 1, "EndMask": 3}, np.s_[:, 2:]),
        ([0, 0, 1], [0, 0, 3], [1, 1, 1], {"NewAxisMask": 2, "EndMask": 1}, np.s_[0:, None, 1:3]),
        ([0, 1], [0, 3], [1, 1], {"EllipsisMask": 1}, np.s_[..., 1:3]),
    ],
)
def test_strided_slices_are_those_of_python(begin: Any, end: Any, strides: Any, masks: Any, index: Any) -> None:
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    bounds = [Tensor(n, (len(v),), "int32", v) for n, v in (("b", begin), ("e", end), ("s", strides))]
    op = Op("STRIDED_SLICE", [0, 1, 2, 3], [4], masks, "StridedSliceOptions")
    (y,) = both([Tensor("x", x.shape), *bounds, Tensor("y", ())], op, x)
    assert np.array_equal(y, x[index])


def test_a_loop_runs_as_often_as_its_condition_says() -> None:
    first = [Tensor("i", (), "int32"), Tensor("x", (2,))]
    cond = Graph(
        [*first, Tensor("limit", (), "int32", 5), Tensor("t", (), "bool")],
        [Op("LESS", [0, 2], [3], {}, "LessOptions")],
        [0, 1],
        [3],
        "cond",
    )
    body = Graph(
        [*first, Tensor("one", (), "int32", 1), Tensor("j", (), "int32"), Tensor("y", (2,))],
        [Op("ADD", [0, 2], [3], {}, "AddOptions"), Op("ADD", [1, 1], [4], {}, "AddOptions")],
        [0, 1],
        [3, 4],
        "body",
    )
    tensors = [*first, Tensor("n", (), "int32"), Tensor("y", (2,))]
    op = Op("WHILE", [0, 1], [2, 3], {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}, "WhileOptions")
    x = np.array([1, 3], np.float32)
    n, y = both(tensors, op, np.array(2, np.int32), x, graphs=(cond, body))
    assert n == 5 and y.tolist() == [8, 24]


@pytest.mark.parametrize("dtype", ["float16", "int4", "int8"])
def test_weights_that_are_stored_in_fewer_bits(dtype: str) -> None:
    values = np.array([[1, -2, 3], [-4, 5, 6]])
    if dtype == "float16":
        tensors = [
            Tensor("x", (1, 3)),
            Tensor("h", (2, 3), "float16", values),
            Tensor("w", (2, 3)),
            Tensor("y", ()),
        ]
        ops = [Op("DEQUANTIZE", [1], [2], version=3), Op("FULLY_CONNECTED", [0, 2], [3], {}, "FullyConnectedOptions")]
        factor = 1.0
    else:
        packed = bytes([0xE1, 0xC3, 0x65]) if dtype == "int4" else values.astype(np.int8).tobytes()
        tensors = [Tensor("x", (1, 3)), Tensor("w", (2, 3), dtype, packed, scale=0.5), Tensor("y", ())]
        ops = [Op("FULLY_CONNECTED", [0, 1], [2], {}, "FullyConnectedOptions", 9)]
        factor = 0.5
    model = model_bytes(Graph(tensors, ops, [0], [len(tensors) - 1]))
    x = np.array([[1, 2, 4]], np.float32)
    for compiled in (False, True):
        np.testing.assert_allclose(outputs_of(model, [x], compiled)[0], x @ values.T * factor)


def test_open_extents_take_other_shapes() -> None:
    tensors = [Tensor("x", (1, 3), signature=(-1, 3)), Tensor("y", (1, 3), signature=(-1, 3))]
    data = model_bytes(Graph(tensors, [Op("RELU", [0], [1])], [0], [1]))
    assert irtool.from_tflite(data)[0]["main"].params[0].type_annotation.shape == (1, 3)
    module, _ = irtool.from_tflite(data, shapes={"x": (4, 3)})
    assert module["main"].checked_type.ret_type.shape == (4, 3)


def test_an_operator_without_a_form_says_why() -> None:
    tensors = [Tensor("s", (2,), "int32", [2, 3]), Tensor("y", (2, 3))]
    with pytest.raises(IrError) as caught:
        irtool.from_tflite(model_bytes(Graph(tensors, [Op("RANDOM_UNIFORM", [0], [1], {}, "RandomOptions")], [], [1])))
    assert "make noise an input" in caught.value.diagnostics[0].notes[0]


@pytest.mark.parametrize(
    "name",
    ["DEPTHWISE_CONV_2D int8", "ADD int8", "SOFTMAX int16", "TANH int16", "LOGISTIC int8", "MEAN int8", "SVDF int8"],
)
def test_c_and_the_interpreter_agree_bit_by_bit(name: str) -> None:
    for case in cases(7, name):
        results, compiled = outputs_of(case.model, case.inputs), outputs_of(case.model, case.inputs, True)
        for r, c in zip(results, compiled, strict=False):
            assert np.array_equal(r, c)


def test_a_loop_whose_extents_change_is_written_out() -> None:
    """The list of rows that a loop of Keras makes: at each turn the rows before, a new one, and those behind."""
    first = [Tensor("i", (), "int32"), Tensor("rows", (3, 2))]
    cond = Graph(
        [*first, Tensor("limit", (), "int32", 3), Tensor("t", (), "bool")],
        [Op("LESS", [0, 2], [3], {}, "LessOptions")],
        [0, 1],
        [3],
        "cond",
    )
    zeros, shape = Tensor("zeros", (2,), "int32", [0, 0]), Tensor("one", (1,), "int32", [1])
    inner = [
        *first,
        Tensor("step", (), "int32", 1),
        shape,
        Tensor("rest", (1,), "int32", [-1]),
        zeros,
        Tensor("j", (), "int32"),
        Tensor("n", (1,), "int32"),
        Tensor("size", (2,), "int32"),
        Tensor("before", ()),
        Tensor("new", (1, 2), "float32", [[7, 8]]),
        Tensor("m", (1,), "int32"),
        Tensor("zero", (1,), "int32", [0]),
        Tensor("place", (2,), "int32"),
        Tensor("ends", (2,), "int32", [-1, -1]),
        Tensor("behind", ()),
        Tensor("all", (3, 2)),
    ]
    ops = [
        Op("ADD", [0, 2], [6], {}, "AddOptions"),
        Op("RESHAPE", [0, 3], [7]),
        Op("CONCATENATION", [7, 4], [8], {"Axis": 0}, "ConcatenationOptions"),
        Op("SLICE", [1, 5, 8], [9]),
        Op("RESHAPE", [6, 3], [11]),
        Op("CONCATENATION", [11, 12], [13], {"Axis": 0}, "ConcatenationOptions"),
        Op("SLICE", [1, 13, 14], [15]),
        Op("CONCATENATION", [9, 10, 15], [16], {"Axis": 0}, "ConcatenationOptions"),
    ]
    body = Graph(inner, ops, [0, 1], [6, 16], "body")
    tensors = [Tensor("i", (), "int32", 1), Tensor("rows", (3, 2)), Tensor("n", (), "int32"), Tensor("y", (3, 2))]
    op = Op("WHILE", [0, 1], [2, 3], {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}, "WhileOptions")
    n, y = both(tensors, op, np.ones((3, 2), np.float32), graphs=(cond, body))
    assert n == 3 and y.tolist() == [[1, 1], [7, 8], [7, 8]]
