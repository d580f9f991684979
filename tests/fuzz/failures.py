"""Failures of the fuzzer as files: each is a golden test that fails until the pass is right."""

from __future__ import annotations

from pathlib import Path

import irtool
from tests.fuzz.modules import fuzz_module
from tests.fuzz.trial import Outcome
from tests.passes.test_every_pass import TARGET


def write_failure(outcome: Outcome, folder: Path) -> Path:
    """Writes the module with the command that shows the failure; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed_{outcome.seed}.relay"
    why = outcome.message.strip().splitlines()[0] if outcome.message.strip() else "failed"
    passes = ",".join(outcome.pipeline)
    head = [
        f"// Seed {outcome.seed}: {why}",
        f"// RUN: irtool opt --passes='{passes}' --opt-level=4 --target='{TARGET}' "
        "--verify-each --check-values=2 --types=none %s",
    ]
    path.write_text("\n".join(head) + "\n" + irtool.to_text(fuzz_module(outcome.seed), types="none"))
    return path
