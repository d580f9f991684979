"""The function that gives the bytes of workspace for lengths that nothing bounds, in LLVM IR; see `c.arena_size`."""

from __future__ import annotations

from collections.abc import Iterable

from ...symbolic_int import Atom, Minimum, Symbol, SymbolicInt
from ..interface.entry import EntryPoint
from ..interface.memory import ALIGNMENT
from .builder import Builder
from .formulas import parameters, write_formula

_MOST = "4611686018427387904.0"
"""2^62: above it, memory has no addresses."""


def define_arena_size(e: EntryPoint, arena_bytes: int) -> list[str]:
    """Defines the function. It returns 0 for lengths out of bounds, and for tensors and a workspace larger than any memory."""
    b = Builder("entry", *(s.name for s in e.symbols))
    for s in e.symbols:
        _refuse(b, b.value(f"icmp slt i64 %{s.name}, {0 if s in e.empty_at_zero else s.low}"))
        _refuse(b, b.value(f"icmp sgt i64 %{s.name}, {s.high}"))
        if s.choices:
            for n in range(1, len(s.choices)):
                below, above = s.choices[n - 1], s.choices[n]
                tests = b.value(f"icmp sgt i64 %{s.name}, {below}"), b.value(f"icmp slt i64 %{s.name}, {above}")
                _refuse(b, b.value(f"and i1 {tests[0]}, {tests[1]}"))
        elif s.step > 1:
            rest = b.value(f"srem i64 %{s.name}, {s.step}")
            _refuse(b, b.value(f"icmp ne i64 {rest}, 0"))
    most = _magnitude(b, [arena_bytes, *(p.slot.nbytes for p in e.tensors)])
    _refuse(b, b.value(f"fcmp ogt double {most}, {_MOST}"))
    b.ret(f"i64 {b.value(f'add i64 {write_formula(b, arena_bytes)}, {ALIGNMENT}')}")
    return [*b.text(f"define i64 @{e.arena_size}({', '.join(parameters(e.symbols))}) nounwind"), ""]


def _refuse(b: Builder, cond: str) -> None:
    refuse, go = b.fresh("refuse"), b.fresh("go")
    b.branch(cond, refuse, go)
    b.start(refuse)
    b.ret("i64 0")
    b.start(go)


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
