"""Long sums of floats are made in blocks, so that rounding errors grow with the length of a block and not of the sum.

    acc = 0                              acc = 0
    for k in 100000: acc += x[k]   ⇒     for b in 195: part = 0; for i in 512: part += x[512 b + i]; acc += part
                                         for i in 160: acc += x[99840 + i]

A float32 that has grown to 2^24 does not grow any more when 1 is added. Each level of blocks divides the number of additions one
behind the other by the length of a block (Higham, The Accuracy of Floating Point Summation, 1993); where there are many blocks, they
are blocks of blocks. It is done to the loops that a strategy made, whichever it was, so that sums along lanes, rows, columns and in
tiles of registers all obey. A block costs an addition of each accumulator in some 500: nothing that could be measured.

The order of additions is the same for any number of threads: loops are divided, not shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...tir.buffers import replace_buffers
from ...tir.expr import Binary, Const, Expr, Load, Var, const, post_order
from ...tir.kernel import Kernel
from ...tir.stmt import (
    SERIAL,
    TILED,
    UNROLLED,
    VECTORIZED,
    Allocate,
    Buffer,
    For,
    Scope,
    Stmt,
    Store,
    children,
    expressions,
    pre_order,
    rewrite_stmt,
    seq,
    substitute_stmt,
)
from .affine import reads

LONGEST = 4096
"""Additions to one number, one behind the other, that are not divided."""


def block_sums(k: Kernel) -> Kernel:
    """The kernel with long sums in blocks; itself if it has none."""
    if not k.stages:
        return k
    nests = [rewrite_stmt(n, _changed) for n in k.nests]
    return k.replace(nests=nests) if any(a is not b for a, b in zip(nests, k.nests)) else k


def _changed(s: Stmt) -> Stmt:
    """A statement whose parts are changed already: a loop with the sums that it makes in blocks, if they are long."""
    if not isinstance(s, For) or s.kind != SERIAL or not isinstance(s.extent, Const) or s.extent.value < 2:
        return s
    if any(isinstance(x, For) and x.kind == TILED for x in pre_order(s.body)):
        return s  # matrix tiles keep their sums in registers of their own
    counts = {b: n for b, n in _additions(s.body).items() if s.extent.value * n > LONGEST and n <= LONGEST}
    sums = {b: counts[b] for b in _only_summed(s, counts) if not _is_index(s.var, b, s.body)}
    return _in_blocks(s, sums) if sums else s


def _additions(root: Stmt) -> dict[Buffer, int]:
    """How often a statement adds to one element of each accumulator from outside: what it stores to it is added to it first."""
    additions: dict[Buffer, int] = {}
    inside = {x.buffer for x in pre_order(root) if isinstance(x, Allocate)}
    stack: list[tuple[Stmt, tuple[tuple[Var, int], ...]]] = [(root, ())]
    while stack:
        s, loops = stack.pop()
        if isinstance(s, Store):
            if s.buffer not in inside and _is_accumulator(s.buffer) and _added(s) is not None:
                used = set(post_order(*s.indices))
                times = 1
                for v, n in loops:
                    times *= 1 if v in used else n
                additions[s.buffer] = max(additions.get(s.buffer, 0), times)
        elif isinstance(s, For):
            loops = (*loops, (s.var, int(s.extent.value) if isinstance(s.extent, Const) else 1))
        stack.extend((c, loops) for c in children(s))
    return additions


def _is_accumulator(b: Buffer) -> bool:
    """True for numbers that nothing sees before the sum is complete."""
    return b.scope in (Scope.LOCAL, Scope.REGISTER) and b.dtype in ("float32", "float64")


def _added(s: Store) -> Expr | None:
    """What a store adds to the element that it writes; None if it does something else."""
    e = s.value
    if not isinstance(e, Binary) or e.op != "+":
        return None
    for old, new in ((e.a, e.b), (e.b, e.a)):
        if isinstance(old, Load) and old.source is s.buffer and _same(old.indices, s.indices):
            return new if not reads(new, s.buffer) else None
    return None


def _same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


def _only_summed(loop: For, counts: Mapping[Buffer, int]) -> list[Buffer]:
    """Those of some accumulators to which the loop does nothing else."""
    other: set[Buffer] = set()
    for s in pre_order(loop.body):
        added = _added(s) if isinstance(s, Store) else None
        if isinstance(s, Store) and added is None:
            other.add(s.buffer)
        roots = expressions(s) if added is None or not isinstance(s, Store) else (added, *s.indices)
        other |= {e.source for e in post_order(*roots) if isinstance(e, Load) and isinstance(e.source, Buffer)}
    return [b for b in counts if b not in other]


def _is_index(v: Var, b: Buffer, root: Stmt) -> bool:
    """True if different steps of a loop over that variable write different elements of a buffer."""
    return any(
        isinstance(s, Store) and s.buffer is b and any(x is v for x in post_order(*s.indices)) for s in pre_order(root)
    )


def _in_blocks(loop: For, sums: Mapping[Buffer, int]) -> Stmt:
    """A loop that adds so many numbers to each of some accumulators in a step, in blocks; and these in blocks again, while they are many."""
    extent = loop.steps
    steps = max(1, (LONGEST // 8) // max(sums.values()))
    count = extent // steps
    if count < 2:
        return loop
    parts = {b: b.replace(name=f"{b.name}_part") for b in sums}
    block, step = Var(f"{loop.var.name}_b", loop.var.dtype), Var(loop.var.name, loop.var.dtype)
    place = block * steps + step if steps > 1 else block
    body = replace_buffers(substitute_stmt(loop.body, {loop.var: place}), parts)
    inner = For(step, steps, body, SERIAL) if steps > 1 else body
    zeros = [_each(p, lambda at, p=p: Store(p, at, const(0.0, p.dtype))) for p in parts.values()]  # type: ignore[misc]  # mypy infers no lambda with a default
    joined = [
        _each(b, lambda at, b=b, p=p: Store(b, at, Load(b, at) + Load(p, at)))  # type: ignore[misc]  # as above
        for b, p in parts.items()
    ]
    whole: Stmt = seq([*zeros, inner, *joined])
    for p in parts.values():
        whole = Allocate(p, whole)
    blocks = For(block, count, whole, SERIAL)
    nested = _in_blocks(blocks, dict.fromkeys(sums, 1)) if count > LONGEST else blocks
    rest = extent - count * steps
    if not rest:
        return nested
    last = Var(loop.var.name, loop.var.dtype)
    return seq([nested, For(last, rest, substitute_stmt(loop.body, {loop.var: last + count * steps}), SERIAL)])


def _each(b: Buffer, store: Callable[[tuple[Expr, ...]], Stmt]) -> Stmt:
    """A statement for each element of a buffer, in vectors along the last axis of one in registers."""
    variables = [Var(f"{b.name}_{n}", "int32") for n in range(b.ndim)]
    indices = tuple(v if n > 1 else const(0) for v, n in zip(variables, b.shape))
    stmt = store(indices)
    in_registers = b.scope == Scope.REGISTER
    for axis in reversed(range(b.ndim)):
        if b.shape[axis] > 1:
            kind = (VECTORIZED if axis == b.ndim - 1 else UNROLLED) if in_registers else SERIAL
            stmt = For(variables[axis], b.shape[axis], stmt, kind)
    return stmt
