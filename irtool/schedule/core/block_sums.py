"""Long sums of floats in blocks: rounding errors grow with the length of a block, not with that of the sum.

    acc = 0                              acc = 0
    for k in 100000: acc += x[k]   ⇒     for b in 195: part = 0; for i in 512: part += x[512 b + i]; acc += part
                                         for i in 160: acc += x[99840 + i]

A float32 of 2^24 or more stays the same when 1 is added. Each level of blocks divides the number of successive additions by the
length of a block (Higham, The Accuracy of Floating Point Summation, 1993); many blocks are summed in blocks again. The rewrite
applies to the loops of every strategy, so that sums along lanes, rows, columns and in register tiles all obey it. A block costs
one addition of each accumulator per some 500: too little to be measured.

The order of additions is the same for any number of threads: loops are divided, not shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...symbolic_int import bound
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
"""The largest number of successive additions to one number that is not divided into blocks."""


def block_sums(k: Kernel) -> Kernel:
    """The kernel with long sums in blocks; itself if it has none."""
    if not k.stages:
        return k
    nests = [rewrite_stmt(n, _changed) for n in k.nests]
    return k.replace(nests=nests) if any(a is not b for a, b in zip(nests, k.nests)) else k


def _changed(s: Stmt) -> Stmt:
    """A loop with its long sums in blocks; other statements stay as they are. The statements inside are rewritten already."""
    if not isinstance(s, For) or s.kind != SERIAL or not isinstance(s.extent, Const) or bound(s.extent.int_value) < 2:
        return s
    if any(isinstance(x, For) and x.kind == TILED for x in pre_order(s.body)):
        return s  # matrix tiles accumulate in tile registers
    counts = {
        b: n
        for b, n in _additions(s.body).items()
        if bound(s.extent.int_value) * bound(n) > LONGEST and bound(n) <= LONGEST
    }
    sums = {b: counts[b] for b in only_summed(s, counts) if not _is_index(s.var, b, s.body)}
    return _in_blocks(s, sums) if sums else s


def _additions(root: Stmt) -> dict[Buffer, int]:
    """The number of additions that a statement makes to one element of each accumulator allocated outside of it."""
    additions: dict[Buffer, int] = {}
    inside = {x.buffer for x in pre_order(root) if isinstance(x, Allocate)}
    stack: list[tuple[Stmt, tuple[tuple[Var, int], ...]]] = [(root, ())]
    while stack:
        s, loops = stack.pop()
        if isinstance(s, Store):
            if s.buffer not in inside and is_accumulator(s.buffer) and added_to(s) is not None:
                used = set(post_order(*s.indices))
                times = 1
                for v, n in loops:
                    times *= 1 if v in used else n
                additions[s.buffer] = max(additions.get(s.buffer, 0), bound(times))
        elif isinstance(s, For):
            loops = (*loops, (s.var, s.extent.int_value if isinstance(s.extent, Const) else 1))
        stack.extend((c, loops) for c in children(s))
    return additions


def is_accumulator(b: Buffer) -> bool:
    """True for local float buffers, which nothing reads before the sum is complete."""
    return b.scope in (Scope.LOCAL, Scope.REGISTER) and b.dtype in ("float32", "float64")


def added_to(s: Store) -> Expr | None:
    """The expression that a store adds to its element; None for other stores."""
    e = s.value
    if not isinstance(e, Binary) or e.op != "+":
        return None
    for old, new in ((e.a, e.b), (e.b, e.a)):
        if isinstance(old, Load) and old.source is s.buffer and _same(old.indices, s.indices):
            return new if not reads(new, s.buffer) else None
    return None


def _same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


def only_summed(loop: For, accumulators: Iterable[Buffer]) -> list[Buffer]:
    """The accumulators that the loop only adds to, and neither reads nor writes otherwise."""
    other: set[Buffer] = set()
    for s in pre_order(loop.body):
        added = added_to(s) if isinstance(s, Store) else None
        if isinstance(s, Store) and added is None:
            other.add(s.buffer)
        roots = expressions(s) if added is None or not isinstance(s, Store) else (added, *s.indices)
        other |= {e.source for e in post_order(*roots) if isinstance(e, Load) and isinstance(e.source, Buffer)}
    return [b for b in accumulators if b not in other]


def _is_index(v: Var, b: Buffer, root: Stmt) -> bool:
    """True if different steps of a loop over that variable write different elements of a buffer."""
    return any(
        isinstance(s, Store) and s.buffer is b and any(x is v for x in post_order(*s.indices)) for s in pre_order(root)
    )


def _in_blocks(loop: For, sums: Mapping[Buffer, int]) -> Stmt:
    """The loop in blocks. `sums`: the additions to each accumulator in one step. If there are many blocks, their sums are in
    blocks again."""
    extent = loop.steps
    steps = max(1, (LONGEST // 8) // max(sums.values()))
    count = extent // steps
    if bound(count) < 2:
        return loop
    block, step = Var(f"{loop.var.name}_b", loop.var.dtype), Var(loop.var.name, loop.var.dtype)
    place = block * steps + step if steps != 1 else block
    body = substitute_stmt(loop.body, {loop.var: place})
    inner = For(step, steps, body, SERIAL) if steps != 1 else body
    blocks = For(block, count, with_parts(inner, parts_of(sums), lambda _, part: part), SERIAL)
    nested = _in_blocks(blocks, dict.fromkeys(sums, 1)) if bound(count) > LONGEST else blocks
    rest = extent - count * steps
    if rest == 0:
        return nested
    last = Var(loop.var.name, loop.var.dtype)
    return seq([nested, For(last, rest, substitute_stmt(loop.body, {loop.var: last + count * steps}), SERIAL)])


def with_parts(
    body: Stmt,
    parts: Mapping[Buffer, Buffer],
    term: Callable[[Buffer, Load], Expr],
    first: Callable[[Buffer, tuple[Expr, ...]], Expr] | None = None,
) -> Stmt:
    """A statement that adds to sums, with a part for each: behind it, each element of a sum gets `term(sum, part)`.

    Parts begin at zero, or at `first(sum, indices)`.
    """

    def begin(b: Buffer, part: Buffer) -> Stmt:
        return _for_each_element(
            part, lambda i: Store(part, i, const(0.0, part.dtype) if first is None else first(b, i))
        )

    def join(b: Buffer, part: Buffer) -> Stmt:
        return _for_each_element(b, lambda i: Store(b, i, Load(b, i) + term(b, Load(part, i))))

    joined = [join(b, p) for b, p in parts.items()]
    beginnings = [begin(b, p) for b, p in parts.items()]
    whole: Stmt = seq([*beginnings, replace_buffers(body, dict(parts)), *joined])
    for p in parts.values():
        whole = Allocate(p, whole)
    return whole


def parts_of(sums: Iterable[Buffer]) -> dict[Buffer, Buffer]:
    """A part of the sum's own dtype for each of some sums."""
    return {b: b.replace(name=f"{b.name}_part") for b in sums}


def _for_each_element(b: Buffer, store: Callable[[tuple[Expr, ...]], Stmt]) -> Stmt:
    """A statement for each element of a buffer; for registers, in vectors along the last axis."""
    variables = [Var(f"{b.name}_{n}", "int32") for n in range(b.ndim)]
    indices = tuple(v if n != 1 else const(0) for v, n in zip(variables, b.shape))
    stmt = store(indices)
    in_registers = b.scope == Scope.REGISTER
    for axis in reversed(range(b.ndim)):
        if b.shape[axis] > 1:
            kind = (VECTORIZED if axis == b.ndim - 1 else UNROLLED) if in_registers else SERIAL
            stmt = For(variables[axis], b.shape[axis], stmt, kind)
    return stmt
