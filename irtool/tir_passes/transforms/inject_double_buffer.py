"""Buffers that a loop fills for its next step while it uses the elements of the last one.

As `src/tir/transforms/inject_double_buffer.cc` in TVM 0.10, except that transformations that change values are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...tir.expr import Const, Expr, Load, Var, const, post_order, rewrite
from ...tir.regions import reads
from ...tir.renaming import fresh_copy
from ...tir.stmt import (
    DOUBLE_BUFFER_SCOPE,
    SERIAL,
    Allocate,
    Annotate,
    For,
    If,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    children,
    expressions,
    pre_order,
    rewrite_stmt,
    seq,
)

Report = Callable[[Annotate, str], None]
"""Is told of an annotation that nothing comes of, and why."""


def inject_double_buffers(f: PrimFunc, split_loop: int, report: Report) -> PrimFunc:
    """The function in which the buffer of each `double_buffer_scope` has two halves.

    The body of the annotation fills one half, before the loop for its first step, and in each step for the next one, while the
    rest of the step reads the other half. With `split_loop` 0 a condition leaves the last step out; otherwise the last steps
    stand behind the loop, which takes `split_loop` of them at a time, 1 or an even number.
    """
    body = f.body
    while True:
        scope = _first(body)
        if scope is None:
            return f.with_body(body)
        reason = scope.obstacle()
        if reason:
            report(scope.annotation, reason)
            body = rewrite_stmt(body, lambda s, a=scope.annotation: a.body if s is a else s)  # type: ignore[misc]  # mypy infers no lambda with a default
        else:
            halves = _Halves(scope).loop(split_loop)
            body = rewrite_stmt(body, lambda s, old=scope.loop, new=halves: new if s is old else s)  # type: ignore[misc]  # the same


@dataclass(frozen=True)
class _Scope:
    """An annotation; the innermost loop around it, if there is one; and the statements between them, outermost first."""

    annotation: Annotate
    loop: For | None
    between: tuple[Stmt, ...]

    def obstacle(self) -> str:
        """Why the annotation does not hold; empty if it does."""
        loop, b = self.loop, self.annotation.buffer
        if loop is None:
            return "no loop is around it"
        if loop.kind != SERIAL or not isinstance(loop.extent, Const) or loop.steps < 1:
            return f"the loop of {loop.var.name} is not serial, or has no constant extent"
        if not all(isinstance(s, Seq | Allocate | Annotate) for s in self.between):
            return f"not every step of the loop of {loop.var.name} comes to it"
        if not any(isinstance(s, Allocate) and s.buffer is b for s in self.between) or b.layout is not None:
            return f"{b.name} is not allocated in the loop of {loop.var.name}"
        return self._dependence()

    def _dependence(self) -> str:
        """Reason why the body cannot run a step earlier."""
        assert self.loop is not None
        a, b = self.annotation, self.annotation.buffer
        inside = list(pre_order(a.body))
        own = {s.buffer for s in inside if isinstance(s, Allocate)}
        filled = {s.buffer for s in inside if isinstance(s, Store)}
        if filled - own != {b}:
            return f"it stores to other buffers than {b.name}, or to none"
        within = set(inside)
        others = {s.buffer for s in pre_order(self.loop.body) if isinstance(s, Store) and s not in within}
        if b in others:
            return f"{b.name} is stored to outside of it"
        read = {e.source for s in inside for e in post_order(*expressions(s)) if isinstance(e, Load)}
        if b in read:
            return f"it reads {b.name}"
        others |= {s.buffer for s in self.between if isinstance(s, Allocate)}
        changed = sorted(x.name for x in read & others)
        if changed:
            return f"it reads {changed[0]}, which is of each step of the loop"
        return "" if any(True for _ in reads(self.loop.body, b)) else f"nothing reads {b.name}"


def _first(root: Stmt) -> _Scope | None:
    """The first annotation."""
    stack: list[tuple[Stmt, For | None, tuple[Stmt, ...]]] = [(root, None, ())]
    while stack:
        s, loop, between = stack.pop()
        if isinstance(s, Annotate) and s.key == DOUBLE_BUFFER_SCOPE:
            return _Scope(s, loop, between)
        if isinstance(s, For):
            loop, between = s, ()
        else:
            between = (*between, s)
        stack.extend((k, loop, between) for k in reversed(children(s)))
    return None


class _Halves:
    """A loop over a buffer of two halves."""

    def __init__(self, scope: _Scope) -> None:
        assert scope.loop is not None
        self.old, self.annotation, self.whole = scope.loop, scope.annotation, scope.annotation.buffer
        b = self.whole
        shape = (2 * b.size,) if b.ndim == 1 else (2, *b.shape)
        self.both = b.replace(shape=shape)

    def loop(self, split: int) -> Stmt:
        """Statements that replace the loop."""
        v, steps = self.old.var, self.old.steps
        first = self._fill(const(0, v.dtype))
        if split == 0:
            more = v + 1 < const(steps, v.dtype)
            return Allocate(self.both, seq([first, For(v, self.old.extent, self._step(more))]))
        full, last = self._step(None), self._step(const(False, "bool"))
        count = (steps - 1) // split
        outer = Var(f"{v.name}_outer" if split > 1 else v.name, v.dtype)
        copies = [fresh_copy(full, {v: outer * const(split, v.dtype) + n}) for n in range(split)]
        parts: list[Stmt] = [first]
        if count:
            parts.append(For(outer, const(count, v.dtype), seq(copies)))
        for n in range(count * split, steps):
            parts.append(fresh_copy(last if n == steps - 1 else full, {v: const(n, v.dtype)}))
        return Allocate(self.both, seq(parts))

    def _fill(self, step: Expr) -> Stmt:
        """Fills the half of a step."""
        half = step % 2
        filled = fresh_copy(self.annotation.body, {self.old.var: step})

        def change(s: Stmt) -> Stmt:
            if isinstance(s, Store) and s.buffer is self.whole:
                return Store(self.both, self._place(half, s.indices), s.value)
            return s

        return rewrite_stmt(filled, change)

    def _step(self, more: Expr | None) -> Stmt:
        """A step that fills the other half if there are `more` steps, as there always are where that is None."""
        half = self.old.var % 2
        memo: dict[Expr, Expr] = {}

        def read(e: Expr) -> Expr:
            return (
                Load(self.both, self._place(half, e.indices)) if isinstance(e, Load) and e.source is self.whole else e
            )

        def change(s: Stmt) -> Stmt:
            if s is self.annotation:
                if isinstance(more, Const):
                    return seq([])
                filled = self._fill(self.old.var + 1)
                return filled if more is None else If(more, filled)
            return s.body if isinstance(s, Allocate) and s.buffer is self.whole else s

        def change_expr(e: Expr) -> Expr:
            return rewrite(e, read, memo)

        return rewrite_stmt(self.old.body, change, change_expr)

    def _place(self, half: Expr, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        if self.whole.ndim == 1:
            return (half * self.whole.size + indices[0],)
        return (half, *indices)
