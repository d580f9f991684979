"""Which tests run which lines of irtool: traced once, and again for the test files that have changed.

`.mutants/lines/FILE/` holds what `tests.mutants.tracing` wrote about a file of tests, beside the digests of the sources
it ran; `.mutants/texts/` holds those sources, so that lines that have moved since are found again.
"""

from __future__ import annotations

import ast
import difflib
import functools
import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutants.checkout import ROOT, environment, folder_of, pytest_command

LEFT_OUT = ("tests/corpus/", "tests/fuzz/", "tests/mutants/")
"""Tests that need more than a public clone, or too long."""
AROUND = 60
"""How many of the tests are tried that run something around a line, where none is known to run the line."""


def digest(path: Path) -> str:
    """The name of a text."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


class Lines:
    """What is known of the lines that tests run."""

    def __init__(self, store: Path, root: Path = ROOT) -> None:
        self.store = store.resolve()
        self.root = root

    # Making.

    def files(self) -> list[str]:
        """The files of tests that count."""
        found = sorted(str(p.relative_to(self.root)) for p in (self.root / "tests").rglob("test_*.py"))
        return [f for f in found if not f.startswith(LEFT_OUT)]

    def stale(self) -> list[str]:
        """Files of tests that have not been traced as they stand."""
        return [f for f in self.files() if self._traced(f) != digest(self.root / f)]

    def _traced(self, file: str) -> str:
        sources = self._folder(file) / "sources.json"
        return json.loads(sources.read_text()).get(file, "") if sources.exists() else ""

    def _folder(self, file: str) -> Path:
        return folder_of(self.store / "lines", file)

    def trace(self, files: Sequence[str], checkout: Path) -> None:
        """Runs the quick tests of some files in a copy of the checkout and keeps which lines they run."""
        for file in files:
            shutil.rmtree(self._folder(file), ignore_errors=True)
        options = ("--tb=no", "-p", "tests.mutants.tracing", "--trace-to", self.store / "lines", *files)
        subprocess.run(pytest_command(*options), cwd=checkout, env=environment(checkout), stdout=subprocess.DEVNULL)
        for file in files:
            self.keep(file)

    def keep(self, file: str) -> None:
        """Notes which texts a file of tests was traced with."""
        texts = self.store / "texts"
        texts.mkdir(parents=True, exist_ok=True)
        names = {file: digest(self.root / file)}
        for path in sorted((self.root / "irtool").rglob("*.py")):
            name = names[str(path.relative_to(self.root))] = digest(path)
            if not (texts / name).exists():
                (texts / name).write_bytes(path.read_bytes())
        self._folder(file).mkdir(parents=True, exist_ok=True)
        (self._folder(file) / "sources.json").write_text(json.dumps(names))

    # Asking.

    def tests_of(self, path: str, line: int) -> dict[str, float]:
        """The tests that run a line, with the seconds they take; where none does, some that run what is around it.

        Those are for lines that run when their module is imported, and for later lines of a statement.
        """
        source = (self.root / path).read_text(encoding="utf-8")
        for span in (range(line, line + 1), *_spans(source, line)):
            found: dict[str, float] = {}
            for file in self.files():
                found |= self._tests(file, path, source, span)
            if found:
                quick = sorted(found, key=lambda t: found[t])[: None if len(span) == 1 else AROUND]
                return {t: found[t] for t in quick}
        return {}

    def _tests(self, file: str, path: str, source: str, span: Iterable[int]) -> dict[str, float]:
        seconds, contexts, sources = self._trace(file)
        if path not in sources:
            return {}
        moved = self._moved(sources[path], source)
        lines = contexts(path)
        return {
            test: seconds[test]
            for line in span
            if line in moved
            for test in lines.get(moved[line], ())
            if test in seconds
        }

    @functools.cache  # noqa: B019 - one for the whole run
    def _trace(self, file: str):  # type: ignore[no-untyped-def]
        from coverage import CoverageData

        folder = self._folder(file)
        if not (folder / "seconds.json").exists():
            return {}, lambda path: {}, {}
        data = CoverageData(str(folder / "lines"))
        data.read()
        measured = {name[name.rindex("/irtool/") + 1 :]: name for name in data.measured_files()}

        @functools.cache
        def contexts(path: str) -> dict[int, list[str]]:
            return data.contexts_by_lineno(measured[path]) if path in measured else {}

        seconds = json.loads((folder / "seconds.json").read_text())
        return seconds, contexts, json.loads((folder / "sources.json").read_text())

    @functools.cache  # noqa: B019 - one for the whole run
    def _moved(self, old: str, source: str) -> dict[int, int]:
        """For each line of a text the line that it was when tests were traced."""
        before = (self.store / "texts" / old).read_text(encoding="utf-8")
        if before == source:
            return {n: n for n in range(1, source.count("\n") + 2)}
        matcher = difflib.SequenceMatcher(None, before.splitlines(), source.splitlines(), autojunk=False)
        return {b.b + k + 1: b.a + k + 1 for b in matcher.get_matching_blocks() for k in range(b.size)}


def _spans(source: str, line: int) -> list[range]:
    """The lines of functions and classes around a line, from the innermost out, and all lines of the file."""
    around = [
        range(n.lineno, (n.end_lineno or n.lineno) + 1)
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.lineno <= line <= (n.end_lineno or n.lineno)
    ]
    return [*sorted(around, key=len), range(1, source.count("\n") + 2)]


def in_order(tests: dict[str, float], path: str, most: float) -> list[list[str]]:
    """Tests in the order in which they are tried, in lots of growing length, `most` seconds of them: those of the room
    that the file stands in first, and quick ones before slow ones."""
    parts = Path(path).parts
    room = parts[1] if len(parts) > 2 else ""
    file = Path(path).stem

    def rank(test: str) -> tuple[float, str]:
        near = test.startswith(f"tests/{room}/") or (room == "passes" and "golden/passes" in test)
        nearer = file in test or file.replace("_", "") in test.lower()
        return (tests[test] + 0.02) * (0.2 if nearer else 0.5 if near else 2.0), test

    lots: list[list[str]] = []
    spent, lot, limit = 0.0, 0.0, 0.0
    for test in sorted(tests, key=rank):
        spent += tests[test] + 0.003
        if spent > most and lots:
            break
        lot += tests[test] + 0.003
        if lot > limit or len(lots[-1]) >= 400:
            limit = 2.0 if not lots else limit * 4
            lots.append([])
            lot = 0.0
        lots[-1].append(test)
    return lots
