"""Types that the text does not say, beside the names that have them."""

from __future__ import annotations

from ..parser.symbols import BINDING, VARIABLE
from .analysis import Analysis

LONGEST = 80
"""Characters of a type; a longer one is cut."""


def type_hints(analysis: Analysis, start: int, end: int) -> list[tuple[int, str]]:
    """Behind which characters between `start` and `end` which types are to be shown: of bindings, and of variables without one."""
    hints = []
    for s in analysis.symbols.all:
        if s.kind not in (BINDING, VARIABLE) or s.definition is None or not start <= s.definition.end <= end:
            continue
        t = None if analysis.text[s.definition.end :].lstrip()[:1] == ":" else analysis.type_of(s)
        if t is not None:
            shown = str(t)
            hints.append((s.definition.end, f": {shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + '…'}"))
    return sorted(hints)
