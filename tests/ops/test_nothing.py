"""A result without elements is computed by nobody: the interpreter and C accept the same calls, whatever the attributes."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from tests.fuzz.agreement import try_text

pytestmark = pytest.mark.promise("agreement")

CASES = [
    "%x: Tensor[(0, 0, 1, 0), uint8] | nn.depth_to_space(%x, block_size=9223372036854775807)",
    "%x: Tensor[(0, 4, 2, 2), float32] | nn.depth_to_space(%x, block_size=2)",
    "%x: Tensor[(0, 2, 3, 4), float32] | nn.conv2d(%x, ones(shape=[3, 2, 1, 1], dtype='float32'), kernel_size=[1, 1])",
    "%x: Tensor[(0, 5), float32] | nn.softmax(%x)",
    "%x: Tensor[(2, 0), float32] | (sort(%x), cumsum(%x, axis=1))",
    "%x: Tensor[(0, 3), int32] | topk(%x, k=2, dtype='int32')",
    "%x: Tensor[(0, 3, 3, 2), float32] | image.resize2d(%x, size=[4, 4], roi=[0, 0, 0, 0], layout='NHWC')",
]


def _text(case: str) -> str:
    params, _, body = case.replace("'", '"').partition(" | ")
    return f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}\n'


@pytest.mark.parametrize("case", CASES)
def test_all_accept(case: str) -> None:
    found = try_text(_text(case))
    assert found.kind == "accepted", found.message


def test_extents_beyond_all_addresses_are_refused_by_all() -> None:
    text = _text("%x: Tensor[(0, 1, 1, 1), float32] | tile(%x, reps=[1, 2147483647, 2147483647, 2147483647])")
    found = try_text(text)
    assert found.kind in ("refused", "uncomputed"), found.message


def test_what_has_no_meaning_has_none_without_elements() -> None:
    module = irtool.parse('def @main(%x: Tensor[(0), float32]) { torch_op(%x, serialized_function="AA") }')
    with pytest.raises(IrError):
        irtool.evaluate(irtool.infer_types(module), [np.zeros(0, "float32")])
