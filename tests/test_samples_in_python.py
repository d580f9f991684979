"""The programs of `samples/*.py`: what each prints, and that its results are right."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import irtool

pytestmark = pytest.mark.promise("Python API")

ROOT = Path(__file__).parent.parent
LISTINGS = ROOT.parent / "shared" / "listings"


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"sample_{name}", ROOT / "samples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_program_is_tested_and_documented() -> None:
    page = (ROOT / "docs" / "coming-from-tvm.md").read_text()
    for path in (ROOT / "samples").glob("*.py"):
        assert f"test_{path.stem}" in globals(), path.stem
        assert f"samples/{path.name}" in page


def test_simplenet(capsys) -> None:
    function, params, image, output = program("simplenet").main()
    printed = capsys.readouterr().out
    assert "nn.conv2d(%data, %graph_conv_weight, strides=[2, 2], padding=[1, 1, 1, 1], channels=32" in printed
    bound = irtool.passes.core.bind.bind_params(irtool.Module.from_expr(function), params)
    expected = irtool.evaluate(bound, {"data": image})
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-4)
    if (LISTINGS / "simplenet.txt").exists():
        text = (LISTINGS / "simplenet.txt").read_text().strip()
        assert text in printed


def test_mlp(capsys) -> None:
    module, inputs, output = program("mlp").main()
    printed = capsys.readouterr().out
    assert "nn.matmul(%x, %weight1, units=None)" in printed
    np.testing.assert_allclose(output, irtool.evaluate(module, inputs), rtol=1e-4, atol=1e-4)


def test_lower_call(capsys) -> None:
    lowered, nest = program("lower_call").main()
    printed = capsys.readouterr().out
    assert "T_relu[ax0, ax1] = max(0.0, x_te[ax0, ax1])" in printed
    assert "for outer in 2:\n    for inner in 4 vectorized:\n      T_relu[((outer * 4) + inner)] = " in printed
    assert "T_relu[((outer*4) + inner)] = max(0f32, x_te[((outer*4) + inner)])" in printed
    assert "kind='cuda'" in printed
    assert [tuple(t.shape) for t in lowered.outputs] == [(4, 2)]
    assert nest.name == "main"


def test_decompose(capsys) -> None:
    whole, one, sequence = program("decompose").main()
    assert "nn.batch_norm" not in str(whole)
    assert "nn.batch_norm" not in str(one["main"])
    assert "nn.batch_norm" in str(one["other"])
    assert "Primitive=1" in str(sequence)
    assert "nn.batch_norm" not in str(sequence)
    assert "sqrt" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r, te: irtool.lower_call(r.var("x"), [], "c"), "the call of an operator is expected, not a Var"),
        (
            lambda r, te: irtool.lower_call(r.nn.relu(r.var("x", shape=(4,))), []),
            "takes 1 tensors here, but 0 are given",
        ),
        (
            lambda r, te: irtool.lower_call(r.nn.relu(r.var("x", shape=(4,))), [te.placeholder((5,), name="x")]),
            "stands for an argument of type",
        ),
        (
            lambda r, te: irtool.lower_call(r.nn.relu(r.var("x", shape=(4,))), te.placeholder((4,), name="x")),
            "a list of tensors",
        ),
        (lambda r, te: irtool.lower_call(r.nn.relu(r.var("x", shape=(4,))), [3]), "a list of tensors"),
    ],
)
def test_mistakes_in_lowering_a_call(call, message: str) -> None:
    from irtool import relay, te

    with pytest.raises(irtool.IrError, match=message):
        call(relay, te)
