"""What passes know of operators: facts in the class, and what an operator still lacks."""

from __future__ import annotations

import pytest

import irtool
from irtool.ops import operators
from irtool.passes.operator_facts import facts_of, lacks
from tests.command_line import irtool as command

pytestmark = pytest.mark.promise("operator facts")


def test_what_is_known_and_what_is_lacking() -> None:
    assert facts_of(operators.get("nn.conv2d")) == {
        "gradient": "has a rule",
        "layout": "has a rule",
        "precision": "always",
        "quantized": "has an integer form",
        "legalized": "",
    }
    assert facts_of(operators.get("qnn.dense"))["legalized"] == "FTVMQnnLegalize, FTVMQnnCanonicalize"
    assert lacks(operators.get("nn.conv2d")) == []
    assert lacks(operators.get("argsort")) == ["a gradient", "a layout rule", "a class for mixed precision"]


@pytest.mark.parametrize("name", [c.name for c in operators if not c.vendor])
def test_each_operator_can_be_asked(name: str) -> None:
    cls = operators.get(name)
    facts, missing = facts_of(cls), lacks(cls)
    assert facts["precision"] in ("", "always", "follow", "never")
    assert ("a gradient" in missing) == (not facts["gradient"])
    assert ("a class for mixed precision" in missing) == (not cls.precision)


def test_the_manual_shows_it() -> None:
    out = command("ops", "argsort")[1]
    assert "still lacks: a gradient, a layout rule, a class for mixed precision" in out
    assert (
        "known to passes:\n  gradient: has a rule\n  layout: has a rule\n  precision: always\n"
        in command("ops", "nn.conv2d")[1]
    )
    assert "still lacks" not in command("ops", "nn.conv2d")[1]


def test_the_class_says_how_it_is_treated(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { cos(%x) }'
    run = lambda: irtool.to_text(irtool.run_passes(irtool.parse(text), "ToMixedPrecision"), types="none")  # noqa: E731
    assert 'cast(%x, dtype="float16")' in run()
    monkeypatch.setattr(operators.get("cos"), "precision", "never")
    assert "float16" not in run()
    assert facts_of(operators.get("cos"))["precision"] == "never"
    assert "a class for mixed precision" not in lacks(operators.get("cos"))


def rewritten(text: str, passes: str) -> str:
    return irtool.to_text(irtool.run_passes(irtool.parse(f'#[version = "0.0.5"]\n{text}'), passes), types="none")


def test_facts_reach_the_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stated in a class is what FastMath, FoldConstant, ConvertLayout and FakeQuantizationToInteger do."""
    cosine = operators.get("cos")
    monkeypatch.setattr(cosine, "fast_form", "fast_tanh")
    assert "fast_tanh(%x)" in rewritten("def @main(%x: Tensor[(2), float32]) { cos(%x) }", "FastMath")

    folded = "def @main(%x: Tensor[(), float32]) { add(cos(0f), %x) }"
    assert "cos" not in rewritten(folded, "FoldConstant")
    monkeypatch.setattr(cosine, "folds", False)
    assert "cos(0f)" in rewritten(folded, "FoldConstant")

    image, kernel = "Tensor[(1, 4, 8, 8), float32]", "Tensor[(4, 4, 1, 1), float32]"
    after_conv = f"def @main(%x: {image}, %w: {kernel}) {{ cos(nn.conv2d(%x, %w, channels=4, kernel_size=[1, 1])) }}"
    convert = 'ConvertLayout{desired_layouts={"nn.conv2d": ["NHWC", "default"]}}'
    assert "layout_transform(%3" in rewritten(after_conv, convert)  # behind the cosine
    monkeypatch.setattr(cosine, "layout_rule", "")
    assert "cos(%3)" in rewritten(after_conv, convert)  # in front of it

    region = """def @main(%x: Tensor[(2, 4), int8]) {
      qnn.quantize(cos(qnn.dequantize(%x, 0.5f, 0)), 0.5f, 0, out_dtype="int8") }"""
    assert "qnn.dequantize" in rewritten(region, "FakeQuantizationToInteger")
    monkeypatch.setattr(cosine, "integer_form", "same")
    assert "qnn.dequantize" not in rewritten(region, "FakeQuantizationToInteger")
