"""Weights in blocks stay packed: FoldConstant transposes them, and evaluates nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ir import Call, Constant, Function, Module, TensorType, Var
from irtool.ops.base import call, operator_name


@pytest.mark.parametrize("axes", [None, [1, 0, 2], [2, 0, 1], [-1, 1, 0]])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("zeros", [False, True])
def test_a_transpose_moves_into_the_constants(axes: list[int] | None, axis: int, zeros: bool) -> None:
    rng = np.random.default_rng(0)
    shape = [4, 6, 8]
    blocks = [-(-d // 4) if n == axis % 3 else d for n, d in enumerate(shape)]
    zero = Constant(rng.integers(0, 16, blocks).astype("uint8"), "uint4") if zeros else Constant(np.asarray(8, "int32"))
    weights = call(
        "qnn.dequantize_blocks",
        Constant(rng.integers(0, 16, shape).astype("uint8"), "uint4"),
        Constant(rng.random(blocks).astype("float32")),
        zero,
        axis=axis,
        block_size=4,
    )
    moved = call("transpose", weights, axes=axes)
    x = Var("x", irtool.infer_types(moved).checked_type)
    module = irtool.infer_types(Module({"main": Function((x,), call("add", x, moved))}))
    folded = irtool.run_passes(module, "FoldConstant")
    inner = folded["main"].body.args[1]
    assert isinstance(inner, Call) and operator_name(inner) == "qnn.dequantize_blocks"
    assert inner.args[0].dtype == "uint4"
    value = np.zeros(x.type_annotation.static_shape, "float32")
    np.testing.assert_array_equal(irtool.evaluate(folded, [value]), irtool.evaluate(module, [value]))


def test_a_call_on_constants_stays() -> None:
    weights = call(
        "qnn.dequantize_blocks",
        Constant(np.ones((2, 32), "int8"), "int4"),
        Constant(np.ones((2, 1), "float32")),
        Constant(np.asarray(0, "int32")),
    )
    x = Var("x", TensorType((2, 32), "float32"))
    module = irtool.infer_types(Module({"main": Function((x,), call("add", x, weights))}))
    assert irtool.run_passes(module, "FoldConstant{fold_qnn=1}") is module or irtool.structural_equal(
        irtool.run_passes(module, "FoldConstant{fold_qnn=1}"), module
    )
