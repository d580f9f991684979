"""Models with open dimensions have the types that their text has, whichever of them are open."""

from __future__ import annotations

from itertools import product

import pytest

import irtool
from tests.fuzz.text_trial import check_text

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.promise("hostile models")

INFERENCE = "{ y = BatchNormalization(x, s, b, m, v) }"
TRAINING = "{ y, m2, v2 = BatchNormalization<training_mode=1>(x, s, b, m, v) }"


@pytest.mark.parametrize("open_", [*product((False, True), repeat=5)])
@pytest.mark.parametrize("body", [INFERENCE, TRAINING])
def test_batch_norm(body: str, open_: tuple[bool, ...]) -> None:
    data, *vectors = open_
    inputs = [f"float[2,{'C' if data else 3},4,5] x"]
    inputs += [f"float[{'N' if o else 3}] {n}" for n, o in zip("sbmv", vectors, strict=True)]
    outputs = "float[2,3,4,5] y" + ", float[3] m2, float[3] v2" * (body == TRAINING)
    text = f'<ir_version: 10, opset_import: ["": 15]> net ({", ".join(inputs)}) => ({outputs}) {body}'
    module, _ = irtool.from_onnx(onnx.parser.parse_model(text).SerializeToString())
    check_text(module, "what was imported")
    narrow = [v.name for v, o in zip(module.functions["main"].params[1:], vectors, strict=True) if not o]
    types = {p.name: str(p.checked_type.shape) for p in module.functions["main"].params}
    assert all(types[n] == "(3,)" for n in narrow) or data
