"""Damaged files: each is imported or refused with a diagnostic, whatever bytes it has."""

from __future__ import annotations

import random
import struct
import tracemalloc

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError

from .build import Graph, Op, Tensor, model_bytes
from .cases import cases

pytest.importorskip("tflite")
pytestmark = pytest.mark.promise("hostile TensorFlow Lite models")

MOST = 64 << 20
"""Bytes that a small damaged file may cost."""
SEEDS = (
    "CONV_2D int8",
    "STRIDED_SLICE float32",
    "CONCATENATION uint8",
    "SPLIT_V int8",
    "RESIZE_BILINEAR int8",
    "MEAN int8",
)


def imported(data: bytes) -> bool:
    """True if the file is imported; a refusal has a message with the file's name."""
    try:
        irtool.from_tflite(data, say=lambda d: None)
    except IrError as error:
        assert all(str(d).startswith("<bytes>") or d.message for d in error.diagnostics)
        return False
    return True


def models() -> list[bytes]:
    return [next(iter(cases(1, name))).model for name in SEEDS]


@pytest.mark.parametrize("number", range(len(SEEDS)))
def test_files_cut_off_anywhere(number: int) -> None:
    data = models()[number]
    for length in range(0, len(data), 7):
        imported(data[:length])


@pytest.mark.parametrize("number", range(len(SEEDS)))
def test_random_bytes_and_words(number: int) -> None:
    data, rng = models()[number], random.Random(number)
    words = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x10000, 255)
    tracemalloc.start()
    try:
        for _ in range(150):
            damaged = bytearray(data)
            for _ in range(rng.randint(1, 3)):
                place = rng.randrange(8, len(data) - 4)
                if rng.random() < 0.5:
                    damaged[place] = rng.randrange(256)
                else:
                    struct.pack_into("<I", damaged, place & ~3, rng.choice(words))
            imported(bytes(damaged))
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "shape", [(1 << 30,), (1 << 20, 1 << 20), (1 << 16, 1 << 16, 1 << 16), (-1,), (1,) * 40, (0, 1 << 30)]
)
def test_huge_shapes(shape: tuple[int, ...]) -> None:
    tensors = [Tensor("x", shape), Tensor("y", shape)]
    tracemalloc.start()
    try:
        imported(model_bytes(Graph(tensors, [Op("RELU", [0], [1])], [0], [1])))
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


def test_a_huge_result_of_small_constants() -> None:
    tensors = [
        Tensor("d", (3,), "int32", [60000, 60000, 60000]),
        Tensor("v", (), "float32", 1.0),
        Tensor("y", (), "float32"),
    ]
    assert imported(model_bytes(Graph(tensors, [Op("FILL", [0, 1], [2])], [], [2]))) in (True, False)


def test_tensors_that_no_operator_makes() -> None:
    tensors = [Tensor("x", (2,)), Tensor("y", (2,)), Tensor("z", (2,))]
    with pytest.raises(IrError, match=r"the input y of RELU is made by no operator before it"):
        irtool.from_tflite(model_bytes(Graph(tensors, [Op("RELU", [1], [2])], [0], [2])))


def test_operators_in_a_circle() -> None:
    tensors = [Tensor("x", (2,)), Tensor("y", (2,)), Tensor("z", (2,))]
    ops = [Op("RELU", [2], [1]), Op("RELU", [1], [2])]
    with pytest.raises(IrError, match=r"the input z of RELU is made by no operator before it"):
        irtool.from_tflite(model_bytes(Graph(tensors, ops, [0], [2])))


def test_subgraphs_that_call_each_other() -> None:
    tensors = [Tensor("c", (), "bool"), Tensor("x", (2,)), Tensor("y", (2,))]
    branch = Op("IF", [0, 1], [2], {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 1}, "IfOptions")
    inner = Op("CALL", [0], [1], {"Subgraph": 1}, "CallOptions")
    graphs = [
        Graph(tensors, [branch], [0, 1], [2]),
        Graph([Tensor("x", (2,)), Tensor("y", (2,))], [inner], [0], [1], "again"),
    ]
    with pytest.raises(IrError, match="subgraphs call each other"):
        irtool.from_tflite(model_bytes(*graphs))


