"""Inputs and outputs of a kernel that may overlap in memory.

A loop that reads and writes from low to high addresses needs no elements of its input behind the ones that it reads: its output may lie there
(Blacker et al., Diagonal Memory Optimisation, 2020). Two rules hold for the steps of the outermost loop:

    for c: out[c, y, x] = … in[c, y + k, x + j]                           the output begins a plane below the input, or lower
    for p: row = in[:, p]; out[:, p] = … row                              the output begins where the input does

In the second, places count modulo the planes that both consist of: what a step writes, no later step reads, whichever plane it is in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, prod

from ..symbolic_int import is_known
from ..tir.dtypes import itemsize
from ..tir.expr import Const, Expr, Load, post_order
from ..tir.kernel import Kernel
from ..tir.sharing import index_bounds
from ..tir.simplify import Simplifier
from ..tir.stmt import Allocate, Buffer, For, Let, Lowered, Seq, Stmt, Store, expressions, pre_order

Access = tuple[Buffer, tuple[Expr, ...]]
"""A read or a write: the buffer and its indices."""


@dataclass(frozen=True)
class Overlap:
    """An input and an output, counted separately, that may overlap.

    Attributes:
        below: bytes; the output may begin as many below the input, or lower.
        same: whether the output may begin where the input does.
    """

    input: int
    output: int
    below: float
    same: bool


@dataclass(frozen=True)
class _Places:
    """The bytes of a buffer that the steps of a loop access: `step * n + first` … `step * n + last` in step n."""

    step: int
    first: int
    last: int


def find_overlaps(kernel: Kernel) -> list[Overlap]:
    """The pairs of an input and an output that one loop of constant length reads and writes, and no other statement accesses."""
    result = []
    stmts = top_level(kernel.body)
    accesses = [list(_accesses(s)) for s in stmts]
    users = Counter(b for pairs in accesses for b in {b for b, _ in pairs})
    for s, pairs in zip(stmts, accesses, strict=True):
        if not isinstance(s, For) or not isinstance(s.extent, Const) or not is_known(s.steps) or s.steps < 2:
            continue
        alone = {b for b, _ in pairs if users[b] == 1}
        for i, a in enumerate(kernel.inputs):
            for o, b in enumerate(kernel.outputs):
                if {a, b} <= alone and _can_share(a, b):
                    overlap = _overlap(s, pairs, a, b)
                    if overlap is not None:
                        result.append(Overlap(i, o, *overlap))
    return result


def top_level(body: Stmt) -> list[Stmt]:
    """The statements that run one after the other at the top of a nest."""
    stmts: list[Stmt] = []
    stack = [body]
    while stack:
        s = stack.pop()
        if isinstance(s, Allocate):
            stack.append(s.body)
        elif isinstance(s, Seq):
            stack.extend(reversed(s.stmts))
        else:
            stmts.append(s)
    return stmts


def _can_share(a: Buffer, b: Buffer) -> bool:
    """True for buffers whose elements a C compiler takes to share memory: those of one type, and bytes with any."""
    is_constant = all(is_known(d) for d in (*a.shape, *b.shape))
    return is_constant and (a.dtype == b.dtype or 1 in (itemsize(a.dtype), itemsize(b.dtype)))


def _accesses(root: Stmt) -> Iterator[Access]:
    """The reads and writes of a statement: buffers and indices."""
    for s in pre_order(root):
        if isinstance(s, Store):
            yield s.buffer, s.indices
        for e in post_order(*expressions(s)):
            if isinstance(e, Load) and isinstance(e.source, Buffer):
                yield e.source, e.indices


def _overlap(loop: For, accesses: Sequence[Access], a: Buffer, b: Buffer) -> tuple[float, bool] | None:
    """`below` and `same` of an input and an output of a loop; None if they may not overlap."""
    if any(isinstance(s, Let | Lowered) for s in pre_order(loop)):
        return None
    simplify = Simplifier(index_bounds(loop))
    modulo = [0, *_common_planes(a, b)]
    reads = [[_places(simplify, loop, a, i, m) for m in modulo] for x, i in accesses if x is a]
    writes = [[_places(simplify, loop, b, i, m) for m in modulo] for x, i in accesses if x is b]
    later = int(_reads_first(loop, a, b))
    distances = [
        max(_distance(loop.steps, r[n], w[n], later) for r in reads for w in writes) for n, _ in enumerate(modulo)
    ]
    same = any(d <= 0 for d in distances)
    return (distances[0], same) if same or distances[0] < b.nbytes else None


def _common_planes(a: Buffer, b: Buffer) -> list[int]:
    """The sizes in bytes of parts that both buffers consist of: of their last axes."""

    def parts(x: Buffer) -> list[int]:
        return [itemsize(x.dtype) * prod(x.shape[n:]) for n in range(1, x.ndim)] if x.layout is None else []

    return [n for n in dict.fromkeys(parts(a)) if n in parts(b)]


def _reads_first(loop: For, a: Buffer, b: Buffer) -> bool:
    """True if each step of the loop reads all that it reads of a buffer before it writes to another one."""
    stmts = top_level(loop.body)
    touched = [{x for x, _ in _accesses(s)} for s in stmts]
    last = max(n for n, t in enumerate(touched) if a in t)
    return last < min(n for n, t in enumerate(touched) if b in t)


def _places(simplify: Simplifier, loop: For, b: Buffer, indices: Sequence[Expr], modulo: int) -> _Places | None:
    """The bytes that the steps of a loop access, modulo a number unless it is 0; None if that is not known, or it comes to the number."""
    terms, constant = simplify.linear(b.offset(indices))
    size = itemsize(b.dtype)
    start = constant * size % modulo if modulo else constant * size
    low: float = start
    high: float = start + size - 1
    step = 0
    for atom, k in terms.items():
        if not isinstance(k, int) or (modulo and (k * size) % modulo == 0):
            continue
        if atom is loop.var:
            step = k * size
            continue
        if any(x is loop.var for x in post_order(atom)):
            return None
        ends = [k * size * x for x in simplify.range(atom)]
        low, high = low + min(ends), high + max(ends)
    if step < 0 or inf in (-low, high):
        return None
    if modulo and not (low >= 0 and step * (loop.steps - 1) + high < modulo):
        return None
    return _Places(step, int(low), int(high))


def _distance(steps: int, read: _Places | None, write: _Places | None, later: int) -> float:
    """The least number of bytes by which writes have to be moved down so that no step reads bytes that an earlier step wrote; with `later` 0, nor
    bytes of its own."""
    if read is None or write is None:
        return inf
    ends = [write.step * n + write.last - (read.step * (n + later) + read.first) + 1 for n in (0, steps - 1 - later)]
    return max(ends)
