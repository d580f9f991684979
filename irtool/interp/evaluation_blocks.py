"""The basic block in which each node of a function is evaluated.

A node belongs to the innermost block that contains all its uses. If the block itself uses it, it is evaluated there. If
only blocks below do (two branches, say, neither of which is sure to run), it gets a block of its own below it, to be run
when it is first needed. A node shared between a function literal and its surroundings thus belongs to the surroundings.
"""

from __future__ import annotations

from ..ir import Expr, Function, If, Let, Match, Var, bound_vars, children, post_order
from ..ir.scope import common_scope
from .code import BasicBlock


class Places:
    """The blocks of a function and of the function literals in it, and which node is evaluated in which."""

    def __init__(self, whole: Function) -> None:
        self.body = BasicBlock(None, starts_function=True)
        self.blocks = [self.body]
        """Every block; outer ones before inner ones."""
        self.literals: list[Function] = []
        """The function literals, inner ones first."""
        self.functions: dict[Expr, BasicBlock] = {whole: self.body}
        """The body block of each function literal."""
        self.branches: dict[Expr, tuple[BasicBlock, ...]] = {}
        self.own: dict[Expr, BasicBlock] = {}
        """Nodes that have a block of their own."""
        self._homes: dict[Expr, BasicBlock] | None = None
        self._binders: dict[Var, BasicBlock] = dict.fromkeys(whole.params, self.body)
        order = post_order(whole.body)
        if any(e.__class__ in _SCOPES for e in order):
            self._find(whole.body, order)

    def of(self, e: Expr) -> BasicBlock:
        """The block in which `e` is evaluated."""
        return self.body if self._homes is None else self._homes[e]

    def binds_here(self, v: Var, function: BasicBlock) -> bool:
        """True if that function binds the variable."""
        block = self._binders.get(v)
        return block is not None and block.function is function

    def _block(self, parent: BasicBlock, starts_function: bool = False) -> BasicBlock:
        block = BasicBlock(parent, starts_function)
        self.blocks.append(block)
        return block

    def _find(self, root: Expr, order: list[Expr]) -> None:
        homes: dict[Expr, BasicBlock] = {root: self.body}
        self._homes = homes
        below_only: set[Expr] = set()
        for e in reversed(order):
            if e.__class__ is Var:
                continue
            place = homes[e]
            if e in below_only and children(e):
                place = self.own[e] = homes[e] = self._block(place)
            inside: tuple[BasicBlock, ...] = (place,)
            if isinstance(e, Function):
                self.literals.append(e)
                body = self.functions[e] = self._block(place, starts_function=True)
                self._binders.update(dict.fromkeys(e.params, body))
                inside = (body,)
            elif isinstance(e, Let):
                self._binders[e.var] = place
            elif isinstance(e, If):
                self.branches[e] = (self._block(place), self._block(place))
                inside = (place, *self.branches[e])
            elif isinstance(e, Match):
                self.branches[e] = tuple(self._block(place) for _ in e.clauses)
                inside = (place, *self.branches[e])
                for c in e.clauses:
                    self._binders.update(dict.fromkeys(bound_vars(c.pattern), place))
            several = len(inside) > 1
            for i, k in enumerate(children(e)):
                use = inside[i] if several else inside[0]
                known = homes.get(k)
                if known is None:
                    homes[k] = use
                elif known is not use:
                    shared = homes[k] = common_scope(known, use)
                    if shared is use:
                        below_only.discard(k)
                    elif shared is not known:
                        below_only.add(k)
                else:
                    below_only.discard(k)
        self.literals.reverse()


_SCOPES = frozenset({Function, If, Match})
