"""Which tests run which pieces of irtool: traced once, and again for the test files that have changed.

`.mutants/runs/FILE.json` holds what `tests.mutants.tracing` wrote about a file of tests, beside the digests of the sources
it ran; `.mutants/texts/` holds those sources, so that lines that have moved since are found again.
"""

from __future__ import annotations

import ast
import difflib
import functools
import hashlib
import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.mutants.blocks import Place, block_at, blocks
from tests.mutants.checkout import ROOT, environment_with_probes, file_of, pytest_command

LEFT_OUT = ("tests/corpus/", "tests/fuzz/", "tests/mutants/")
"""Tests that need more than a public clone, or too long."""
AROUND = 240
"""How many of the tests are tried that run something around a line, where none is known to run the line: half of them the
quickest, half of them drawn evenly from the others."""
REFERENCES = ("tests/test_docs.py",)
"""Tests of what is written about all that is registered when modules are imported."""

Runs = dict[int, int]
"""For each piece of a file, by its number, the tests that run it, as bits."""


def digest(path: Path) -> str:
    """The name of a text."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def digest_of_tests(root: Path, file: str) -> str:
    """The name of a file of tests with what it takes from others: modules of tests, and goldens."""
    text = (root / file).read_bytes()
    digest = hashlib.sha256(text)
    used = [root / f"{m.decode().replace('.', '/')}.py" for m in re.findall(rb"^from (tests[.\w]*) import", text, re.M)]
    used += sorted((root / "tests" / "golden").rglob("*.*")) if b"golden" in text else []
    for path in used:
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def tests_of_room(path: str) -> str:
    """The folder with the tests of the room that a path begins with: irtool/tir/simplify.py → tests/tir/."""
    return "/".join(["tests", *Path(path).parts[1:2], ""])


class Lines:
    """What is known of the lines that tests run."""

    def __init__(self, store: Path, root: Path = ROOT, near: str = "") -> None:
        """`near`: only tests of the room that a path of irtool begins with."""
        self.store = store.resolve()
        self.root = root
        self.room = tests_of_room(near) if near else "tests/"

    # Making.

    def files(self) -> list[str]:
        """The files of tests that count."""
        test_files = sorted(str(p.relative_to(self.root)) for p in (self.root / "tests").rglob("test_*.py"))
        return [f for f in test_files if f.startswith(self.room) and not f.startswith(LEFT_OUT)]

    def stale(self) -> list[str]:
        """Files of tests that have not been traced as they stand."""
        return [f for f in self.files() if self._traced_as(f) != digest_of_tests(self.root, f)]

    def traced(self) -> list[str]:
        """Files with tests that are quick enough."""
        return [f for f in self.files() if self._traced(f)[0]]

    def _traced_as(self, file: str) -> str:
        record_path = file_of(self.store / "runs", file)
        return json.loads(record_path.read_text()).get("sources", {}).get(file, "") if record_path.exists() else ""

    def trace(self, files: Sequence[str], checkout: Path, *options: str) -> None:
        """Runs the quick tests of some files in a copy of the checkout and keeps what they run."""
        runs, texts = self.store / "runs", self.store / "texts"
        for folder in (runs, texts):
            folder.mkdir(parents=True, exist_ok=True)
        sources: dict[str, str] = {}
        for path in sorted((checkout / "irtool").rglob("*.py")):
            name = sources[str(path.relative_to(checkout))] = digest(path)
            (texts / name).write_bytes(path.read_bytes())
        for file in files:
            file_of(runs, file).unlink(missing_ok=True)
        plugin = ("--tb=no", "-p", "tests.mutants.tracing", f"--trace-to={runs}")
        command, variables = pytest_command(*plugin, *options, *files), environment_with_probes(checkout)
        subprocess.run(command, cwd=checkout, env=variables)
        for file in files:
            record_path = file_of(runs, file)
            traced = json.loads(record_path.read_text()) if record_path.exists() else {"seconds": {}, "runs": {}}
            traced["sources"] = {file: digest_of_tests(checkout, file), **sources}
            record_path.write_text(json.dumps(traced))

    # Asking.

    def tests_of(self, path: str, line: int, column: int = 0) -> dict[str, float]:
        """The tests that run a place, with the seconds they take.

        Where none does, or where the place runs when its module is imported, some of those in files that name the module,
        and of those that run what is around the place: functions that name what the line defines, then the class, then the
        file.
        """
        source = (self.root / path).read_text(encoding="utf-8")
        tree = ast.parse(source)
        if block_at(blocks(tree), (line, column)) is not None:
            tests_found = self._running(path, source, [(line, column)])
            if tests_found:
                return tests_found
        tests_found = {}
        for file in REFERENCES:
            tests_found |= dict.fromkeys(self._traced(file)[0], 0.0)
        if not any(isinstance(n, ast.FunctionDef) and n.lineno <= line <= (n.end_lineno or 0) for n in ast.walk(tree)):
            tests_found |= self._mentioning(Path(path).stem)
        for name in sorted(_defined(tree, line)):
            tests_found |= self._naming(name)
        for first, last in _spans(tree, line):
            within = [b.begin for b in blocks(tree) if first <= b.begin[0] <= last]
            if around := self._running(path, source, within):
                tests_found |= around
                break
        stem = Path(path).stem
        order = sorted(tests_found, key=lambda t: (stem not in t, tests_found[t], t))
        rest = order[AROUND // 2 :]
        return {t: tests_found[t] for t in [*order[: AROUND // 2], *rest[:: -(-len(rest) // (AROUND // 2)) or 1]]}

    def _mentioning(self, module: str) -> dict[str, float]:
        """The tests of files in which the name of a module stands: they may look at what it defines."""
        word = re.compile(rf"\b{module}\b")
        files = [f for f in self.traced() if word.search((self.root / f).read_text(encoding="utf-8"))]
        return {test: s for f in files for test, s in self._traced(f)[0].items()}

    def _naming(self, name: str) -> dict[str, float]:
        """The tests that run functions with a name in them."""
        word = re.compile(rf"\b{name}\b")
        tests_found: dict[str, float] = {}
        for path in sorted((self.root / "irtool").rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if word.search(source):
                positions = [
                    (n, len(t) - len(t.lstrip())) for n, t in enumerate(source.splitlines(), 1) if word.search(t)
                ]
                tests_found |= self._running(str(path.relative_to(self.root)), source, positions)
        return tests_found

    def _running(self, path: str, source: str, positions: Sequence[Place]) -> dict[str, float]:
        """The tests that run one of some places."""
        tests_found: dict[str, float] = {}
        for file in self.files():
            seconds, runs, sources = self._traced(file)
            if path not in runs:
                continue
            bits = 0
            for n in self._numbers(sources[path], source, tuple(positions)):
                bits |= runs[path].get(n, 0)
            tests_found |= {test: s for n, (test, s) in enumerate(seconds.items()) if bits >> n & 1}
        return tests_found

    @functools.cache  # noqa: B019 - one for the whole run
    def _traced(self, file: str) -> tuple[dict[str, float], dict[str, Runs], dict[str, str]]:
        record_path = file_of(self.store / "runs", file)
        traced: dict[str, Any] = json.loads(record_path.read_text()) if record_path.exists() else {}
        if "sources" not in traced:
            return {}, {}, {}
        runs: dict[str, Runs] = defaultdict(dict)
        for path, of in traced["runs"].items():
            runs[path] = {int(n): int(bits, 16) for n, bits in of.items()}
        return traced["seconds"], dict(runs), traced["sources"]

    @functools.cache  # noqa: B019 - one for the whole run
    def _numbers(self, old: str, source: str, positions: tuple[Place, ...]) -> list[int]:
        """The numbers that the pieces around places had in the text that tests were traced with."""
        before = {
            b: n for n, b in enumerate(blocks(ast.parse((self.store / "texts" / old).read_text(encoding="utf-8"))))
        }
        moved = self._moved(old, source)
        around = (block_at(before, (moved[line], column)) for line, column in positions if line in moved)
        return [before[b] for b in around if b is not None]

    @functools.cache  # noqa: B019 - one for the whole run
    def _moved(self, old: str, source: str) -> dict[int, int]:
        """For each line of a text the line that it was when tests were traced."""
        before = (self.store / "texts" / old).read_text(encoding="utf-8")
        if before == source:
            return {n: n for n in range(1, source.count("\n") + 2)}
        matcher = difflib.SequenceMatcher(None, before.splitlines(), source.splitlines(), autojunk=False)
        return {b.b + k + 1: b.a + k + 1 for b in matcher.get_matching_blocks() for k in range(b.size)}


def _defined(tree: ast.Module, line: int) -> set[str]:
    """The names that a statement outside of functions defines, and those that other such statements of the file make of them:
    tables of what functions give that run while the file is imported."""
    names: set[str] = set()
    stack: list[ast.stmt] = list(tree.body)
    while stack:
        node = stack.pop()
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            names.update(_targets(node))
            stack += node.body if isinstance(node, ast.ClassDef) else []
    while True:
        more = {n for s in tree.body if names & _mentioned(s) for n in _targets(s)} - names
        if not more:
            return names
        names |= more


def _targets(node: ast.stmt) -> list[str]:
    """The names that a statement defines, but for classes: those are everywhere."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [t.id for t in targets if isinstance(t, ast.Name)]


def _mentioned(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _spans(tree: ast.Module, line: int) -> list[tuple[int, int]]:
    """The lines of functions and classes around a line, from the innermost out, and all lines of the file."""
    around = [
        (n.lineno, n.end_lineno or n.lineno)
        for n in ast.walk(tree)
        if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.lineno <= line <= (n.end_lineno or n.lineno)
    ]
    return [*sorted(around, key=lambda s: s[1] - s[0]), (1, 1 << 30)]


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
