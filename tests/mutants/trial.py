"""One mutant against the tests that run its line."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.checkout import environment, pytest_command
from tests.mutants.mapping import Lines, in_order
from tests.mutants.sites import Mutant

KILLED, TIMED_OUT, SURVIVED, NOT_RUN = "killed", "timed out", "survived", "run by no test"
START = 60.0
"""Seconds on the clock for starting pytest, on a machine that others use too."""


@dataclass(frozen=True)
class Result:
    """What became of a mutant."""

    mutant: Mutant
    outcome: str
    by: str
    """The test that failed."""
    tests: int
    """How many tests run the line."""
    seconds: float
    """How long the tests computed until one failed."""

    @property
    def noticed(self) -> bool:
        """Whether a test failed, or did not end."""
        return self.outcome in (KILLED, TIMED_OUT)

    def record(self) -> dict[str, Any]:
        """As it stands in a report."""
        m = self.mutant
        return {
            "place": f"{m.path}:{m.line}",
            "line": m.text,
            "change": m.change,
            "outcome": self.outcome,
            "by": self.by,
            "tests": self.tests,
            "seconds": self.seconds,
        }


def try_mutant(mutant: Mutant, lines: Lines, checkout: Path, most: float, each: float = 10.0) -> Result:
    """Runs tests on the mutant until one fails, those first that fail most probably and soonest: `most` seconds of them
    altogether, and none for longer than `each`."""
    tests = lines.tests_of(mutant.path, mutant.line)
    if not tests:
        return Result(mutant, NOT_RUN, "", 0, 0.0)
    target = checkout / mutant.path
    whole = target.read_text(encoding="utf-8")
    begin = _seconds()
    try:
        target.write_text(mutant.apply(whole), encoding="utf-8")
        for lot in in_order(tests, mutant.path, most):
            outcome, by = _run(lot, checkout, sum(tests[t] for t in lot), each)
            if outcome != SURVIVED:
                return Result(mutant, outcome, by, len(tests), round(_seconds() - begin, 1))
        return Result(mutant, SURVIVED, "", len(tests), round(_seconds() - begin, 1))
    finally:
        target.write_text(whole, encoding="utf-8")
        shutil.rmtree(checkout / ".own", ignore_errors=True)


def _run(tests: list[str], checkout: Path, seconds: float, each: float) -> tuple[str, str]:
    """The outcome of some tests, and the test that failed."""
    own = checkout / ".own"
    own.mkdir(exist_ok=True)
    (own / "tests.txt").write_text("\n".join(tests))
    command = pytest_command(
        "-x", "--tb=no", "-p", "tests.mutants.limits", "--seconds-each", each, f"@{own / 'tests.txt'}"
    )
    process = subprocess.Popen(
        command,
        cwd=checkout,
        env=environment(checkout),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=START + 20 * seconds)
    except subprocess.TimeoutExpired:
        return TIMED_OUT, ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode == 0:
        return SURVIVED, ""
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", said, re.M)
    by = failed[1] if failed else (said.strip().splitlines() or ["the tests do not start"])[-1]
    return (TIMED_OUT if " - Failed: took longer than" in said else KILLED), by


def _seconds() -> float:
    """Seconds of the processor that ended processes have taken, which other work on the machine does not stretch."""
    t = os.times()
    return t.children_user + t.children_system
