"""Results of golden files as JUnit XML, which CI servers read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from .outcome import PASSED, SKIPPED, XFAILED
from .worker import Result

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no place for, not even as references (its section 2.2)."""


def junit_xml(results: Iterable[Result]) -> str:
    """The report: a `testcase` for each case, the folder of its file as the class, with the seconds of the file shared out evenly.
    Failures have the message; cases that were skipped or failed as expected have the reason."""
    timed = [(outcome, r.seconds / len(r.outcomes)) for r in results for outcome in r.outcomes]
    failed = sum(not outcome.passed for outcome, _ in timed)
    skipped = sum(outcome.state in (SKIPPED, XFAILED) for outcome, _ in timed)
    numbers = f'tests="{len(timed)}" failures="{failed}" errors="0" skipped="{skipped}"'
    numbers += f' time="{sum(s for _, s in timed):.3f}"'
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f"<testsuites {numbers}>",
        f'<testsuite name="irtool" {numbers}>',
    ]
    for outcome, seconds in timed:
        folder, name = os.path.split(outcome.name)
        head = f'<testcase classname={_quoted(folder or ".")} name={_quoted(name)} time="{seconds:.3f}"'
        if outcome.state == PASSED:
            lines.append(f"{head}/>")
        elif outcome.passed:
            reason = outcome.message if outcome.state == SKIPPED else f"{outcome.state}: {outcome.message}"
            lines.append(f"{head}><skipped message={_quoted(reason)}/></testcase>")
        else:
            first = outcome.message.partition("\n")[0]
            text = escape(_NO_XML.sub("?", outcome.message))
            lines.append(f"{head}><failure message={_quoted(first)}>{text}</failure></testcase>")
    return "\n".join([*lines, "</testsuite>", "</testsuites>", ""])


def _quoted(text: str) -> str:
    return quoteattr(_NO_XML.sub("?", text))
