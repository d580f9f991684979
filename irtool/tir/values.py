"""Types of values that callers of an entry hand over or get back as handles, and the table of a program's objects.

A caller has values in memory of its own, with objects as in the region of a run (see `region`), behind a head of eight words. A run copies
them to the beginning of its region, checks them by the table, and adds to the caller's memory the objects that its results lead to.

::

    head      end of the objects, end of the memory, six words without a meaning
    table     for each number of an object the place of its record (0: none), then the records
    record    bytes (0 for an object without fields, which has no memory), tag, number of handles, and for each handle
              its offset, the number of the first object of its type, and how many these are (0 for objects that callers never see)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .dtypes import HANDLE
from .region import Layout


@dataclass(frozen=True)
class Alternative:
    """A constructor of a type, or the cell of a reference.

    Attributes:
        layout: the object; without fields, a value needs no memory.
        forms: the structure of each argument: None for one field, a tuple of structures for a tuple.
        targets: for each field, the number of the type that it is a handle of; -1 for a tensor.
    """

    layout: Layout
    forms: tuple[Any, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True)
class ValueType:
    """A type of values that callers see. Its alternatives are in the order of their tags, and their objects have consecutive numbers.

    Attributes:
        text: the type as Relay writes it.
        data: the name of the data type; empty for a reference.
    """

    text: str
    data: str
    alternatives: tuple[Alternative, ...]

    @property
    def first(self) -> int:
        """The number of the first alternative's object."""
        return self.alternatives[0].layout.number


@dataclass(frozen=True, eq=False)
class EntryValues:
    """The handles among the parameters and results of an entry.

    Attributes:
        types: all types that callers of the program see.
        numbers: the number of the type of each slot that is a handle.
    """

    types: Sequence[ValueType]
    numbers: Mapping[Any, int]

    def type_of(self, slot: Any) -> ValueType | None:
        """The type of a handle; None for a tensor."""
        n = self.numbers.get(slot)
        return None if n is None else self.types[n]

    def with_slot(self, new: Any, old: Any) -> EntryValues:
        """The same with one slot in the place of another one."""
        return EntryValues(self.types, {new if s is old else s: n for s, n in self.numbers.items()})

    @property
    def may_be_written(self) -> bool:
        """True if there are references among the types."""
        return any(not t.data for t in self.types)


def object_table(layouts: Sequence[Layout], types: Sequence[ValueType]) -> list[int]:
    """The table of objects with the numbers 1, 2, …."""
    targets = {a.layout.number: a.targets for t in types for a in t.alternatives}
    table = [0] * (len(layouts) + 1)
    for layout in layouts:
        table[layout.number] = len(table)
        handles = [(n, f) for n, f in enumerate(layout.fields) if f.dtype == HANDLE]
        table += [layout.size if layout.fields else 0, layout.tag, len(handles)]
        for n, f in handles:
            seen = targets.get(layout.number)
            t = None if seen is None else types[seen[n]]
            table += [f.offset, *((0, 0) if t is None else (t.first, len(t.alternatives)))]
    return table
