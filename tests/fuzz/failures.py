"""Failures of the fuzzer as files: each is a golden test that fails until the defect is mended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import irtool
from irtool.ir import Module
from tests.fuzz.modules import fuzz_module
from tests.fuzz.reduction import reduce_failure
from tests.fuzz.text_trial import TextOutcome
from tests.fuzz.trial import Outcome
from tests.passes.pipelines import TARGET


def write_failure(outcome: Outcome, folder: Path, draw: Callable[[int], Module | None] = fuzz_module) -> Path:
    """Writes the module that is drawn with the outcome's seed, with the command that shows the failure; returns the file."""
    passes = ",".join(outcome.pipeline)
    command = (
        f"opt --passes='{passes}' --opt-level=4 --target='{TARGET}' --verify-each --check-values=2 --types=none %s"
    )
    module = draw(outcome.seed)
    assert module is not None, "what has no types does not fail"
    text = irtool.to_text(module, types="none")
    kind = "seed" if draw is fuzz_module else "program"
    return _write(folder / f"{kind}_{outcome.seed}.relay", outcome.seed, outcome.message, command, text)


def write_text_failure(outcome: TextOutcome, folder: Path) -> Path:
    """Writes the text, made as small as is easy, with the command that shows the failure; returns the file."""
    outcome = reduce_failure(outcome)
    command = "check --round-trip %s"
    if outcome.pipeline == ("build",):
        command = "build --emit=c -o %t %s"
    elif outcome.pipeline:
        command = f"opt --passes='{','.join(outcome.pipeline)}' --opt-level=3 --target='{TARGET}' %s | irtool check --round-trip -"
    return _write(folder / f"text_{outcome.seed}.relay", outcome.seed, outcome.message, command, outcome.text)


def _write(path: Path, seed: int, message: str, command: str, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    why = message.strip().splitlines()[0] if message.strip() else "failed"
    head = f"// Seed {seed}: {why}\n// RUN: irtool {command}\n"
    path.write_text(head + text, encoding="utf-8", errors="surrogatepass")
    return path
