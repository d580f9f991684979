"""An entry that has a function of its own for each of the few values of a length.

    @main(%x: Tensor[(batch, 8), float32]), batch one of 1, 4 and 8

    if batch == 1 { @main_batch_1(x, out) } else { if batch == 4 { @main_batch_4(x, out) } else { @main_batch_8(x, out) } }

The entry's attribute lists these functions. They compute on the tensors of the entry, whose lengths are numbers to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import Function
from ..symbolic_int import Symbol
from ..tir.conditions import LengthIs
from ..tir.program import Branch, CallFunction, Slot, Step

CASES = "length_cases"
"""The attribute of an entry with the names of these functions, in the order of the values, those of the last length first."""


def choose_case(function: Function, symbols: Sequence[Symbol], params: list[Slot], results: list[Slot]) -> list[Step]:
    """The steps that call the function of the run's lengths; `symbols` are the lengths with few values.

    Runs with other values have been refused, so that the last value of a length needs no comparison.
    """
    groups: list[Any] = [[CallFunction(name, list(params), list(results))] for name in function.attrs[CASES]]
    for s in reversed(symbols):
        count = len(s.choices)
        groups = [_choose(s, groups[n : n + count], results) for n in range(0, len(groups), count)]
    (steps,) = groups
    return list(steps)


def _choose(symbol: Symbol, cases: Sequence[list[Step]], results: list[Slot]) -> list[Step]:
    """The steps of one of the cases, which has the length's value."""
    *first, chosen = cases
    for value, case in zip(reversed(symbol.choices[:-1]), reversed(first), strict=True):
        chosen = [Branch(LengthIs(symbol, value), case, chosen, list(results))]
    return chosen


__all__ = ["CASES", "choose_case"]
