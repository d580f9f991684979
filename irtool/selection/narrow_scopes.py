"""Arrays declared in the innermost loop that stores all of their elements that it reads::

    float part[16];                                for y: float part[16];
    for y: part[…] = …; … part[…] …      ⇒                part[…] = …; … part[…] …
    for x: part[…] = …; … part[…] …                for x: float part[16];
                                                          part[…] = …; … part[…] …

An array that lives across the steps of a loop makes these depend on each other. gcc 12 vectorizes such loops wrongly after it has
moved the array's stores out of them (-O3 -mavx2, the transformed windows of a convolution beside those at a border), and
correctly if each step has an array of its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from ..symbolic_int import holds
from ..tir.expr import Const, Expr, Load, Var, post_order, substitute, variables
from ..tir.interning import Interner
from ..tir.stmt import (
    SERIAL,
    UNROLLED,
    Allocate,
    Buffer,
    For,
    If,
    Let,
    Scope,
    Seq,
    Stmt,
    Store,
    While,
    children,
    expressions,
    pre_order,
    rewrite_stmt,
)


def narrow_scopes(body: Stmt) -> Stmt:
    """The nest with each array on the stack allocated in the innermost statements that no value of it leaves or enters.

    Shared loops, and loops over the lanes of a vector, do not become outer loops of an allocation.
    """
    return rewrite_stmt(body, lambda s: _narrowed(s) if isinstance(s, Allocate) else s)


def _narrowed(s: Allocate) -> Stmt:
    if s.buffer.scope not in (Scope.LOCAL, Scope.REGISTER) or not s.buffer.ndim:
        return s
    nodes = list(pre_order(s.body))
    if len(set(nodes)) < len(nodes):
        return s  # a statement that stands in two places has no single scope
    homes = _homes(s.body, s.buffer, nodes)
    if homes == {s.body}:
        return s
    return rewrite_stmt(s.body, lambda x: Allocate(s.buffer, x) if x in homes else x)


def _homes(body: Stmt, buffer: Buffer, nodes: list[Stmt]) -> set[Stmt]:
    """The statements of a body in which the buffer is to be allocated, none inside of another: the outermost ones in the same
    loops that do not overlap."""
    users: set[Stmt] = set()
    for s in reversed(nodes):  # children first
        if _uses(s, buffer) or not users.isdisjoint(children(s)):
            users.add(s)
    homes: set[Stmt] = set()
    stack = [(body, body)]
    while stack:
        s, outermost = stack.pop()
        inner = [x for x in children(s) if x in users]
        apart = isinstance(s, For) or (isinstance(s, Seq) and len(inner) > 1)
        if _passes(s) and inner and not _uses(s, buffer) and (not apart or all(is_local(x, buffer) for x in inner)):
            stack += [(x, x if apart else outermost) for x in inner]
        else:
            homes.add(outermost)
    return homes


def _passes(s: Stmt) -> bool:
    """True if arrays may be declared in the statement instead of outside."""
    return s.kind in (SERIAL, UNROLLED) if isinstance(s, For) else isinstance(s, Seq | If | Let | Allocate)


def _uses(s: Stmt, buffer: Buffer) -> bool:
    """True if the statement itself, not those in it, reads or writes the buffer."""
    return (isinstance(s, Store) and s.buffer is buffer) or bool(_reads(s, buffer))


def _reads(s: Stmt, buffer: Buffer) -> list[Load]:
    return [e for e in post_order(*expressions(s)) if isinstance(e, Load) and e.source is buffer]


def is_local(body: Stmt, buffer: Buffer) -> bool:
    """True if the statement stores every element of the buffer before it reads it. False if that is not evident: elements are
    compared by the structure of their indices."""
    return _Stored(buffer).all_reads_follow(body)


class _Stored:
    """The elements of a buffer that were stored up to a point of a nest, as loads of them.

    Every step of a finished loop stored its elements: its variable becomes one for all values below its extent.
    """

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.intern = Interner()
        self.elements: set[Expr] = set()
        self.loops: list[For] = []
        """The loops around the point, outermost first."""
        self._any: dict[tuple[int, int], Var] = {}
        """The representative of all values below an extent, by extent and by number among those of one element."""

    def all_reads_follow(self, body: Stmt) -> bool:
        """True if each element is stored before it is read."""
        stack: list[Stmt | Callable[[], None]] = [body]
        while stack:
            s = stack.pop()
            if not isinstance(s, Stmt):
                s()
                continue
            if not all(self._is_stored(self.intern(e)) for e in _reads(s, self.buffer)):
                return False
            if isinstance(s, Store) and s.buffer is self.buffer:
                self.elements.add(self.intern(Load(s.buffer, s.indices)))
            elif isinstance(s, For):
                stack.append(lambda s=s, before=frozenset(self.elements): self._end_loop(s, before))  # type: ignore[misc]  # mypy infers no lambda with a default
                self.loops.append(s)
                stack.append(s.body)
            elif isinstance(s, If | While):
                self._branch(s, stack)
            else:
                stack += reversed(children(s))
        return True

    def _branch(self, s: If | While, stack: list[Stmt | Callable[[], None]]) -> None:
        """Statements that may not run: an element is stored if each of the branches stores it."""
        before, ends = set(self.elements), [] if isinstance(s, If) and s.other is not None else [set(self.elements)]

        def end() -> None:
            ends.append(self.elements)
            self.elements = set(before) if len(ends) < 2 else ends[0] & ends[1]

        for x in reversed(children(s)):
            stack += [end, x]

    def _end_loop(self, s: For, before: frozenset[Expr]) -> None:
        self.loops.pop()
        stored = self.elements - before
        self.elements = set(before)
        if isinstance(s.extent, Const) and holds(operator.gt, s.steps, 0):
            self.elements |= {self._of_all_steps(e, s) for e in stored}

    def _is_stored(self, element: Expr) -> bool:
        if element in self.elements:
            return True
        for loop in reversed(self.loops):
            if not isinstance(loop.extent, Const):
                return False
            element = self._of_all_steps(element, loop)
            if element in self.elements:
                return True
        return False

    def _of_all_steps(self, element: Expr, loop: For) -> Expr:
        names = set(variables(element))
        if loop.var not in names:
            return element
        number = next(n for n in range(len(names) + 1) if self._any.get((loop.steps, n)) not in names)
        value = self._any.setdefault((loop.steps, number), Var("any", loop.var.dtype))
        return self.intern(substitute(element, {loop.var: value}))
