"""Descriptions of a position of a text, in Markdown."""

from __future__ import annotations

from collections.abc import Callable

from ..parser.symbols import CONSTRUCTOR, FUNCTION, OPERATOR, TYPE, Symbol
from .analysis import Analysis

Manual = Callable[[str], str]
"""The manual of an operator, in Markdown."""


def hover(analysis: Analysis, offset: int, manual: Manual) -> tuple[str, int, int] | None:
    """The meaning of the name at a place, or the type of the expression there; and the begin and end of that name or expression."""
    symbol_at = analysis.symbols.at(offset)
    if symbol_at is not None:
        symbol, place = symbol_at
        documentation = manual(symbol.name) if symbol.kind == OPERATOR else _relay(_shown(analysis, symbol))
        return (documentation, place.start, place.end) if documentation else None
    return _type_at(analysis, offset)


def _shown(analysis: Analysis, symbol: Symbol) -> str:
    if symbol.kind in (TYPE, CONSTRUCTOR):
        return _definition(analysis, symbol)
    t = analysis.type_of(symbol)
    if symbol.kind == FUNCTION:
        return f"def {symbol.name}: {t}" if t is not None else _first_line(analysis, symbol)
    return f"{symbol.name}: {t}" if t is not None else symbol.name


def _definition(analysis: Analysis, symbol: Symbol) -> str:
    """The definition of a type, or of the type that has a constructor."""
    if analysis.module is None:
        return _first_line(analysis, symbol)
    for data in analysis.module.type_definitions.values():
        names = [data.header.name, *(c.name for c in data.constructors)]
        if symbol.name in names and data.span is not None:
            return analysis.text[data.span.start : data.span.end]
    return ""


def _first_line(analysis: Analysis, symbol: Symbol) -> str:
    if symbol.definition is None:
        return symbol.name
    text, start = analysis.text, symbol.definition.start
    end = text.find("\n", start)
    return text[text.rfind("\n", 0, start) + 1 : end if end >= 0 else len(text)].strip()


def _type_at(analysis: Analysis, offset: int) -> tuple[str, int, int] | None:
    """The type of the shortest expression around a place."""
    around = [(end - start, start, end) for start, end in analysis.types if start <= offset < end]
    if not around or not analysis.text[offset : offset + 1].strip():
        return None
    _, start, end = min(around)
    return _relay(str(analysis.types[start, end])), start, end


def _relay(code: str) -> str:
    return f"```relay\n{code}\n```" if code else ""
