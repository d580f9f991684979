"""`irtool.build` and `irtool.from_onnx` of what a newcomer has at hand: it works, or the message says the next step."""

from __future__ import annotations

import io
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError

TEXT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) { subtract(%x, %y) }\n'


class Module:
    """Stands for `torch.nn.Module`, which is known by its name."""


Module.__module__, Module.__qualname__ = "torch.nn.modules.module", "Module"


class Net(Module):
    pass


@pytest.mark.parametrize(
    ("what", "step"),
    [
        ("model.onnx", "irtool.from_onnx('model.onnx')"),
        (Path("folder/Model.ONNX"), "irtool.from_onnx('folder/Model.ONNX')"),
        ("net.relay", "irtool.parse(open('net.relay').read()"),
        ("net.irtool.json", "irtool.load('net.irtool.json')"),
        ("net.pt", "torch.onnx.export"),
        (TEXT, "irtool.parse makes a module of text"),
        (b"\x08\x01", "irtool.from_onnx(data)"),
        (Net(), "torch.onnx.export(model, (example,)"),
        ((1, {}), "irtool.build(module, params)"),
        (3, ""),
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_is_no_module_is_told_the_next_step(what: Any, step: str) -> None:
    with pytest.raises(UsageError, match="a module, a function or an expression is expected") as caught:
        irtool.build(what)
    help = caught.value.diagnostics[0].help
    assert step in help and bool(step) == bool(help)


def test_an_artifact_is_called_with_its_inputs_in_order_or_by_name() -> None:
    artifact = irtool.build(irtool.parse(TEXT))
    x, y = np.array([3, 4], "f4"), np.array([1, 1], "f4")
    assert artifact(x, y).tolist() == artifact(y=y, x=x).tolist() == artifact.run([x, y]).tolist() == [2, 3]
    with pytest.raises(UsageError, match="in order or by name"):
        artifact(x, y=y)


def test_from_onnx_takes_what_holds_a_model() -> None:
    onnx = pytest.importorskip("onnx")
    text = '<ir_version: 8, opset_import: ["" : 17]>\nnet (float[2] x) => (float[2] y) { y = Neg(x) }'
    model = onnx.parser.parse_model(text)
    data = model.SerializeToString()
    expected = irtool.to_text(irtool.from_onnx(model)[0])
    program = types.SimpleNamespace(model_proto=model)
    for source in (data, bytearray(data), memoryview(data), io.BytesIO(data), io.StringIO(text), program):
        assert irtool.to_text(irtool.from_onnx(source)[0]) == expected, type(source)


def test_from_onnx_says_what_it_takes() -> None:
    pytest.importorskip("onnx")
    with pytest.raises(UsageError, match="a path, bytes, an open file or a ModelProto, not Net") as caught:
        irtool.from_onnx(Net())
    assert "torch.onnx.export" in caught.value.diagnostics[0].help
    with pytest.raises(UsageError, match="not int"):
        irtool.from_onnx(sys.maxsize)
