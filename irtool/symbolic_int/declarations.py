"""Lengths as texts declare them: `4<=h<=256:4`, `batch=1|4|8`, `seq`."""

from __future__ import annotations

import re

from .symbols import LARGEST, Symbol, choice_of

_RANGE = re.compile(r"(?:(\d{1,10})<=)?([A-Za-z_]\w*)(?:<=(\d{1,10}))?(?::(\d{1,10}))?")
_CHOICE = re.compile(r"([A-Za-z_]\w*)=(\d{1,10}(?:\|\d{1,10})*)")


def declaration(symbol: Symbol) -> str:
    """The declaration of a length: its bounds and its step, or its values; only a step and a least length without an upper bound."""
    if symbol.choices or symbol.is_bounded:
        return symbol.bounds
    low = f"{symbol.low}<=" if symbol.low != symbol.step else ""
    return low + symbol.name + (f":{symbol.step}" if symbol.step > 1 else "")


def declared(text: str) -> Symbol | None:
    """The length of a declaration; None for other text, and for bounds that no length is within."""
    if choice := _CHOICE.fullmatch(text):
        values = [int(n) for n in choice[2].split("|")]
        return choice_of(choice[1], values) if min(values) > 0 and max(values) <= LARGEST else None
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    step = int(match[4] or 1)
    low = int(match[1]) if match[1] else step
    if step == 0:
        return None
    high = int(match[3]) if match[3] else LARGEST // step * step
    if not low <= high <= LARGEST or low % step or high % step:
        return None
    return Symbol(match[2], low, high, step, is_bounded=match[3] is not None)
