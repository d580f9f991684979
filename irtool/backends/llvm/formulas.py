"""Formulas of lengths that a run decides, as LLVM instructions on i64."""

from __future__ import annotations

from collections.abc import Sequence

from ...symbolic_int import Atom, Minimum, Symbol, SymbolicInt, whole_lengths
from .builder import Builder


def parameters(symbols: Sequence[Symbol]) -> list[str]:
    """Parameters, or arguments, of functions that compute with these lengths: `i64 %seq`."""
    return [f"i64 %{s.name}" for s in symbols]


def write_formula(b: Builder, value: int) -> str:
    """The operand, of i64, of an extent; lengths are parameters of the function under their names."""
    if not isinstance(value, SymbolicInt):
        return str(value)
    total = ""
    for atoms, multiple in value.terms.items():
        factors, coefficient = whole_lengths(atoms, multiple)
        operands = [*([str(coefficient)] if coefficient != 1 or not factors else []), *(_atom(b, a) for a in factors)]
        term = operands[0]
        for operand in operands[1:]:
            term = b.value(f"mul nsw i64 {term}, {operand}", "size")
        total = b.value(f"add nsw i64 {total}, {term}", "size") if total else term
    return total


def _atom(b: Builder, atom: Atom | str) -> str:
    if isinstance(atom, str):
        return f"%{atom}"
    if isinstance(atom, Symbol):
        return b.value(f"sdiv exact i64 %{atom.name}, {atom.step}", "size")
    if isinstance(atom, Minimum):
        first, second = write_formula(b, atom.first), write_formula(b, atom.second)
        is_first = b.value(f"icmp slt i64 {first}, {second}")
        return b.value(f"select i1 {is_first}, i64 {first}, i64 {second}", "size")
    return b.value(f"sdiv i64 {write_formula(b, atom.dividend)}, {write_formula(b, atom.divisor)}", "size")
