"""The page of conformance has a row for every promise, feature of the language, pass and family of operators."""

from __future__ import annotations

import re

from irtool.ops import operators
from irtool.passes import passes
from tests.conformance import Conformance, is_own
from tests.language_features import FEATURES
from tests.promises import PROMISES


def test_the_page_has_a_row_for_everything() -> None:
    text = Conformance.path.read_text(encoding="utf-8")
    expected = {
        "Promises": set(PROMISES.values()),
        "Language": {f"`{f}`" for f in FEATURES},
        "Passes": {f"`{p.name}`" for p in passes if is_own(p)},
        "Operators": {f"`{o.__module__.removeprefix('irtool.ops.')}`" for o in operators if is_own(o)},
    }
    for section, titles in expected.items():
        (body,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        rows = {row.split(" | ")[0].removeprefix("| ") for row in body.splitlines() if row.endswith(("✔ |", "✘ |"))}
        assert rows >= titles, f"make pages: {section} lacks {sorted(titles - rows)}"


def test_no_row_of_the_page_has_failed() -> None:
    assert "✘" not in Conformance.path.read_text(encoding="utf-8").split("\n## ", 1)[1]
