"""Notes of runs that end because a value decides an extent outside of its bounds: which one, and the value.

A run writes them to its workspace, where nothing is read any more: to the last 16 bytes, or to the first ones of a pool. They are the number
of the length among those of `lengths_of_values`, and its value.
"""

from __future__ import annotations

from ..symbolic_int import Symbol, SymbolicInt
from .program import Program, SetLengths, steps
from .symbols import lengths_of_values

BYTES = 16


def noted_lengths(program: Program) -> dict[Symbol, int]:
    """The lengths that runs leave notes about, with their numbers: none where the workspace has no room for a note, and where functions
    whose frames lie inside of a pool set lengths."""
    frames = [program.functions[n].frame_bytes for n in program.entry_names]
    if any(isinstance(f, SymbolicInt) or f < BYTES for f in frames):
        return {}
    if program.pools and (pool_of_notes(program) is None or not _set_by_entries_alone(program)):
        return {}
    return {s: n for n, s in enumerate(lengths_of_values(program))}


def pool_of_notes(program: Program) -> int | None:
    """The first pool of the workspace that has room for a note; None if none has, or if there are no pools."""
    entries = [program.functions[n] for n in program.entry_names]
    sizes = [max(f.pool_bytes[n] for f in entries) for n in range(len(program.pools))]
    return next((n for n, size in enumerate(sizes) if size >= BYTES), None)


def _set_by_entries_alone(program: Program) -> bool:
    return all(f.in_pools for f in program.functions.values() if f.lengths)


def origins_of_lengths(program: Program) -> dict[Symbol, str]:
    """The place in the source of each length that values decide, where it is known."""
    return {
        symbol: s.origin
        for f in program.functions.values()
        for s in steps(f.body)
        if isinstance(s, SetLengths) and s.origin
        for symbol in s.symbols
    }
