"""Of equal expressions one object."""

from __future__ import annotations

from typing import Any

from .expr import Binary, Call, Cast, Const, Expr, Load, Not, Reduce, Select, Var, children, rewrite


class Interner:
    """Gives one object for all expressions of the same structure. Variables and reductions are only equal to themselves.

    `table` has every object that was given, by its structure.
    """

    def __init__(self) -> None:
        self.table: dict[Any, Expr] = {}
        self._memo: dict[Expr, Expr] = {}

    def __call__(self, e: Expr) -> Expr:
        """The one object for `e`, throughout."""
        return rewrite(e, self.unique, self._memo)

    def unique(self, e: Expr) -> Expr:
        """The one object for `e`, whose operands are such objects."""
        if isinstance(e, Binary):  # most of them
            key: Any = (e.op, e.dtype, id(e.a), id(e.b))
        elif isinstance(e, Const):
            key = ("const", e.dtype, e.value if not isinstance(e.value, float) else e.value.hex())
        elif isinstance(e, Var):
            return e
        else:
            kids = tuple(map(id, children(e)))
            if isinstance(e, Load):
                key = ("load", id(e.source), kids)
            elif isinstance(e, Cast):
                key = ("cast", e.dtype, kids)
            elif isinstance(e, Not):
                key = ("not", kids)
            elif isinstance(e, Select):
                key = ("select", e.lazy, kids)
            elif isinstance(e, Call):
                key = ("call", e.name, e.dtype, kids)
            else:
                assert isinstance(e, Reduce)
                return e
        return self.table.setdefault(key, e)
