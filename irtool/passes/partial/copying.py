"""Copies of functions in which every bound variable is new, types substituted, and the identity of functions kept."""

from __future__ import annotations

from collections.abc import Mapping

from ...ir import Call, Expr, Function, Type, TypeVar, Var, binders, post_order, rewrite, with_binders, with_function
from ...ir.types import rewrite_type


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
        types = types or {}

        def convert(t: Type | None) -> Type | None:
            if t is None or not types:
                return t
            return rewrite_type(t, lambda leaf: types.get(leaf, leaf) if isinstance(leaf, TypeVar) else leaf)

        renamed = {
            v: Var(v.name, convert(v.type_annotation), v.span, None, v.virtual_device)
            for e in post_order(root)
            for v in binders(e)
        }
        memo: dict[Expr, Expr] = dict(renamed)  # type: ignore[arg-type]

        def leave(old: Expr, new: Expr) -> Expr:
            new = with_binders(new, renamed)
            if types and isinstance(new, Call) and new.type_args:
                new = Call(new.op, new.args, new.attrs, tuple(map(convert, new.type_args)), new.span)  # type: ignore[arg-type]
            if isinstance(old, Function) and isinstance(new, Function):
                if new is old or (types and new.ret_type is not None):
                    new = with_function(new, ret_type=convert(new.ret_type))
                if old in self._numbers:
                    self._numbers[new] = self._numbers[old]
            return new

        copied = rewrite(root, leave, memo=memo)
        assert isinstance(copied, Function)
        return copied
