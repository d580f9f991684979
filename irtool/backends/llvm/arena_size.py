"""The function that gives the bytes of workspace for lengths that nothing bounds, in LLVM IR; see `c.arena_size`."""

from __future__ import annotations

from collections.abc import Iterable

from ...symbolic_int import Atom, Minimum, Symbol, SymbolicInt
from ..interface.entry import EntryPoint
from ..interface.memory import ALIGNMENT
from .builder import Builder
from .formulas import parameters, write_formula
from .refusals import refuse, refuse_outside

_MOST = "4611686018427387904.0"
"""2^62: above it, memory has no addresses."""


def define_arena_size(e: EntryPoint, arena_bytes: int) -> list[str]:
    """Defines the function. It returns 0 for lengths out of bounds, and for tensors and a workspace larger than any memory."""
    b = Builder("entry", *(s.name for s in e.symbols))
    for s in e.symbols:
        refuse_outside(b, s, 0 if s in e.empty_at_zero else s.low, 0, "i64")
    most = _magnitude(b, [arena_bytes, *(p.slot.nbytes for p in e.tensors)])
    refuse(b, b.value(f"fcmp ogt double {most}, {_MOST}"), 0, "i64")
    b.ret(f"i64 {b.value(f'add i64 {write_formula(b, arena_bytes)}, {ALIGNMENT}')}")
    return [*b.text(f"define i64 @{e.arena_size}({', '.join(parameters(e.symbols))}) nounwind"), ""]


def _magnitude(b: Builder, sizes: Iterable[int]) -> str:
    """The sum of the sizes without signs of terms, as a double: an upper bound of each part of their formulas."""
    total = "0.0"
    for size in sizes:
        for m, k in size.terms.items() if isinstance(size, SymbolicInt) else [((), int(size))]:
            term = f"{abs(k)}.0"
            for atom in m:
                term = b.value(f"fmul double {term}, {_factor(b, atom)}")
            total = b.value(f"fadd double {total}, {term}")
    return total


def _factor(b: Builder, atom: Atom) -> str:
    """An upper bound of an atom."""
    if isinstance(atom, Symbol):
        return b.value(f"sitofp i64 %{atom.name} to double")
    if isinstance(atom, Minimum):
        return _magnitude(b, [atom.first])
    divisor = 1 if isinstance(atom.divisor, SymbolicInt) else atom.divisor
    return b.value(f"fdiv double {_magnitude(b, [atom.dividend])}, {divisor}.0")
