"""A name changed everywhere it stands."""

from __future__ import annotations

import re

from ..diagnostics import IrError, Span
from ..ir.structural import structural_equal
from ..parser import read_with_diagnostics
from ..parser.symbols import BINDING, FUNCTION, OPERATOR, VARIABLE, Symbol
from .analysis import Analysis

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./:][A-Za-z0-9_]+)*")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIGNS = {VARIABLE: "%", BINDING: "%", FUNCTION: "@"}


def renamed_places(analysis: Analysis, offset: int, new: str) -> list[tuple[Span, str]]:
    """The places of the name at `offset`, and the new text of each.

    The sign in front of a name may be left out. Raises IrError if there is no name that the text defines, where the new one is
    none, or where the text would mean something else or nothing: the new name is taken.
    """
    symbol_at = analysis.symbols.at(offset)
    if symbol_at is None:
        raise IrError("there is no name here")
    symbol = symbol_at[0]
    name = _checked(symbol, new)
    edits = [(p, name) for p in symbol.places]
    _check(analysis, symbol, name, _edited(analysis.text, edits))
    return edits


def check_renaming(analysis: Analysis, offset: int) -> Span:
    """The name at `offset`, if it can be another one. Raises IrError if it cannot."""
    symbol_at = analysis.symbols.at(offset)
    if symbol_at is None:
        raise IrError("there is no name here")
    _check_defined(symbol_at[0])
    return symbol_at[1]


def _check_defined(symbol: Symbol) -> None:
    if symbol.kind == OPERATOR:
        raise IrError(f"{symbol.name} is an operator: its name is not the text's")
    if symbol.definition is None:
        raise IrError(f"{symbol.name} is not defined in this text")


def _checked(symbol: Symbol, new: str) -> str:
    _check_defined(symbol)
    sign = _SIGNS.get(symbol.kind, "")
    bare = new.removeprefix(sign)
    if symbol.kind == BINDING:
        if not bare.isdecimal():
            raise IrError(f"{symbol.name} = … shares a value: its name is % and a number")
    elif not (_NAME if sign else _PLAIN).fullmatch(bare):
        raise IrError(f"{new} is no name for a {symbol.kind}")
    return sign + bare


def _edited(text: str, edits: list[tuple[Span, str]]) -> str:
    parts, position = [], 0
    for place, name in edits:
        parts += [text[position : place.start], name]
        position = place.end
    return "".join([*parts, text[position:]])


def _check(analysis: Analysis, symbol: Symbol, name: str, text: str) -> None:
    """Raises IrError for a name that is taken: names of variables may repeat, others may not."""
    if name == symbol.name or analysis.module is None:
        return
    module, problems = read_with_diagnostics(text)
    taken = IrError(f"{name} is taken: the text would mean something else")
    if module is None:
        raise taken from IrError(problems)
    if symbol.kind in (VARIABLE, BINDING) and not structural_equal(analysis.module, module):
        raise taken
