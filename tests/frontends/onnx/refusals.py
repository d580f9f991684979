"""Refusals of small ONNX models."""

from __future__ import annotations

import pytest

import irtool
from irtool.diagnostics import IrError

onnx = pytest.importorskip("onnx")


def imported(text: str, opset: int = 22):
    head = f'<ir_version: 10, opset_import: ["": {opset}, "com.microsoft": 1, "ai.onnx.ml": 5]>\n'
    return irtool.from_onnx(onnx.parser.parse_model(head + text).SerializeToString())[0]


def refusal(text: str, opset: int = 22) -> str:
    with pytest.raises(IrError) as error:
        imported(text, opset)
    assert error.value.exit_code == 1
    return str(error.value)
