"""Formulas of lengths that a run decides, as LLVM instructions on i64."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ...symbolic_int import Atom, Minimum, Symbol, SymbolicInt, whole_lengths
from ...tir.conditions import LengthCondition, LengthIs
from .builder import Builder

Slots = Mapping[str, str]
"""The addresses, by name, of lengths that the function itself sets; other lengths are parameters."""


def parameters(symbols: Sequence[Symbol]) -> list[str]:
    """Parameters of functions that compute with these lengths: `i64 %seq`."""
    return [f"i64 %{s.name}" for s in symbols]


def arguments(b: Builder, symbols: Sequence[Symbol], slots: Slots) -> list[str]:
    """Arguments for such parameters."""
    return [f"i64 {_length(b, s.name, slots)}" for s in symbols]


def write_formula(b: Builder, value: int, slots: Slots = MappingProxyType({})) -> str:
    """The operand, of i64, of an extent."""
    if not isinstance(value, SymbolicInt):
        return str(value)
    total = ""
    for atoms, multiple in value.terms.items():
        factors, coefficient = whole_lengths(atoms, multiple)
        operands = [
            *([str(coefficient)] if coefficient != 1 or not factors else []),
            *(_atom(b, a, slots) for a in factors),
        ]
        term = operands[0]
        for operand in operands[1:]:
            term = b.value(f"mul nsw i64 {term}, {operand}", "size")
        total = b.value(f"add nsw i64 {total}, {term}", "size") if total else term
    return total


def write_condition(b: Builder, condition: LengthCondition, slots: Slots = MappingProxyType({})) -> str:
    """The operand, of i1, of a condition on lengths."""
    if isinstance(condition, LengthIs):
        return b.value(f"icmp eq i64 {_length(b, condition.symbol.name, slots)}, {condition.value}")

    def compare(how: str, extent: int, number: int) -> str:
        return b.value(f"icmp {how} i64 {write_formula(b, extent, slots)}, {number}")

    short = [compare("slt", d, condition.least) for d in condition.extents]
    tests = [
        functools.reduce(lambda x, y: b.value(f"or i1 {x}, {y}"), short),
        *(compare("sgt", d, 0) for d in condition.results),
    ]
    return functools.reduce(lambda x, y: b.value(f"and i1 {x}, {y}"), tests)


def _length(b: Builder, name: str, slots: Slots) -> str:
    return b.value(f"load i64, ptr {slots[name]}", name) if name in slots else f"%{name}"


def _atom(b: Builder, atom: Atom | str, slots: Slots) -> str:
    if isinstance(atom, str):
        return _length(b, atom, slots)
    if isinstance(atom, Symbol):
        return b.value(f"sdiv exact i64 {_length(b, atom.name, slots)}, {atom.step}", "size")
    if isinstance(atom, Minimum):
        first, second = (write_formula(b, x, slots) for x in (atom.first, atom.second))
        is_first = b.value(f"icmp slt i64 {first}, {second}")
        return b.value(f"select i1 {is_first}, i64 {first}, i64 {second}", "size")
    dividend, divisor = (write_formula(b, x, slots) for x in (atom.dividend, atom.divisor))
    return b.value(f"sdiv i64 {dividend}, {divisor}", "size")
