"""Makes a failing text smaller: lines are left out as long as it fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tests.fuzz.text_trial import TextOutcome, try_text

MOST = 400
"""Trials that a reduction may take."""


def reduce_failure(outcome: TextOutcome, most: int = MOST) -> TextOutcome:
    """The failure with fewer passes, lines and then words, each of which it takes."""
    best, left = outcome, most

    def fails(text: str, pipeline: tuple[str, ...]) -> bool:
        nonlocal best, left
        if left <= 0:
            return False
        left -= 1
        again = try_text(text, pipeline, outcome.seed)
        if again.kind != "failed" or _sort(again) != _sort(outcome):
            return False
        best = again
        return True

    for i in reversed(range(len(outcome.pipeline))):
        fails(best.text, best.pipeline[:i] + best.pipeline[i + 1 :])
    for apart in (r"[^\n]*\n|[^\n]+", r"\s+|[\w%@.]+|."):
        shrink(re.findall(apart, best.text, re.DOTALL), lambda parts: fails("".join(parts), best.pipeline))
    return best


def shrink(parts: Sequence[str], fails: Callable[[Sequence[str]], bool]) -> list[str]:
    """Delta debugging: a list, of which no part of the last size tried can be left out, that still fails."""
    parts = list(parts)
    size = len(parts) // 2
    while size:
        begin = 0
        while begin < len(parts):
            fewer = parts[:begin] + parts[begin + size :]
            if fewer and fails(fewer):
                parts = fewer
            else:
                begin += size
        size //= 2
    return parts


def _sort(outcome: TextOutcome) -> str:
    """What kind of failure one is: the beginning of the message without numbers and names."""
    return re.sub(r"\d+|[%@][\w.]+|'[^']*'", "", outcome.message)[:50]
