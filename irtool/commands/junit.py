"""Results of golden files as JUnit XML, which CI servers read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from .goldens import Outcome

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no place for, not even as references (its section 2.2)."""


def junit_xml(results: Iterable[tuple[Outcome, float]]) -> str:
    """The report of outcomes and their seconds: a `testcase` for each file, its folder as the class; a failure has the message."""
    found = list(results)
    failed = sum(not outcome.passed for outcome, _ in found)
    numbers = f'tests="{len(found)}" failures="{failed}" errors="0" time="{sum(s for _, s in found):.3f}"'
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f"<testsuites {numbers}>",
        f'<testsuite name="irtool" {numbers}>',
    ]
    for outcome, seconds in found:
        folder, name = os.path.split(outcome.path)
        head = f'<testcase classname={_quoted(folder or ".")} name={_quoted(name)} time="{seconds:.3f}"'
        if outcome.passed:
            lines.append(f"{head}/>")
            continue
        first = outcome.message.partition("\n")[0]
        text = escape(_NO_XML.sub("?", outcome.message))
        lines.append(f"{head}><failure message={_quoted(first)}>{text}</failure></testcase>")
    return "\n".join([*lines, "</testsuite>", "</testsuites>", ""])


def _quoted(text: str) -> str:
    return quoteattr(_NO_XML.sub("?", text))
