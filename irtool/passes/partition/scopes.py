"""Scopes in which a region can be called: all of its inputs are bound there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ...ir import Expr, Function, Let, Match, Var, children
from ...ir.adt import bound_vars
from ...ir.scope import Scope, Scopes, common_scope
from .regions import Region


def values_of_variables(order: Iterable[Expr]) -> dict[Var, Expr]:
    """The value behind each variable of a `let` or a pattern."""
    result: dict[Var, Expr] = {}
    for e in order:
        if isinstance(e, Let):
            result[e.var] = e.value
        elif isinstance(e, Match):
            result.update((v, e.data) for clause in e.clauses for v in bound_vars(clause.pattern))
    return result


class RegionScopes:
    """The scopes of a function's nodes, and for each region the innermost one that binds a variable its inputs hang on."""

    def __init__(self, function: Function, order: Sequence[Expr], regions: Iterable[Region]) -> None:
        self._scopes = Scopes(function)
        self._outermost = self._scopes.inner[function][0]
        needs = self._needs(order)
        self._of_region = {r: self._innermost(needs[b] for b in r.inputs) for r in regions}

    def can_merge(self, parent: Region, region: Region) -> bool:
        """True if one call can stand for both: results of `parent` are used where the inputs of `region` are bound."""
        needed = self._of_region[region]
        if needed is self._outermost:
            return True
        inside = Counter(b.args[0] for b in region.inputs)
        return all(
            inside[end] == self._scopes.uses[end] or common_scope(self._scopes.of[end], needed) is needed
            for end in parent.outputs
        )

    def merge(self, parent: Region, into: Region) -> None:
        """Gives the merged region the inner one of both scopes."""
        self._of_region[into] = self._innermost((self._of_region[into], self._of_region.pop(parent)))

    def _innermost(self, scopes: Iterable[Scope]) -> Scope:
        return max(scopes, key=lambda s: s.depth, default=self._outermost)

    def _needs(self, order: Sequence[Expr]) -> dict[Expr, Scope]:
        """For each node the innermost scope of a variable that it has from outside of itself, or a scope within that one."""
        homes: dict[Expr, Scope] = {}
        for e in order:
            inner = self._scopes.inner.get(e, ())
            if isinstance(e, Let):
                homes[e.var] = inner[0]
            elif isinstance(e, Function):
                homes.update((p, inner[0]) for p in e.params)
            elif isinstance(e, Match):
                homes.update((v, s) for c, s in zip(e.clauses, inner, strict=True) for v in bound_vars(c.pattern))
        needs: dict[Expr, Scope] = {}
        for e in order:
            need = homes.get(e, self._outermost)
            own = self._scopes.inner.get(e, ())
            for c in children(e):
                below = needs.get(c, self._outermost)
                if any(common_scope(below, s) is s for s in own):
                    below = self._scopes.of[e]  # bound here; its requirements further out are unknown from here on
                need = max(need, below, key=lambda s: s.depth)
            needs[e] = need
        return needs
