"""Passes that reshape to a known shape mean it: an extent of 0 is none, and not the code that copies one."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ir import Var
from irtool.passes.core.reshaping import reshape_to

pytestmark = pytest.mark.promise("agreement")

CASES = [
    "%x: Tensor[(2, 0, 0), int8], %y: Tensor[(0, 2), int32] | reshape_like(%x, %y)",
    "%x: Tensor[(0, 4), float32] | reshape(reshape(%x, newshape=[4, 0], allowzero=True), newshape=[2, 0, 5], allowzero=True)",
    "%x: Tensor[(3, 0, 2), float32] | reshape(reshape(%x, newshape=[0, 6], allowzero=True), newshape=[2, 0], allowzero=True)",
]


@pytest.mark.parametrize("case", CASES)
def test_zero_extents_stay(case: str) -> None:
    params, _, body = case.partition(" | ")
    module = irtool.infer_types(irtool.parse(f"def @main({params}) {{ {body} }}"))
    after = irtool.run_passes(module, "SimplifyExpr")
    assert after["main"].ret_type == module["main"].ret_type
    inputs = [np.zeros([int(d) for d in p.checked_type.shape], p.checked_type.dtype) for p in module["main"].params]
    assert irtool.evaluate(after, inputs).shape == irtool.evaluate(module, inputs).shape


def test_other_shapes_are_written_as_ever() -> None:
    assert "allowzero" not in irtool.to_text(reshape_to(Var("x"), (2, 3)))


def test_the_gradient_of_a_product_of_no_columns() -> None:
    params = "%x: Tensor[(2, 3, 0), float32], %w: Tensor[(4, 0), float32]"
    module = irtool.infer_types(irtool.parse(f"def @main({params}) {{ nn.dense(%x, %w, units=4) }}"))
    after = irtool.infer_types(irtool.run_passes(module, "FirstOrderGradient"))
    _, gradients = irtool.evaluate(after, [np.zeros((2, 3, 0), "float32"), np.zeros((4, 0), "float32")])
    assert [g.shape for g in gradients] == [(2, 3, 0), (4, 0)]


def test_a_quantized_product_with_no_columns() -> None:
    params = "%x: Tensor[(2, 3, 8), int8], %y: Tensor[(2, 0, 8), int8]"
    call = 'qnn.batch_matmul(%x, %y, 1, 2, 0.5f, 0.5f, out_dtype="int32", transpose_b=True, transpose_a=0)'
    module = irtool.infer_types(irtool.parse(f"def @main({params}) {{ {call} }}"))
    after = irtool.infer_types(irtool.run_passes(module, "qnn.CanonicalizeOps"))
    assert after["main"].ret_type == module["main"].ret_type
    assert irtool.evaluate(after, [np.zeros((2, 3, 8), "int8"), np.zeros((2, 0, 8), "int8")]).shape == (2, 3, 0)
