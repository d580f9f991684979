"""Writes `docs/conformance.md` from the results of the tests: what irtool promises, and which tests showed it.

Every test counts for the rows that it is about: the promises it is marked with, the pass or the operator that it is
parametrized over, the feature of the language. A run of all tests, beside a corpus of TVM's own results, compares the
page with what it saw and says so if they differ; `make conformance` writes it.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.promises import PROMISES

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "conformance.md"
CORPUS = ROOT.parent / "shared" / "corpus"
HEAD = """# Conformance

What irtool promises, and the tests that keep it, generated from the results of a run of all of them (`make conformance`).
A row is ✔ if every test about it passed. *Agreement* counts cases of what TVM itself printed, inferred, transformed or
computed; those that differ are listed with their reasons in `tests/corpus/known_failures.txt`.
"""
SECTIONS = ("Promises", "Language", "Passes", "Operators")


class Row:
    """What the tests about one thing showed."""

    def __init__(self) -> None:
        self.places: set[str] = set()
        self.failed = False
        self.agreed = 0
        self.cases = 0

    def line(self, title: str) -> str:
        agreement = f"{self.agreed} of {self.cases}" if self.cases else ""
        return f"| {title} | {', '.join(sorted(self.places))} | {agreement} | {'✘' if self.failed else '✔'} |"


def rows_of(item: pytest.Item) -> Iterator[tuple[str, str]]:
    """The rows that a test is about: section and key."""
    for marker in item.iter_markers("promise"):
        (key,) = marker.args
        assert key in PROMISES, f"{item.nodeid} shows a promise that tests/promises.py does not have: {key!r}"
        yield "Promises", key
    params: Mapping[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    for name, value in params.items():
        yield from _rows_of(name, value)


def _rows_of(parameter: str, value: Any) -> Iterator[tuple[str, str]]:
    if parameter == "feature":
        yield "Language", value
    elif parameter == "path":
        golden = re.search(r"tests/golden/passes/([^/]+)/", str(value))
        if golden is not None:
            yield "Passes", golden[1]
    elif parameter in ("name", "entry", "cls", "operator"):
        value = value["name"] if isinstance(value, dict) and "name" in value else value
        word = value if isinstance(value, str) else getattr(value, "name", "")
        if word in _families():
            yield "Operators", _families()[word]
        elif word in _passes():
            yield "Passes", word
    elif parameter in ("pipeline", "part") and isinstance(value, str):
        last = re.sub(r"\{.*?\}", "", value).split(",")[-1].removeprefix("passes/")
        if last in _passes():
            yield "Passes", last


@functools.cache
def _families() -> dict[str, str]:
    """The family of each operator: the module that it stands in."""
    from irtool.ops import operators

    return {cls.name: cls.__module__.removeprefix("irtool.ops.") for cls in operators if is_own(cls)}


@functools.cache
def _passes() -> frozenset[str]:
    from irtool.passes import passes

    return frozenset(p.name for p in passes if is_own(p))


def is_own(cls: type) -> bool:
    """Whether a plug-in is one of irtool's own: other tests load theirs."""
    return cls.__module__.startswith("irtool.")


class Conformance:
    """Collects the results of one run."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.rows: dict[tuple[str, str], Row] = defaultdict(Row)
        self.said = ""

    @pytest.hookimpl
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            item.user_properties += [("row", row) for row in dict.fromkeys(rows_of(item))]

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped or (report.when != "call" and report.passed):
            return
        place = report.nodeid.split("::")[0]
        properties = report.user_properties
        for key, value in properties:
            if key != "row":
                continue
            section, name = value
            row = self.rows[section, name]
            row.places.add(f"tests/golden/passes/{name}" if place.endswith("test_golden.py") else place)
            row.failed |= report.failed
            for agreed, cases in (v for k, v in properties if k == "agreement"):
                row.agreed += agreed
                row.cases += cases

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        option = self.config.option
        partial = (
            [a for a in self.config.args if Path(a).resolve() != ROOT / "tests"] or option.keyword or option.markexpr
        )
        if hasattr(self.config, "workerinput") or partial or option.collectonly or not CORPUS.is_dir():
            return
        page = self.page()
        if option.conformance:
            PAGE.write_text(page, encoding="utf-8")
            self.said = f"wrote {PAGE.relative_to(ROOT)}"
        elif not exitstatus and (not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page):
            self.said = f"{PAGE.relative_to(ROOT)} does not say what the tests showed: make conformance writes it"

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.said:
            terminalreporter.write_line(self.said)

    def page(self) -> str:
        """The text of the page."""
        parts = [HEAD]
        for section in SECTIONS:
            titles = PROMISES if section == "Promises" else {}
            keys = list(PROMISES) if section == "Promises" else sorted(k for s, k in self.rows if s == section)
            parts.append(f"\n## {section}\n\n| what | shown by | agreement | |\n| --- | --- | --- | --- |\n")
            parts += [self.rows[section, key].line(titles.get(key, f"`{key}`")) + "\n" for key in keys]
        return "".join(parts)
