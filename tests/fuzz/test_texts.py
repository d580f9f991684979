"""Mutated texts: nothing but `IrError` leaves any stage, and what is printed reads back; and the fuzzer notices when it does not."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import irtool
from irtool.ir import Tuple
from irtool.printer.relay import RelayPrinter
from tests.fuzz.failures import write_text_failure
from tests.fuzz.mutators import MUTATORS
from tests.fuzz.reduction import shrink
from tests.fuzz.text_seeds import constructs
from tests.fuzz.text_trial import draw_text, run_text_trial, seeds_to_mutate, try_text
from tests.pages import Recorder

TEXTS = 20_000
PARTS = 20


@pytest.mark.robustness("texts")
@pytest.mark.promise("mutated texts")
@pytest.mark.parametrize("part", range(PARTS))
def test_mutants_are_refused_or_kept(part: int, record_property: Recorder) -> None:
    size = TEXTS // PARTS
    record_property("inputs", size)
    outcomes = [run_text_trial(seed) for seed in range(part * size, (part + 1) * size)]
    assert [(o.seed, o.pipeline, o.message) for o in outcomes if o.kind == "failed"] == []
    kinds = Counter(o.kind for o in outcomes)
    assert size - kinds["refused"] > size // 6, "too few texts are accepted to show anything"
    assert kinds["passed"] > size // 100


@pytest.mark.promise("mutated texts")
@pytest.mark.parametrize("text", constructs())
def test_seeds_are_accepted(text: str) -> None:
    outcome = try_text(text)
    assert outcome.kind in ("read", "typed"), outcome.message


def test_seeds_decide() -> None:
    seeds = seeds_to_mutate()
    assert [draw_text(seeds, s) for s in range(50)] == [draw_text(seeds, s) for s in range(50)]
    assert len(MUTATORS) >= 12


@pytest.mark.promise("mutated texts")
def test_a_broken_printer_is_noticed_and_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An exception in the printer is found, and kept with little beside it."""

    def broken(self: RelayPrinter, e: Tuple, indent: int) -> str:
        raise KeyError(len(e.fields))

    monkeypatch.setattr(RelayPrinter, "_tuple", broken)
    outcome = try_text(
        '#[version = "0.0.5"]\ndef @f(%y: int8) { %y }\n\ndef @main(%x: int8) { let %z = 1;\n(%x, %x) }\n', (), 7
    )
    assert outcome.kind == "failed"
    path = write_text_failure(outcome, tmp_path)
    text = path.read_text()
    assert "Seed 7: " in text
    assert "@f" not in text
    run = next(line for line in text.splitlines() if "RUN:" in line)
    assert shlex.split(run.split("RUN:")[1])[:2] == ["irtool", "check"]


@pytest.mark.promise("mutated texts")
def test_a_text_that_reads_back_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = irtool.to_text
    monkeypatch.setattr(irtool, "to_text", lambda m, **o: original(m, **o).replace("add", "multiply"))
    outcome = try_text("def @main(%x: int8) { add(%x, %x) }")
    assert outcome.kind == "failed"
    assert "read back is another module" in outcome.message


def test_reduction_keeps_what_it_takes() -> None:
    def fails(parts: Sequence[str]) -> bool:
        return "c" in parts and "f" in parts

    assert shrink("abcdefgh", fails) == ["c", "f"]


@pytest.mark.promise("mutated texts")
def test_a_text_that_takes_all_memory_is_noticed_and_takes_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(RelayPrinter, "_tuple", lambda self, e, indent: str(bytearray(1 << 40)))
    outcome = try_text("def @main(%x: int8) { let %z = 1;\n(%x, %x) }", (), 3)
    assert outcome.kind == "failed"
    assert outcome.message.startswith("MemoryError")
    assert "MemoryError" in write_text_failure(outcome, tmp_path).read_text()
