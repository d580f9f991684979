"""Dependences between expressions, also through values of variables, and the scopes of their variables."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property, reduce

from ...ir import Expr, Function, Let, Match, Var, binders, bound_vars, children, free_variables, post_order
from ...ir.scope import Scope, Scopes, common_scope


class Dependence:
    """Dependences between the expressions below a root."""

    def __init__(self, root: Expr) -> None:
        self.root = root
        order = post_order(root)
        self.place = {e: n for n, e in enumerate(order)}
        """The position of each expression: operands come before their users."""
        self.values: dict[Expr, Expr] = {e.var: e.value for e in order if isinstance(e, Let)}
        self.binds_inside = any(binders(e) for e in order if e is not root)

    def reaches(self, start: Expr, targets: Collection[Expr], first: int) -> bool:
        """True if `start` is computed from one of the targets, none of which has a place before `first`."""
        seen: set[Expr] = set()
        stack = [start]
        while stack:
            e = stack.pop()
            if e in targets:
                return True
            if e in seen or (self.place[e] < first and e not in self.values):
                continue
            seen.add(e)
            stack.extend(children(e))
            if e in self.values:
                stack.append(self.values[e])
        return False

    def around(self, *expressions: Expr) -> Scope | None:
        """The innermost scope around all of them; None if the root binds nothing inside."""
        if not self.binds_inside:
            return None
        scopes = [self._scopes.of[e] for e in expressions]
        return reduce(common_scope, scopes)

    def is_bound(self, e: Expr, scope: Scope | None) -> bool:
        """True if the free variables of `e` are bound around a scope, as `around` gives it."""
        if scope is None:
            return True
        bound = (self._binding.get(v) for v in free_variables(e))
        return all(common_scope(own_scope, scope) is own_scope for own_scope in bound if own_scope is not None)

    @cached_property
    def _scopes(self) -> Scopes:
        return Scopes(self.root)

    @cached_property
    def _binding(self) -> dict[Var, Scope]:
        """The scope that each variable is bound in."""
        result: dict[Var, Scope] = {}
        for e, inner in self._scopes.inner.items():
            if isinstance(e, Match):
                for clause, scope in zip(e.clauses, inner, strict=True):
                    result.update(dict.fromkeys(bound_vars(clause.pattern), scope))
            elif isinstance(e, Function | Let):
                result.update(dict.fromkeys(binders(e), inner[0]))
        return result
