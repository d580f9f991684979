"""One mutant against the tests that run its line."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
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


class Server:
    """A process that has collected all tests of a copy of the checkout and tries mutants, each in a fork."""

    def __init__(self, checkout: Path, files: Sequence[str]) -> None:
        own = checkout / ".own"
        own.mkdir(exist_ok=True)
        (own / "files.txt").write_text("\n".join(files))
        mutants, going = os.pipe()
        coming, outcomes = os.pipe()
        pipes = (f"/dev/fd/{mutants}", f"/dev/fd/{outcomes}")
        options = ("-s", "--tb=no", "-p", "tests.mutants.serving", "--serve", *pipes, f"@{own / 'files.txt'}")
        with (own / "log.txt").open("w") as log:
            self.process = subprocess.Popen(
                pytest_command(*options),
                cwd=checkout,
                env=environment(checkout),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(mutants, outcomes),
            )
        os.close(mutants)
        os.close(outcomes)  # so that what is read ends with the process
        self.going, self.coming = os.fdopen(going, "w"), os.fdopen(coming)
        collected = self.coming.readline()
        if not collected:
            raise ChildProcessError(f"the tests of {checkout} cannot be collected: {(own / 'log.txt').read_text()}")
        self.tests = set(json.loads(collected))

    def attempt(self, mutant: Mutant, whole: str, tests: Sequence[str], each: float, most: float) -> dict[str, Any]:
        """What became of a mutant; its outcome is none of the known ones where it changes no function."""
        changed = {"path": mutant.path, "before": whole, "after": mutant.apply(whole)}
        request = {**changed, "tests": tests, "each": each, "most": most}
        print(json.dumps(request), file=self.going, flush=True)
        return json.loads(self.coming.readline())  # type: ignore[no-any-return]

    def close(self) -> None:
        """Ends the process."""
        self.going.close()
        self.coming.close()
        self.process.wait()


def try_mutant(
    mutant: Mutant, lines: Lines, checkout: Path, most: float, each: float = 10.0, server: Server | None = None
) -> Result:
    """Runs tests on the mutant until one fails, those first that fail most probably and soonest: `most` seconds of them
    altogether, and none for longer than `each`."""
    tests = lines.tests_of(mutant.path, mutant.line, mutant.column)
    if not tests:
        return Result(mutant, NOT_RUN, "", 0, 0.0)
    target = checkout / mutant.path
    whole = target.read_text(encoding="utf-8")
    lots = in_order(tests, mutant.path, most)
    begin = _seconds()
    try:
        target.write_text(mutant.apply(whole), encoding="utf-8")
        if server is not None:
            got = server.attempt(mutant, whole, [t for lot in lots for t in lot], each, START + 20 * most)
            if got["outcome"] in (KILLED, TIMED_OUT, SURVIVED):
                return Result(mutant, got["outcome"], got["by"], len(tests), got["seconds"])
        for lot in lots:
            outcome, by = _run(lot, checkout, sum(tests[t] for t in lot), each)
            if outcome != SURVIVED:
                return Result(mutant, outcome, by, len(tests), round(_seconds() - begin, 1))
        return Result(mutant, SURVIVED, "", len(tests), round(_seconds() - begin, 1))
    finally:
        target.write_text(whole, encoding="utf-8")
        for rest in ("cache", "hypothesis"):
            shutil.rmtree(checkout / ".own" / rest, ignore_errors=True)


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
        output, _ = process.communicate(timeout=START + 20 * seconds)
    except subprocess.TimeoutExpired:
        return TIMED_OUT, ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode == 0:
        return SURVIVED, ""
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", output, re.M)
    by = failed[1] if failed else (output.strip().splitlines() or ["the tests do not start"])[-1]
    return (TIMED_OUT if " - Failed: took longer than" in output else KILLED), by


def _seconds() -> float:
    """Seconds of the processor that ended processes have taken, which other work on the machine does not stretch."""
    t = os.times()
    return t.children_user + t.children_system
