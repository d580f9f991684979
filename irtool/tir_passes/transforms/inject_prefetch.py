"""Prefetches where annotations ask for them.

As `src/tir/transforms/inject_prefetch.cc` and the prefetches of `storage_flatten.cc` in TVM 0.10 have it, in one step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...tir import dtypes
from ...tir.expr import Expr, Load, Var, const, post_order, substitute
from ...tir.memory import CACHE_LINE
from ...tir.regions import reads, touched_span
from ...tir.sharing import loop_bounds
from ...tir.simplify import Simplifier
from ...tir.stmt import (
    PREFETCH_SCOPE,
    VECTORIZED,
    Annotate,
    Buffer,
    For,
    Let,
    Prefetch,
    PrimFunc,
    Stmt,
    children,
    expressions,
    pre_order,
    rebuild,
    seq,
)


@dataclass(frozen=True)
class _Around:
    """Loops around a statement: the variable of the innermost loop; those of vectorized loops further out, which take all their
    values at once; and those that a `let` binds in the innermost loop, whose later values are not known."""

    loop: Var | None = None
    lanes: frozenset[Expr] = frozenset()
    bound: frozenset[Expr] = frozenset()
    is_vector: bool = False

    @property
    def moving(self) -> frozenset[Expr]:
        return self.lanes | self.bound

    def below(self, s: Stmt) -> _Around:
        if isinstance(s, Let):
            return replace(self, bound=self.bound | {s.var})
        if not isinstance(s, For):
            return self
        outer = self.lanes | {self.loop} if self.is_vector and self.loop is not None else self.lanes
        return _Around(s.var, outer, is_vector=s.kind == VECTORIZED)


Report = Callable[[Annotate, str], None]
"""Is told of an annotation that nothing comes of, and why."""


def inject_prefetches(f: PrimFunc, report: Report) -> PrimFunc:
    """The function with prefetches, before the body of a `prefetch_scope` of value `d`, for the body's reads of the buffer `d` steps of
    the innermost loop around it later: once for each line of the caches. The annotation goes."""
    simplify = Simplifier(loop_bounds(f))
    done: list[Stmt] = []
    stack: list[tuple[Stmt, bool, _Around]] = [(f.body, False, _Around())]
    while stack:
        s, ready, around = stack.pop()
        kids = children(s)
        if not ready and kids:
            stack.append((s, True, around))
            below = around.below(s)
            stack.extend((k, False, below) for k in reversed(kids))
            continue
        begin = len(done) - len(kids)
        stmt = rebuild(s, done[begin:], expressions(s))
        if isinstance(stmt, Annotate) and stmt.key == PREFETCH_SCOPE:
            asked = _ahead(stmt, around, simplify)
            if isinstance(asked, str):
                report(stmt, asked)
                stmt = stmt.body
            else:
                stmt = seq([asked, stmt.body])
        done[begin:] = [stmt]
    return f.with_body(done[0])


def _ahead(s: Annotate, around: _Around, simplify: Simplifier) -> Stmt | str:
    """The prefetches of an annotation; or a reason for their absence."""
    var = around.loop
    if var is None:
        return "no loop is around it"
    if s.buffer.layout is not None:
        return f"{s.buffer.name} is laid out in blocks"
    index_lists = list(reads(s.body, s.buffer))
    if not index_lists:
        return f"{s.buffer.name} is not read there"
    inside: set[Expr] = {x.var for x in pre_order(s.body) if isinstance(x, For | Let)}
    inside |= around.moving
    begins: list[Expr] = []
    extents: list[int] = []
    for axis in range(s.buffer.ndim):
        along = [indices[axis] for indices in index_lists]
        from_data = any(isinstance(e, Load) for e in post_order(*along))
        span = None if from_data else touched_span(along, inside, simplify)
        if span is None:
            return f"it is not known which part of {s.buffer.name} is read"
        begins.append(substitute(span[0], {var: var + s.value}))
        extents.append(span[1])
    return _lines(s.buffer, begins, extents)


def _lines(buffer: Buffer, begins: Sequence[Expr], extents: Sequence[int]) -> Stmt:
    """Asks for each line of a part of a buffer: in loops over its axes, in steps of the elements of a line as far as these lie side
    by side."""
    left = max(1, CACHE_LINE // dtypes.itemsize(buffer.dtype))
    steps = [1] * buffer.ndim
    for axis in reversed(range(buffer.ndim)):
        steps[axis] = min(left, extents[axis])
        whole = extents[axis] == buffer.shape[axis]
        left = max(1, left // max(1, extents[axis])) if whole else 1
    indices: list[Expr] = []
    loops: list[tuple[Var, int]] = []
    for begin, extent, step in zip(begins, extents, steps, strict=True):
        if extent <= step:
            indices.append(begin)
            continue
        v = Var("line", begin.dtype)
        loops.append((v, -(-extent // step)))
        indices.append(begin + v * const(step, begin.dtype))
    stmt: Stmt = Prefetch(Load(buffer, tuple(indices)))
    for v, count in reversed(loops):
        stmt = For(v, const(count, v.dtype), stmt)
    return stmt
