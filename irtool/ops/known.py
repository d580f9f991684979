"""Asking a type rule where all types are known."""

from __future__ import annotations

from ..ir import Expr, IncompleteType, Type
from .base import RelationError


class Known:
    """A `Reporter` for questions about a type rule: it reports nothing and solves nothing."""

    @property
    def out(self) -> Type:
        """Nothing is known of the result."""
        return IncompleteType()

    def argument(self, index: int) -> Expr | None:
        """There are types, and no expressions."""
        return None

    def assign(self, index: int, type: Type) -> None:
        """The arguments have their types."""

    def unify(self, a: Type, b: Type) -> Type:
        """The one that is known; RelationError if they differ."""
        known = [t for t in (a, b) if not isinstance(t, IncompleteType)]
        if len(known) == 2 and known[0] != known[1]:
            raise RelationError(f"{a} and {b} differ")
        return known[0] if known else a
