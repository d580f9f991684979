"""Copies of functions in which every bound variable is new, types substituted, and the identity of functions kept."""

from __future__ import annotations

from collections.abc import Mapping

from ...ir import Expr, Function, Type, TypeVar, post_order
from ..core.instantiation import instantiate


class Identities:
    """Numbers for functions: a copy of a function has the number of the original."""

    def __init__(self) -> None:
        self._numbers: dict[Function, int] = {}
        self._next = 0

    def register(self, root: Expr) -> None:
        """Gives a number to each function below `root` that has none."""
        for e in post_order(root):
            if isinstance(e, Function) and e not in self._numbers:
                self._numbers[e] = self._next
                self._next += 1

    def of(self, function: Function) -> int:
        """The number of a function."""
        return self._numbers[function]

    def copy(self, root: Function, types: Mapping[TypeVar, Type] | None = None) -> Function:
        """`root` with fresh bound variables and with type variables replaced."""

        def number(old: Function, new: Function) -> None:
            if old in self._numbers:
                self._numbers[new] = self._numbers[old]

        return instantiate(root, types or {}, number)
