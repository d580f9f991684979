"""The functions and types of a text, each with the names that it defines."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..diagnostics import Span
from ..parser.symbols import CONSTRUCTOR, FUNCTION, TYPE, VARIABLE, Symbol
from .analysis import Analysis


@dataclass
class Item:
    """A definition: the name, all of it, and those inside of it."""

    symbol: Symbol
    name: Span
    whole: Span
    inside: list[Item] = field(default_factory=list)


def outline(analysis: Analysis) -> list[Item]:
    """The definitions of a text, in order."""
    defined = [(s, s.definition) for s in analysis.symbols.all if s.definition is not None]
    outer = sorted(((s, d) for s, d in defined if s.kind in (FUNCTION, TYPE)), key=lambda x: x[1].start)
    ends = [d.start for _, d in outer[1:]]
    items = [
        Item(s, d, Span(d.source, d.start, _last_brace(analysis.text, d.end, end)))
        for (s, d), end in zip(outer, [*ends, len(analysis.text)], strict=True)
    ]
    for s, d in sorted(defined, key=lambda x: x[1].start):
        if s.kind in (VARIABLE, CONSTRUCTOR):
            around = [i for i in items if i.whole.start < d.start < i.whole.end]
            if around:
                around[-1].inside.append(Item(s, d, d))
    return items


def _last_brace(text: str, start: int, end: int) -> int:
    """Behind the last `}` before `end`, or behind the line that `start` is on."""
    brace = text.rfind("}", start, end)
    if brace >= 0:
        return brace + 1
    line = text.find("\n", start, end)
    return line if line >= 0 else end
