"""`docs/conformance.md`: what irtool promises, and which tests showed it.

Every test counts for the rows that it is about: the promises it is marked with, the pass or the operator that it is
parametrized over, the feature of the language.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.pages import ROOT, Page
from tests.promises import PROMISES

HEAD = """# Conformance

What irtool promises, and the tests that keep it, generated from the results of a run of all of them (`make pages`).
A row is ✔ if every test about it passed. *Agreement* counts cases of what TVM itself printed, inferred, transformed or
computed; those that differ are listed with their reasons in `tests/corpus/known_failures.txt`.
"""
SECTIONS = ("Promises", "Language", "Passes", "Operators")


class Conformance(Page):
    """One row for each promise, feature of the language, pass and family of operators."""

    path = ROOT / "docs" / "conformance.md"

    def rows_of(self, item: pytest.Item) -> Iterator[tuple[str, str]]:
        for marker in item.iter_markers("promise"):
            (key,) = marker.args
            assert key in PROMISES, f"{item.nodeid} shows a promise that tests/promises.py does not have: {key!r}"
            yield "Promises", key
        params: Mapping[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
        for name, value in params.items():
            yield from _rows_of(name, value)

    def place(self, section: str, key: str, report: pytest.TestReport) -> str:
        place = super().place(section, key, report)
        return f"tests/golden/passes/{key}" if place.endswith("test_golden.py") else place

    def text(self) -> str:
        parts = [HEAD]
        for section in SECTIONS:
            titles = PROMISES if section == "Promises" else {}
            parts.append(f"\n## {section}\n\n| what | shown by | agreement | |\n| --- | --- | --- | --- |\n")
            for key in PROMISES if section == "Promises" else self.keys(section):
                row = self.rows[section, key]
                agreement = f"{row.agreed} of {row.cases}" if row.cases else ""
                parts.append(f"| {titles.get(key, f'`{key}`')} | {row.tests} | {agreement} | {row.mark} |\n")
        return "".join(parts)


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
