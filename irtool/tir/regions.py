"""Regions of buffers that statements touch: a range along each axis, whose beginning is a sum of outer variables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ..symbolic_int import as_integer
from .expr import Const, Expr, Load, post_order
from .simplify import Simplifier
from .stmt import Buffer, Stmt, Store, expressions, pre_order

_LIMIT = 1 << 31


def reads(root: Stmt, buffer: Buffer) -> Iterator[tuple[Expr, ...]]:
    """The indices of every load from a buffer, and of every prefetch."""
    for s in pre_order(root):
        for e in post_order(*expressions(s)):
            if isinstance(e, Load) and e.source is buffer:
                yield e.indices


def accesses(root: Stmt, buffer: Buffer) -> Iterator[tuple[Expr, ...]]:
    """The indices of every load from a buffer and every store to it."""
    for s in pre_order(root):
        if isinstance(s, Store) and s.buffer is buffer:
            yield s.indices
    yield from reads(root, buffer)


def touched_span(indices: Sequence[Expr], inside: Collection[Expr], simplify: Simplifier) -> tuple[Expr, int] | None:
    """The first of the places along one axis, and how many there are up to the last; None if that is not known.

    The variables `inside` take all their values, of which `simplify` knows the ranges. What has none of them, and reads no
    memory, is the same everywhere: the first place is a sum of it (`i*4` for `i*4 + k`, where `k` is inside). All `indices`, of
    which there is one at least, must have the same sum.
    """
    around: dict[Expr, int] | None = None
    least, most = float("inf"), float("-inf")
    for index in indices:
        terms, offset = simplify.linear(index)
        outer = {t: k for t, k in terms.items() if _is_fixed(t, inside)}
        if around not in (None, outer):
            return None
        around = outer
        low = high = float(offset)
        for t, k in terms.items():
            if t not in outer:
                a, b = simplify.range(t)
                low, high = low + min(a * k, b * k), high + max(a * k, b * k)
        least, most = min(least, low), max(most, high)
    if not -_LIMIT < least <= most < _LIMIT:
        return None
    begin: Expr = Const(as_integer(least), indices[0].dtype)
    for t, k in (around or {}).items():
        begin = begin + t * k
    return begin, as_integer(most - least) + 1


def _is_fixed(term: Expr, inside: Collection[Expr]) -> bool:
    return not any(e in inside or isinstance(e, Load) for e in post_order(term))
