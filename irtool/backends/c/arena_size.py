"""The function that gives the bytes of workspace for lengths that nothing bounds: `size_t NAME_arena_size(int64_t batch, int64_t seq)`."""

from __future__ import annotations

from collections.abc import Iterable

from ...symbolic_int import Atom, Minimum, Quotient, Symbol, SymbolicInt
from ..interface.entry import EntryPoint
from ..interface.memory import ALIGNMENT
from .runs import outside


def define_arena_size(e: EntryPoint, arena_bytes: int) -> str:
    """Defines the function. It returns 0 for lengths out of bounds, and for tensors and a workspace larger than any memory.

    The sum of all sizes is computed as floating-point numbers before, so that no formula overflows.
    """
    tests = [f"({outside(s, 0 if s in e.empty_at_zero else s.low)})" for s in e.symbols]
    most = _magnitude([arena_bytes, *(p.slot.nbytes for p in e.tensors)])
    return (
        f"size_t {e.arena_size}({', '.join(f'int64_t {s.name}' for s in e.symbols)}) {{\n"
        f"  if ({' || '.join(tests)}) return 0;\n"
        f"  if ({most} > (double)(SIZE_MAX / 4)) return 0;\n"
        f"  return {ALIGNMENT}u + (size_t)({arena_bytes});\n}}\n"
    )


def _magnitude(sizes: Iterable[int]) -> str:
    """The sum of the sizes without signs of terms, as a double in C: an upper bound of each part of their formulas."""
    terms: dict[tuple[Atom, ...], int] = {}
    for size in sizes:
        for m, k in size.terms.items() if isinstance(size, SymbolicInt) else [((), int(size))]:
            terms[m] = terms.get(m, 0) + abs(k)
    texts = [" * ".join([f"{k}.0", *map(_factor, m)]) for m, k in terms.items() if k]
    return " + ".join(texts) or "0.0"


def _factor(atom: Atom) -> str:
    """An upper bound of an atom in C."""
    if isinstance(atom, Symbol):
        return f"(double){atom.name}" if atom.step == 1 else f"((double){atom.name} / {atom.step})"
    if isinstance(atom, Quotient):
        divisor = atom.divisor if not isinstance(atom.divisor, SymbolicInt) else 1
        return f"(({_magnitude([atom.dividend])}) / {divisor})"
    assert isinstance(atom, Minimum)
    return f"({_magnitude([atom.first])})"
