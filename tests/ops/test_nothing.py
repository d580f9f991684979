"""A result without elements is computed by nobody: the interpreter and C accept the same calls, whatever the attributes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.ops import operators
from irtool.ops.cases import Case, cases_of
from tests.fuzz.agreement import try_text

pytestmark = pytest.mark.promise("agreement")

CASES = [
    case
    for cls in operators
    for case in cases_of(cls)
    if re.search(r"\([^)]*\b0[,)]", " ".join(type for _, type, _ in case.parameters))
    if not case.refusal and not cls.name.startswith("dyn.")
]
"""The cases of operators on tensors without elements."""


def _text(case: str) -> str:
    params, _, body = case.replace("'", '"').partition(" | ")
    return f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}\n'


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.place} {case.operator}")
def test_all_accept(case: Case) -> None:
    outcome = try_text(case.program)
    assert outcome.kind == "accepted", outcome.message


def test_blocks_of_any_size_move_nothing() -> None:
    outcome = try_text(_text("%x: Tensor[(0, 0, 1, 0), uint8] | nn.depth_to_space(%x, block_size=9223372036854775807)"))
    assert outcome.kind == "accepted", outcome.message


def test_extents_beyond_all_addresses_are_refused_by_all() -> None:
    text = _text("%x: Tensor[(0, 1, 1, 1), float32] | tile(%x, reps=[1, 2147483647, 2147483647, 2147483647])")
    outcome = try_text(text)
    assert outcome.kind in ("refused", "uncomputed"), outcome.message


def test_what_has_no_meaning_has_none_without_elements() -> None:
    module = irtool.parse('def @main(%x: Tensor[(0), float32]) { torch_op(%x, serialized_function="AA") }')
    with pytest.raises(IrError):
        irtool.evaluate(irtool.infer_types(module), [np.zeros(0, "float32")])
