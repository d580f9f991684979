"""What passes know of operators: facts in the class, and what an operator still lacks."""

from __future__ import annotations

import pytest

import irtool
from irtool.ops import operators
from irtool.passes.operator_facts import facts_of, lacks
from irtool.passes.to_mixed_precision import ALWAYS, FOLLOW, NEVER
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
    assert ("a class for mixed precision" in missing) == (name not in ALWAYS | FOLLOW | NEVER and not cls.precision)


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
