"""A module: functions and type definitions by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .adt import TypeData
from .expr import Constructor, Function


class Module:
    """What one `.relay` text holds. Immutable: `with_functions` and friends return another module.

    Attributes:
        functions: by name without `@`, in order of definition. A value is a `Function`, or a `tir.PrimFunc` once lowered.
        type_definitions: by name, in order of definition.
        attrs: module attributes of the peer (`executor`, `runtime` …).
        metadata: what the text's metadata section held beside what the functions refer to; kept to print it again.
    """

    __slots__ = ("__weakref__", "_constructors", "attrs", "functions", "metadata", "type_definitions")

    def __init__(
        self,
        functions: Mapping[str, Any] | None = None,
        type_definitions: Mapping[str, TypeData] | None = None,
        attrs: Mapping[str, Any] | None = None,
        metadata: Any = None,
    ) -> None:
        self.functions: Mapping[str, Any] = dict(functions or {})
        self.type_definitions: Mapping[str, TypeData] = dict(type_definitions or {})
        self.attrs: Mapping[str, Any] = dict(attrs or {})
        self.metadata = metadata
        self._constructors: dict[str, Constructor] | None = None

    def __getitem__(self, name: str) -> Any:
        return self.functions[name]

    def __contains__(self, name: str) -> bool:
        return name in self.functions

    @property
    def constructors(self) -> Mapping[str, Constructor]:
        """Every constructor of every type definition, by name."""
        if self._constructors is None:
            self._constructors = {c.name: c for t in self.type_definitions.values() for c in t.constructors}
        return self._constructors

    @property
    def relay_functions(self) -> dict[str, Function]:
        """The functions that are Relay (not lowered)."""
        return {n: f for n, f in self.functions.items() if isinstance(f, Function)}

    def with_functions(self, functions: Mapping[str, Any]) -> Module:
        """The same module over other functions; this module if they are the same objects in the same order."""
        if len(functions) == len(self.functions) and all(
            a == b and f is g for (a, f), (b, g) in zip(functions.items(), self.functions.items(), strict=True)
        ):
            return self
        return Module(functions, self.type_definitions, self.attrs, self.metadata)

    def with_function(self, name: str, function: Any) -> Module:
        """The same module with one function replaced or added."""
        return self.with_functions({**self.functions, name: function})

    def with_types(self, type_definitions: Mapping[str, TypeData]) -> Module:
        """The same module with other type definitions."""
        return Module(self.functions, type_definitions, self.attrs, self.metadata)

    def fresh_name(self, hint: str) -> str:
        """`hint`, or the first of `hint1`, `hint2`, … that names no function yet."""
        if hint not in self.functions:
            return hint
        n = 1
        while f"{hint}{n}" in self.functions:
            n += 1
        return f"{hint}{n}"

    def __repr__(self) -> str:
        return f"Module({', '.join('@' + n for n in self.functions)})"
