"""Pages that are made of the results of a run of all tests, each by its own rows: `make pages` writes them.

A run of all tests, beside a corpus of TVM's own results, compares each page with what it saw and says so if they differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

Recorder = Callable[[str, object], None]
"""pytest's fixture `record_property`."""

ROOT = Path(__file__).parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"


class Row:
    """What the tests about one thing showed.

    A test counts for one input, unless its property `inputs` says for how many. Its property `agreement`, a pair, counts
    cases of TVM's own that irtool agrees with, and all of them.
    """

    def __init__(self) -> None:
        self.places: set[str] = set()
        self.failed = False
        self.agreed = 0
        self.cases = 0
        self.inputs = 0

    def take(self, place: str, report: pytest.TestReport) -> None:
        """Counts the result of one test."""
        self.places.add(place)
        self.failed |= report.failed
        for agreed, cases in values(report, "agreement"):
            self.agreed += agreed
            self.cases += cases
        self.inputs += sum(values(report, "inputs")) or 1

    @property
    def mark(self) -> str:
        return "✘" if self.failed else "✔"

    @property
    def tests(self) -> str:
        return ", ".join(sorted(self.places))


def values(report: pytest.TestReport, name: str) -> list[Any]:
    """The values that a test gave its property `name`."""
    return [value for key, value in report.user_properties if key == name]


class Page:
    """A page with one table a section."""

    path: ClassVar[Path]

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Row] = defaultdict(Row)

    def rows_of(self, item: pytest.Item) -> Iterator[tuple[str, str]]:
        """The rows that a test is about: section and key."""
        raise NotImplementedError

    def text(self) -> str:
        """The page."""
        raise NotImplementedError

    def place(self, section: str, key: str, report: pytest.TestReport) -> str:
        """Where the test stands, for the reader of the row."""
        return report.nodeid.split("::")[0]

    def take(self, report: pytest.TestReport) -> None:
        """Counts the result of one test."""
        for section, key in values(report, type(self).__name__):
            self.rows[section, key].take(self.place(section, key, report), report)

    def keys(self, section: str) -> list[str]:
        """The keys of a section's rows, sorted."""
        return sorted(key for s, key in self.rows if s == section)


class Pages:
    """The plug-in of pytest that writes pages."""

    def __init__(self, config: pytest.Config, *pages: Page) -> None:
        self.config = config
        self.pages = pages
        self.messages: list[str] = []

    @pytest.hookimpl
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for page in self.pages:
                item.user_properties += [(type(page).__name__, row) for row in dict.fromkeys(page.rows_of(item))]

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.skipped and (report.when == "call" or report.failed):
            for page in self.pages:
                page.take(report)

    @pytest.hookimpl
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        option = self.config.option
        partial = (
            [a for a in self.config.args if Path(a).resolve() != ROOT / "tests"]
            or option.keyword
            or option.markexpr
            or option.tier != "all"
        )
        if hasattr(self.config, "workerinput") or partial or option.collectonly or not CORPUS.is_dir():
            return
        for page in self.pages:
            text, name = page.text(), page.path.relative_to(ROOT)
            if option.pages:
                page.path.write_text(text, encoding="utf-8")
                self.messages.append(f"wrote {name}")
            elif not exitstatus and (not page.path.exists() or page.path.read_text(encoding="utf-8") != text):
                self.messages.append(f"{name} does not say what the tests showed: make pages writes it")

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for line in self.messages:
            terminalreporter.write_line(line)