def test_constants_of_another_size() -> None:
    tensors = [Tensor("x", (2,)), Tensor("w", (3,), "float32", b"1234"), Tensor("y", (2,))]
    with pytest.raises(IrError, match=r"the constant w of the shape \(3,\) has 4 bytes, not 12"):
        irtool.from_tflite(model_bytes(Graph(tensors, [Op("ADD", [0, 1], [2], {}, "AddOptions")], [0], [2])))


def test_attributes_without_a_form() -> None:
    tensors = [Tensor("x", (2, 3)), Tensor("w", (4, 3), "float32", np.ones((4, 3))), Tensor("y", (2, 4))]
    op = Op("FULLY_CONNECTED", [0, 1], [2], {"WeightsFormat": 1}, "FullyConnectedOptions", 2)
    with pytest.raises(IrError, match="weights_format=1"):
        irtool.from_tflite(model_bytes(Graph(tensors, [op], [0], [2])))


def test_branches_that_double_at_each_level() -> None:
    tensors = [Tensor("c", (), "bool"), Tensor("x", (2,)), Tensor("y", (2,))]

    def level(n: int) -> Graph:
        options = {"ThenSubgraphIndex": n + 1, "ElseSubgraphIndex": n + 1}
        inner = [Tensor("x", (2,)), Tensor("c", (2,), "bool"), Tensor("t", (), "bool"), Tensor("y", (2,))]
        axes = Tensor("a", (1,), "int32", [0])
        ops = [
            Op("EQUAL", [0, 0], [1], {}, "EqualOptions"),
            Op("REDUCE_ANY", [1, 4], [2], {}, "ReducerOptions"),
            Op("IF", [2, 0], [3], options, "IfOptions"),
        ]
        return Graph([*inner, axes], ops, [0], [3], f"level{n}")

    last = Graph([Tensor("x", (2,)), Tensor("y", (2,))], [Op("RELU", [0], [1])], [0], [1], "last")
    branch = Op("IF", [0, 1], [2], {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 1}, "IfOptions")
    graphs = [Graph(tensors, [branch], [0, 1], [2]), *(level(n) for n in range(1, 25)), last]
    with pytest.raises(IrError, match="in more ways than can be written out"):
        irtool.from_tflite(model_bytes(*graphs))


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        (Op("MATRIX_DIAG", [0], [1], {}, "MatrixDiagOptions"), [(1 << 20,)]),
        (
            Op(
                "AVERAGE_POOL_2D",
                [0],
                [1],
                dict.fromkeys(("StrideW", "StrideH", "FilterWidth", "FilterHeight"), 1),
                "Pool2DOptions",
            ),
            [(1, 1 << 14, 1 << 14, 1)],
        ),
        (Op("NON_MAX_SUPPRESSION_V4", [0, 2, 3, 4, 4], [1, 1], {}, "NonMaxSuppressionV4Options"), [(1 << 24, 4)]),
        (Op("DYNAMIC_UPDATE_SLICE", [0, 0, 3], [1], {}, "DynamicUpdateSliceOptions"), [(1 << 24,)]),
    ],
)
def test_arrays_that_shapes_ask_for(op: Op, shapes: list[tuple[int, ...]]) -> None:
    """Memory of a conversion has limits of its own, below those of tensors."""
    kind = "int8" if op.name == "AVERAGE_POOL_2D" else "float32"
    q = {"scale": 1.0} if kind == "int8" else {}
    tensors = [
        Tensor("x", shapes[0], kind, **q),
        Tensor("y", (), kind, **q),
        Tensor("s", (1 << 24,)),
        Tensor("n", (), "int32", 1),
        Tensor("t", (), "float32", 0.5),
    ]
    inputs = [i for i in dict.fromkeys(op.inputs) if i in (0, 2)]
    tracemalloc.start()
    try:
        assert not imported(model_bytes(Graph(tensors, [op], inputs, op.outputs[:1])))
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), 1e-40])
def test_scales_that_are_no_positive_numbers(scale: float) -> None:
    tensors = [Tensor("x", (2,), "int8", scale=scale), Tensor("y", (2,), "int8", scale=1.0)]
    with pytest.raises(IrError, match="the tensor x has the scale"):
        irtool.from_tflite(model_bytes(Graph(tensors, [Op("RELU", [0], [1], version=2)], [0], [1])))
