"""The places of nodes in what is imported."""

from __future__ import annotations

import pytest

import irtool
from irtool.ir import Call, Op, post_order

parser = pytest.importorskip("onnx.parser")


def test_operators_are_shared_and_have_no_place() -> None:
    text = '<ir_version: 10, opset_import: ["" : 22]> g (float[3] x) => (float[3] y) { y = Softsign (x) }'
    module, _ = irtool.from_onnx(parser.parse_model(text))
    nodes = post_order(module["main"])
    assert all(e.span is not None for e in nodes if isinstance(e, Call))
    operators = [e for e in nodes if isinstance(e, Op)]
    assert operators and all(e.span is None for e in operators)
