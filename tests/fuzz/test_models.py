"""Mutated ONNX models: nothing but diagnostics leaves the import, and what is imported has a text that reads back."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from irtool.frontends.onnx.operator import OnnxOperator
from tests.fuzz.microsoft_seeds import microsoft_seeds
from tests.fuzz.model_mutators import MUTATORS, mutate_model
from tests.fuzz.model_seeds import seeds
from tests.fuzz.model_trial import run_model_trial, try_model, write_model_failure

pytest.importorskip("onnx")
pytestmark = pytest.mark.promise("hostile models")
MODELS = 400


def test_mutants_are_refused_or_imported() -> None:
    outcomes = [run_model_trial(seed) for seed in range(MODELS)]
    assert [(o.seed, o.message) for o in outcomes if o.kind == "failed"] == []
    assert Counter(o.kind for o in outcomes)["imported"] > MODELS // 20


def test_seeds_are_accepted() -> None:
    every = (*seeds(), *microsoft_seeds())
    assert [try_model(seed).message for seed in every] == [""] * len(every)


def test_seeds_decide() -> None:
    assert len(MUTATORS) >= 10
    models = [[mutate_model(seeds()[n % 4], random.Random(n)) for n in range(20)] for _ in range(2)]
    assert models[0] == models[1]


def test_a_broken_operator_is_noticed_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(self: OnnxOperator, inputs: object, attributes: object) -> None:
        raise KeyError("broken")

    monkeypatch.setattr(OnnxOperator, "convert", broken)
    outcome = try_model(seeds()[0], 7)
    assert outcome.kind == "failed" and "broken" in outcome.message
    path = write_model_failure(outcome, tmp_path)
    assert path.read_bytes() == seeds()[0]
