"""The scope in which a shared node is evaluated.

Branches of an `if`, clauses of a `match`, bodies of functions and everything below a `let` open a scope. A node that
several others use is evaluated in the innermost scope that encloses all its uses: the lowest common ancestor, in the
tree of scopes, of the places it is used from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from .adt import bound_vars
from .expr import Call, Constructor, Expr, Function, GlobalVar, If, Let, Match, Op, Tuple, TupleGetItem, children


class Scope:
    """A scope. `jump` is an ancestor further up, by which any ancestor is O(log depth) steps away."""

    __slots__ = ("depth", "jump", "parent")

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent: Scope = parent or self
        self.depth: int = parent.depth + 1 if parent else 0
        self.jump: Scope = self
        if parent is not None:
            over = parent.jump
            far = parent is not over and parent.depth - over.depth == over.depth - over.jump.depth
            self.jump = over.jump if far else parent


class Nested(Protocol):
    """An item nested in another of its kind, all in one outermost: `jump` is one of those around it, as in `Scope`."""

    depth: int
    parent: Any
    jump: Any


N = TypeVar("N", bound=Nested)


def common_scope(a: N, b: N) -> N:
    """The innermost scope that encloses both, in O(log depth) steps."""
    if a.depth < b.depth:
        a, b = b, a
    while a.depth > b.depth:
        a = a.jump if a.jump.depth >= b.depth else a.parent
    while a is not b:
        if a.jump is not b.jump:
            a, b = a.jump, b.jump
        else:
            a, b = a.parent, b.parent
    return a


class Scopes:
    """The scopes of everything below an expression.

    Attributes:
        of: the scope in which each node is evaluated.
        inner: the scopes that a node opens: of a function its body's, of a `let` that of value and body, of an `if` those
            of its two branches, of a `match` one for each clause.
        uses: how many times each node is used.
        lifted: nodes whose scope encloses that of their first use, so that a text without `let` could not place them. Names of operators,
            constructors and functions of the module are written wherever they are used.
    """

    def __init__(self, root: Expr) -> None:
        self.of: dict[Expr, Scope] = {}
        self.inner: dict[Expr, tuple[Scope, ...]] = {}
        self.lifted: set[Expr] = set()
        order, uses = _uses(root)
        self.uses = {e: len(users) for e, users in uses.items()}
        self._enter(root, Scope())
        for e in reversed(order):
            if e is root:
                continue
            scopes = [self.inner[user][slot] if slot >= 0 else self.of[user] for user, slot in uses[e]]
            scope = scopes[0]
            for place in scopes[1:]:
                scope = common_scope(scope, place)
            if scope is not scopes[0] and not isinstance(e, Constructor | GlobalVar | Op):
                self.lifted.add(e)
            self._enter(e, scope)

    def _enter(self, e: Expr, scope: Scope) -> None:
        self.of[e] = scope
        opened = _OPENED.get(e.__class__)
        if opened is not None:
            self.inner[e] = tuple(Scope(scope) for _ in range(opened(e)))


_OPENED: dict[type, Callable[[Any], int]] = {
    Function: lambda e: 1,
    Let: lambda e: 1,
    If: lambda e: 2,
    Match: lambda e: len(e.clauses),
}


def _of_clauses(e: Match) -> tuple[tuple[int, Expr], ...]:
    return tuple((i, x) for i, c in enumerate(e.clauses) for x in (*bound_vars(c.pattern), c.body))


_SLOTS: dict[type, Callable[[Any], tuple[tuple[int, Expr], ...]]] = {
    Function: lambda e: (*((0, p) for p in e.params), (0, e.body)),
    Let: lambda e: ((0, e.var), (0, e.value), (0, e.body)),
    If: lambda e: ((-1, e.cond), (0, e.true_branch), (1, e.false_branch)),
    Match: lambda e: ((-1, e.data), *_of_clauses(e)),
}
"""What a node uses, and in which of the scopes that it opens (-1: in its own)."""


def users_of(root: Expr) -> dict[Expr, list[tuple[Expr, int]]]:
    """For each node below `root`, the nodes that use it, in order, each with the scope of its own that it uses it in.

    That is a position in `Scopes.inner`, or -1: in the scope that the user itself is evaluated in.
    """
    return _uses(root)[1]


def _uses(root: Expr) -> tuple[list[Expr], dict[Expr, list[tuple[Expr, int]]]]:
    """Every node in post-order, and for each the nodes that use it, in the order in which the uses are met.

    A call meets its operands when it has seen all of them; whatever opens scopes meets each before it sees the next.
    """
    order: list[Expr] = []
    uses: dict[Expr, list[tuple[Expr, int]]] = {root: []}
    seen: set[Expr] = set()
    stack: list[tuple[str, Expr, Any]] = [("see", root, None)]
    while stack:
        step, e, use = stack.pop()
        if step == "meet":
            uses.setdefault(e, []).append(use)
        elif step == "leave":
            order.append(e)
        elif e not in seen:
            seen.add(e)
            stack.append(("leave", e, None))
            slots = _SLOTS.get(e.__class__)
            parts = slots(e) if slots else tuple((-1, c) for c in children(e))
            if isinstance(e, Call | Tuple | TupleGetItem):
                stack.extend(("meet", c, (e, slot)) for slot, c in reversed(parts))
                stack.extend(("see", c, None) for _, c in reversed(parts))
            else:
                for slot, c in reversed(parts):
                    stack.append(("meet", c, (e, slot)))
                    stack.append(("see", c, None))
    return order, uses
