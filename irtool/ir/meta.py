"""Nodes of TVM that are neither expressions nor types, but stand in attributes and metadata sections.

`VirtualDevice` says where a value lives; `MetaNode` is any other record of TVM (`Target`, `Executor`, `Runtime` …):
its type key and its fields by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class MetaNode:
    """A record by TVM's type key (`Target`). Equal by value; values are immutable by convention.

    Field values are ints, floats, bools, strings, None, tuples, dictionaries and other records. `missing` is the index of a
    record that a text refers to, `meta[type_key][missing]`, and does not hold; it has no fields.
    """

    __slots__ = ("fields", "missing", "type_key")

    def __init__(self, type_key: str, fields: Mapping[str, Any] | None = None, missing: int | None = None) -> None:
        self.type_key = type_key
        self.fields: Mapping[str, Any] = dict(fields or {})
        self.missing = missing

    def __eq__(self, other: object) -> bool:
        stack: list[tuple[Any, Any]] = [(self, other)]
        while stack:
            a, b = stack.pop()
            if a is b:
                continue
            if isinstance(a, MetaNode):
                if not isinstance(b, MetaNode) or a.type_key != b.type_key or a.missing != b.missing:
                    return False
                a, b = dict(sorted(a.fields.items())), dict(sorted(b.fields.items()))
            if isinstance(a, Mapping):
                if not isinstance(b, Mapping) or list(a) != list(b):
                    return False
                stack.extend((a[k], b[k]) for k in a)
            elif isinstance(a, tuple):
                if not isinstance(b, tuple) or len(a) != len(b):
                    return False
                stack.extend(zip(a, b, strict=True))
            elif isinstance(b, MetaNode | Mapping | tuple) or a != b:
                return False
        return True

    def __hash__(self) -> int:
        return hash((self.type_key, *sorted(self.fields)))

    def __repr__(self) -> str:
        if self.missing is not None:
            return f"meta[{self.type_key}][{self.missing}]"
        return f"{self.type_key}({', '.join(map(str, self.fields))})"


@dataclass(frozen=True)
class VirtualDevice:
    """The place of a value: TVM's device type (1 CPU, 2 CUDA …, -1 unknown), number, target and memory scope.

    `missing` is the index of a device that a text refers to, `meta[VirtualDevice][missing]`, and does not hold: nothing is known
    of it, and it is printed as it was.
    """

    device_type: int = -1
    virtual_device_id: int = -1
    target: MetaNode | None = None
    memory_scope: str = ""
    missing: int | None = None

    @property
    def is_unconstrained(self) -> bool:
        """True if nothing is known of the device."""
        return self.device_type == self.virtual_device_id == -1 and self.target is None and not self.memory_scope


@dataclass(frozen=True)
class LoweredText:
    """A lowered function that was read and not understood: it is kept as it stands, so that a module prints as it was.

    `text` is what follows `@name = `: `primfn(…) … }`; it is empty for a function that a text calls and does not hold, which is
    not printed either. `checked_type` is the function's type, as far as the text and the
    calls of it tell.
    """

    text: str
    checked_type: Any = field(default=None, compare=False)
