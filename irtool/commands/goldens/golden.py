"""Running golden files: each case is run, its output compared with the expected one, or taken over as such."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, replace

from .cases import Case, read_cases
from .expected_errors import compare_errors, read_reported
from .expected_text import LINE, expected_path, joined, read_parts, write_parts
from .features import unmet
from .finding import stale_expectation
from .outcome import FAILED, PASSED, SKIPPED, XFAILED, Outcome
from .run_line import Place, run_line


@dataclass(frozen=True)
class _Trial:
    """The output of a case; or None and the reason for its absence."""

    output: str | None
    problem: str = ""


class Golden:
    """A golden file with its cases and their expected outputs. Raises OSError if it cannot be read.

    With `update`, outputs take the place of expected ones as cases are run, and `write` writes them.
    """

    def __init__(self, path: str, update: bool = False) -> None:
        self.path = path
        self.update = update
        self.cases = read_cases(path)
        recorded_parts = read_parts(path, self.cases[0].number)
        self.is_there = recorded_parts is not None
        self.fits = recorded_parts is None or len(recorded_parts) == len(self.cases)
        self.count = len(recorded_parts or ())
        """How many parts are there."""
        self.parts: list[str | None] = (
            [*recorded_parts] if recorded_parts is not None and self.fits else [None] * len(self.cases)
        )
        if recorded_parts is None and not update:
            self.parts = [""] * len(self.cases)

    def run(self, index: int) -> Outcome:
        """Runs the case with that index, from 0."""
        case = self.cases[index]
        if case.mistakes:
            return Outcome(case.name, FAILED, "\n".join(case.mistakes))
        absent, problem = unmet(case.requires)
        if problem:
            return Outcome(case.name, FAILED, problem)
        if absent:
            return Outcome(case.name, SKIPPED, f"requires {', '.join(absent)}, which is not here")
        trial = _try(case)
        if case.xfail and trial.output and not self.is_there:
            name = os.path.basename(expected_path(self.path))
            message = f"{name} is missing; write the right output of the case with XFAIL into it by hand"
            return Outcome(case.name, FAILED, message)
        result = self._outcome(index, trial)
        if not case.xfail:
            return result
        if result.state == FAILED:
            return Outcome(case.name, XFAILED, case.xfail)
        return Outcome(case.name, FAILED, f"passes, though XFAIL says that it fails: {case.xfail}; remove that line")

    def _outcome(self, index: int, trial: _Trial) -> Outcome:
        case = self.cases[index]
        if trial.output is None:
            return Outcome(case.name, FAILED, trial.problem)
        if case.number and f"\n{LINE}\n" in f"\n{trial.output}":
            return Outcome(case.name, FAILED, f"a line of the output is {LINE}; put the case into a file of its own")
        if self.update and not case.xfail:
            self.parts[index] = trial.output
            return Outcome(case.name)
        name = os.path.basename(expected_path(self.path))
        want = self.parts[index]
        if not self.fits:
            message = f"{name} has {_parts(self.count)} for {len(self.cases)} cases; --update writes it"
            return Outcome(case.name, FAILED, message)
        if want == trial.output or (want is None and not trial.output):
            return Outcome(case.name)
        if not self.is_there:
            return Outcome(case.name, FAILED, f"{name} is missing; --update writes it")
        lines = difflib.unified_diff(
            (want or "").splitlines(), trial.output.splitlines(), "expected", "printed", lineterm=""
        )
        message = "\n".join(lines)
        return Outcome(case.name, FAILED, message or "line ends differ")

    def write(self) -> tuple[bool, str]:
        """Writes new expected output; returns whether any was written, and an error message. Raises IrError."""
        if not self.update:
            return False, ""
        lacking = [n for n, p in enumerate(self.parts, 1) if p is None]
        if lacking and self.is_there:
            name = os.path.basename(expected_path(self.path))
            return False, (
                f"{name} has {_parts(self.count)} for {len(self.cases)} cases, and case {lacking[0]} has no output to write; "
                "put a line `// -----` where its part belongs"
            )
        return write_parts(self.path, [p or "" for p in self.parts]), ""


def run_golden(path: str, update: bool = False, chosen: Collection[int] | None = None) -> tuple[list[Outcome], bool]:
    """Runs the cases of one golden file, all or those with the `chosen` numbers (0 for a file that is one case).

    With `update` the expected file is rewritten where the output differs; the second value says whether it was.
    """
    if stale := stale_expectation(path):
        return [Outcome(path, FAILED, stale)], False
    golden = Golden(path, update)
    indices = [n for n, case in enumerate(golden.cases) if chosen is None or case.number in chosen]
    outcomes = [golden.run(n) for n in indices]
    is_written, problem = golden.write()
    if problem:
        outcomes = [replace(o, state=FAILED, message=problem) if o.passed else o for o in outcomes]
    return outcomes, is_written


def passes(path: str) -> bool:
    """True for a golden file whose cases all pass."""
    return all(outcome.state == PASSED for outcome in run_golden(path)[0])


def _parts(count: int) -> str:
    return f"{count} part{'s' if count != 1 else ''}"


def _try(case: Case) -> _Trial:
    """Runs the command lines of a case."""
    folder, name = os.path.split(os.path.abspath(case.path))
    outputs = []
    with (
        tempfile.TemporaryDirectory(prefix="irtool-test-") as temporary,
        tempfile.TemporaryDirectory(prefix="irtool-case-") as golden_folder,
    ):
        file = name
        if case.text is not None:
            file = os.path.join(golden_folder, name)
            with open(file, "w", encoding="utf-8", errors="surrogateescape", newline="") as out:
                out.write(case.text)
        place = Place(folder, file, name, temporary)
        for number, line in enumerate(case.runs, 1):
            ran = run_line(line, place, bool(case.errors))
            problem = ran.problem
            if case.errors and not problem:
                wrong = compare_errors(case.errors, read_reported(ran.messages, name))
                problem = f"other errors than expected\n{wrong}" if wrong else ""
            if problem:
                return _Trial(None, f"RUN {number}: {problem}\n{ran.output}".rstrip("\n"))
            outputs.append(ran.output)
    return _Trial(joined(outputs))
