"""The table of a program's objects, by which a run moves them."""

from __future__ import annotations

from ...tir.program import HostFunction, Program
from ...tir.values import object_table


def uses_objects(program: Program) -> bool:
    """True if a run moves objects."""
    return program.collects or any(f.values is not None for f in program.functions.values())


def table_of(program: Program) -> list[int]:
    """The table of the program's objects."""
    values = next((v for f in program.functions.values() if (v := f.values) is not None), None)
    return object_table(program.layouts, values.types if values is not None else ())


def last_seen(function: HostFunction) -> int:
    """The highest number of an object that callers see."""
    assert function.values is not None
    return max(a.layout.number for t in function.values.types for a in t.alternatives)
