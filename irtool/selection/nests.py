"""Loop nests prepared for backends: elements at one offset, unrolled loops expanded, expressions in order of evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..tir.dtypes import is_float
from ..tir.expr import Binary, Const, Expr, Load, Select, children, const, post_order, rewrite
from ..tir.kernel import Kernel
from ..tir.simplify import Simplifier
from ..tir.stmt import (
    UNROLLED,
    Allocate,
    Buffer,
    For,
    Lowered,
    Prefetch,
    Seq,
    Stmt,
    Store,
    expressions,
    pre_order,
    rebuild,
    rewrite_stmt,
    seq,
)
from ..tir.stmt import (
    children as parts_of,
)


def flat(body: Stmt, simplify: Simplifier, is_variable: Callable[[Buffer], bool]) -> Stmt:
    """The nest with every element addressed by one offset, except those of variables; common subexpressions become one node."""
    memo: dict[Expr, Expr] = {}

    def change(e: Expr) -> Expr:
        if isinstance(e, Load) and not is_variable(e.source):
            return Load(e.source, (e.source.offset(e.indices),))
        return e

    def change_store(s: Stmt) -> Stmt:
        if isinstance(s, Store) and not is_variable(s.buffer):
            return Store(s.buffer, (simplify(s.buffer.offset(s.indices)),), s.value)
        return s

    return rewrite_stmt(body, change_store, lambda e: simplify(rewrite(e, change, memo)))


def unroll(body: Stmt, simplify: Simplifier) -> Stmt:
    """A nest, simplified, with unrolled loops expanded."""

    def change(s: Stmt) -> Stmt:
        if isinstance(s, For) and s.kind == UNROLLED and isinstance(s.extent, Const):
            return seq([step(s, n) for n in range(s.extent.int_value)])
        return s

    def step(s: For, n: int) -> Stmt:
        memo: dict[Expr, Expr] = {s.var: simplify(const(n, s.var.dtype))}
        return rewrite_stmt(s.body, lambda x: x, lambda e: simplify.at(e, memo))

    return rewrite_stmt(body, change)


def lower_parts(root: Stmt, lower: Callable[[Stmt], Stmt]) -> Stmt:
    """The nest with `lower` applied to every statement, parents first; a part that becomes `Lowered` is not visited again."""
    done: dict[Stmt, Stmt] = {}
    stack = [(root, root, False)]
    while stack:
        old, s, ready = stack.pop()
        if not ready:
            s = lower(s)
        parts = () if isinstance(s, Lowered) else parts_of(s)
        if parts and not ready:
            stack.append((old, s, True))
            stack += [(part, part, False) for part in parts]
            continue
        done[old] = rebuild(s, [done[part] for part in parts], expressions(s)) if parts else s
    return done[root]


def without_prefetches(body: Stmt) -> Stmt:
    """The nest without prefetches."""
    return rewrite_stmt(body, lambda s: Seq(()) if isinstance(s, Prefetch) else s)


def all_buffers(kernel: Kernel) -> list[Buffer]:
    """The parameters and the allocated buffers of a kernel."""
    return [*kernel.params, *(s.buffer for s in pre_order(kernel.body) if isinstance(s, Allocate))]


def computes_in_floats(kernels: Iterable[Kernel]) -> bool:
    """True if some kernel reads or writes floating-point numbers."""
    return any(is_float(b.dtype) for k in kernels for b in all_buffers(k))


def strict_order(roots: Sequence[Expr], known: Mapping[Expr, object]) -> tuple[list[Expr], dict[Expr, int]]:
    """The nodes that are evaluated whenever the roots are, children first, and the number of all uses of each node."""
    seen: set[Expr] = set()
    order: list[Expr] = []
    is_whole = not known  # every node below the roots is in the order
    stack: list[tuple[Expr, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        e, ready = stack.pop()
        if ready:
            order.append(e)
            continue
        if e in seen or e in known:
            continue
        seen.add(e)
        stack.append((e, True))
        kids = children(e)
        if not kids:
            order.append(stack.pop()[0])
            continue
        if isinstance(e, Select) and e.lazy:
            kids, is_whole = (e.cond,), False
        elif isinstance(e, Binary) and e.op in ("and", "or"):
            kids, is_whole = (e.a,), False
        stack += [(k, False) for k in reversed(kids) if k not in seen]
    uses: dict[Expr, int] = dict.fromkeys(order, 0)
    for r in roots:
        uses[r] = uses.get(r, 0) + 1
    for e in order if is_whole else post_order(*roots):
        for k in children(e):
            if k in uses:
                uses[k] += 1
    return order, uses
