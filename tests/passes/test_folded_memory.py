"""Memory of folded constants: permutations of axes and contiguous parts share the memory of their operand."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ir import Constant
from irtool.passes.core.bind import bind_params

VIEWS = {
    "transpose(%w, axes=[1, 0, 2])": True,
    "transpose(transpose(%w, axes=[1, 0, 2]), axes=[2, 0, 1])": True,
    "transpose(%w, axes=None)": True,
    "strided_slice(%w, begin=[0, 0, 0], end=[1, 6, 4], strides=[1, 1, 1], axes=[0, 1, 2])": True,
    "strided_slice(%w, begin=[0, 0, 0], end=[8, 6, 4], strides=[1, 2, 1], axes=[0, 1, 2])": False,
    "reverse(%w, axis=1)": False,
    "broadcast_to(%w, shape=[3, 8, 6, 4])": False,
}


@pytest.mark.parametrize("body", VIEWS)
def test_views_share_memory(body: str) -> None:
    module = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%w: Tensor[(8, 6, 4), float32]) {{ {body} }}')
    w = np.arange(8 * 6 * 4, dtype="float32").reshape(8, 6, 4)
    expected = np.asarray(irtool.evaluate(module, [w]))
    folded = irtool.run_passes(irtool.infer_types(bind_params(module, {"w": w})), "FoldConstant")
    constant = folded["main"].body
    assert isinstance(constant, Constant)
    np.testing.assert_array_equal(constant.data, expected)
    assert np.shares_memory(constant.data, w) == VIEWS[body]
    reread = irtool.parse(irtool.to_text(folded))["main"].body
    np.testing.assert_array_equal(reread.data, expected)
    built = irtool.build(folded, target="c")
    np.testing.assert_array_equal(np.asarray(built.run([])), expected)
