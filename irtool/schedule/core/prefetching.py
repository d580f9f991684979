"""The statements of `primitives.prefetch`: the cache lines that a step of a reduction prefetches.

A tile reads contiguous vectors of one operand. The same step of the reduction, in the next step of an outer loop, reads other
vectors: their lines are prefetched, each once. The steps of a loop that reads the same vectors again share the lines. If that
loop has more steps than there are lines, and the operand is one stream, each step prefetches a share of the stream, so that
memory delivers at an even rate: in bursts, lines evict others from the L1 cache long before they are used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...symbolic_int import bound, is_known
from ...tir import dtypes
from ...tir.expr import Binary, Expr, Load, Var, const, substitute
from ...tir.memory import CACHE_LINE
from ...tir.stmt import UNROLLED, Prefetch
from .affine import depends, stride
from .block import Ahead, Block
from .forms import Loop


@dataclass(frozen=True)
class PlacedPrefetch:
    """The prefetch of a line in every step of the first `depth` loops of a reduction."""

    depth: int
    statement: Prefetch


def prefetches_of(b: Block[Any]) -> list[PlacedPrefetch]:
    """The prefetches while the reduction runs."""
    return [p for a in b.prefetches for p in _lines(b, a)]


def _usual_steps(extent: int) -> int:
    """The steps of a loop that share lines; half of the most if only the run knows their number. With fewer steps, some lines are not
    prefetched; with more, lines that are needed later are."""
    return extent if is_known(extent) else max(1, bound(extent) // 2)


def vector_loops(b: Block[Any], operand: Load) -> list[Loop]:
    """The loops of the tile that the operand's indices depend on, outermost first."""
    view = b.seen()
    return [x for x in b.inside if any(depends(view(i), x[0]) for i in operand.indices)]


def _lines(b: Block[Any], a: Ahead) -> list[PlacedPrefetch]:
    moving = vector_loops(b, a.operand)
    width = math.prod(n for _, n in moving)
    each = CACHE_LINE // dtypes.itemsize(a.operand.dtype)
    lines = -(-width // each)
    over, extent = a.over or (None, 1)
    shares = _usual_steps(extent)
    if over is not None and shares > lines and _is_stream(b, a, width):
        return [_slow_line(b, a, moving, width, each)]
    own = -(-lines // shares)
    elements = [_element(over, shares, own, n, lines) * each for n in range(own)]
    return [PlacedPrefetch(len(b.inner), _line(b, a, moving, e)) for e in elements]


def _element(over: Var | None, shares: int, own: int, n: int, lines: int) -> Expr:
    """The number of a line among all that the tile reads in a step; beyond the last line, the last one again."""
    if over is None or shares == 1:
        return const(min(n, lines - 1))
    element = over * own + n
    return element if (shares - 1) * own + n < lines else Binary("min", element, const(lines - 1), "int32")


def _is_stream(b: Block[Any], a: Ahead, width: int) -> bool:
    """True if the reduction reads the operand from end to end, and `a.loop` is outside of the reduction."""
    if any(a.loop[0] is k for k, _ in b.inner):
        return False
    view = b.seen()
    place = a.operand.source.offset([view(i) for i in a.operand.indices])
    apart = width
    for k, n in reversed(b.inner):
        if n != 1 and stride(view.simplify, place, k) != apart:
            return False
        apart *= n
    return True


def _slow_line(b: Block[Any], a: Ahead, moving: list[Loop], width: int, each: int) -> PlacedPrefetch:
    """The next line of the stream that the reduction reads in the next step of `a.loop`. Lines have `each` elements.

    If a line is due every few steps only, the innermost loops prefetch nothing: computing the address takes longer than a step.
    """
    assert a.over is not None
    over, shares, total = a.over[0], _usual_steps(a.over[1]), math.prod(n for _, n in b.inner)
    share = total * width // shares
    depth = _depth(b, share, each)
    steps = math.prod(n for _, n in b.inner[:depth])
    number: Expr = const(0)
    for k, n in b.inner[:depth]:
        number = number * n + k
    # The last step may prefetch a little beyond the end of the operand.
    element = over * share + number * -(-total * width // (shares * steps))
    place, rest = element // width, element % width
    view = b.seen()
    here: dict[Expr, Expr] = {a.loop[0]: a.later}
    for k, n in reversed(b.inner):
        here[k] = place % n if k is not b.inner[0][0] else place
        place = place // n
    for x, n in reversed(moving):
        here[x] = rest % n if x is not moving[0][0] else rest
        rest = rest // n
    indices = [view.simplify(substitute(view(i), here)) for i in a.operand.indices]
    return PlacedPrefetch(depth, Prefetch(Load(a.operand.source, tuple(indices))))


def _depth(b: Block[Any], share: int, each: int) -> int:
    """The number of outer loops of the reduction whose steps are enough to prefetch every line of a share, one in each step."""
    steps = 1
    for depth, (k, n) in enumerate(b.inner[:-1], 1):
        steps *= n
        if b.kind(k) == UNROLLED:
            break
        if share <= steps * each:
            return depth
    return len(b.inner)


def _line(b: Block[Any], a: Ahead, moving: list[Loop], element: Expr) -> Prefetch:
    view = b.seen()
    here: dict[Expr, Expr] = {a.loop[0]: a.later}
    for x, n in reversed(moving):
        here[x] = element % n if x is not moving[0][0] else element
        element = element // n
    indices = [view.simplify(substitute(view(i), here)) for i in a.operand.indices]
    return Prefetch(Load(a.operand.source, tuple(indices)))
