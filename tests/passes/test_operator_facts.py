"""What passes know of operators: facts in the class, and what an operator still lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

import irtool
from irtool.commands.operator_facts import facts_of, lacks
from irtool.ops import operators
from tests.command_line import irtool as command

LACKING = Path(__file__).parents[1] / "ops" / "lacking.txt"

pytestmark = pytest.mark.promise("operator facts")


def test_what_is_known_and_what_is_lacking() -> None:
    assert facts_of(operators.get("nn.conv2d")) == {
        "gradient": "a rule of its own",
        "layout": "convolution",
        "precision": "always",
        "quantized": "a rule of its own",
        "legalized": "",
        "fast form": "",
    }
    assert facts_of(operators.get("qnn.dense"))["legalized"] == "FTVMQnnLegalize, FTVMQnnCanonicalize"
    assert lacks(operators.get("nn.conv2d")) == []
    assert lacks(operators.get("cumsum")) == ["a layout rule", "a precision class"]


def test_what_is_lacking_may_only_become_less() -> None:
    """`lacking.txt` has what each operator lacks: a new operator lacks nothing, and what is mended leaves the list."""
    listed = dict(line.split(": ", 1) for line in LACKING.read_text(encoding="utf-8").splitlines())
    lacking = {c.name: ", ".join(lacks(c)) for c in operators if lacks(c)}
    more = {n: what for n, what in lacking.items() if not set(what.split(", ")) <= set(listed.get(n, "").split(", "))}
    assert not more, "state these in the operators' classes, or file rules (docs/extending.md)"
    assert listed == lacking, "take out of tests/ops/lacking.txt what is lacking no more"


def test_what_needs_no_kernel_lacks_none() -> None:
    assert lacks(operators.get("memory.alloc_storage")) == ["a case"]
    assert lacks(operators.get("qnn.quantize")) == []
    assert lacks(operators.get("torch_op")) == []
    assert facts_of(operators.get("zeros"))["layout"] == "none"


def test_the_manual_shows_it() -> None:
    out = command("ops", "cumsum")[1]
    assert "still lacks: a layout rule, a precision class" in out
    section = "known to passes:\n  gradient: a rule of its own\n  layout: convolution\n  precision: always\n"
    assert section in command("ops", "nn.conv2d")[1]
    assert "still lacks" not in command("ops", "nn.conv2d")[1]
    assert "known to passes:\n  gradient: none\n" in command("ops", "argsort")[1]


def test_the_class_says_how_it_is_treated(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { cos(%x) }'
    run = lambda: irtool.to_text(irtool.run_passes(irtool.parse(text), "ToMixedPrecision"), types="none")  # noqa: E731
    assert 'cast(%x, dtype="float16")' in run()
    monkeypatch.setattr(operators.get("cos"), "precision", "never")
    assert "float16" not in run()
    assert facts_of(operators.get("cos"))["precision"] == "never"
    assert "a precision class" not in lacks(operators.get("cos"))


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
