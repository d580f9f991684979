"""Random values of data types: constructors that are drawn, those nearest to an end where a value gets deep."""

from __future__ import annotations

from typing import Any

from ..diagnostics import IrError, Span
from ..ir import Constructor, GlobalTypeVar, Module, Type, TypeCall
from ..ir.types import data_name, rewrite_type, type_children

_DEEPEST = 6
"""Constructors one inside the other, from which on values come to an end."""

_ENDLESS = 1 << 30
"""The height of a type without finite values."""


class RandomConstructors:
    """Draws the constructors of a module's data types."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._heights = _heights(module)

    def draw(self, t: Type, random: Any, depth: int, name: str, span: Span | None) -> tuple[Constructor, list[Type]]:
        """A constructor of the type, and the types of its arguments.

        Args:
            random: a `numpy.random.RandomState`.
            depth: the number of constructors around it.
            name: the parameter, for messages.

        Raises:
            IrError: the type has no finite values.
        """
        definition = self.module.type_definitions.get(data_name(t))
        constructors = definition.constructors if definition is not None else ()
        heights = [self._height(c) for c in constructors]
        least = min(heights, default=_ENDLESS)
        if definition is None or least >= _ENDLESS:
            raise IrError(
                f"cannot make a random value for %{name}: its type is {t!r}, which has no finite values", span
            )
        most = _ENDLESS - 1 if depth < _DEEPEST else least
        allowed = [c for c, h in zip(constructors, heights, strict=True) if h <= most]
        constructor = allowed[random.randint(len(allowed))]
        arguments = t.args if isinstance(t, TypeCall) else ()
        bound: dict[Type, Type] = dict(zip(definition.type_vars, arguments, strict=True))
        return constructor, [rewrite_type(x, lambda v: bound.get(v, v)) for x in constructor.inputs]

    def _height(self, c: Constructor) -> int:
        return max((self._heights.get(n, _ENDLESS) for t in c.inputs for n in _names(t)), default=0)


def is_data(t: Type) -> bool:
    """True for a data type."""
    return isinstance(t, TypeCall | GlobalTypeVar)


def _heights(module: Module) -> dict[str, int]:
    """For each data type the least number of constructors one inside the other in a value; those without finite values are not in it."""
    heights: dict[str, int] = {}
    changed = True
    while changed:
        changed = False
        for v, definition in module.type_definitions.items():
            for c in definition.constructors:
                inside = [n for t in c.inputs for n in _names(t)]
                if all(n in heights for n in inside):
                    height = 1 + max((heights[n] for n in inside), default=0)
                    if height < heights.get(v, _ENDLESS):
                        heights[v] = height
                        changed = True
    return heights


def _names(root: Type) -> list[str]:
    """The data types in a type; arguments of one count as well."""
    names: list[str] = []
    stack = [root]
    while stack:
        t = stack.pop()
        if isinstance(t, GlobalTypeVar):
            names.append(t.name)
        stack += type_children(t)
    return names
