"""Notes of runs that end because a value decides an extent outside of its bounds: which one, and the value.

A run writes them to the last 16 bytes of its workspace, where nothing is read any more: the number of the length among those of
`lengths_of_values`, and its value.
"""

from __future__ import annotations

from ..symbolic_int import Symbol, SymbolicInt
from .program import Program, SetLengths, steps
from .symbols import lengths_of_values

BYTES = 16


def noted_lengths(program: Program) -> dict[Symbol, int]:
    """The lengths that runs leave notes about, with their numbers: none where memory is in pools, or has no room for a note."""
    frames = [program.functions[n].frame_bytes for n in program.entry_names]
    if program.pools or any(isinstance(f, SymbolicInt) or f < BYTES for f in frames):
        return {}
    return {s: n for n, s in enumerate(lengths_of_values(program))}


def origins_of_lengths(program: Program) -> dict[Symbol, str]:
    """The place in the source of each length that values decide, where it is known."""
    return {
        symbol: s.origin
        for f in program.functions.values()
        for s in steps(f.body)
        if isinstance(s, SetLengths) and s.origin
        for symbol in s.symbols
    }
