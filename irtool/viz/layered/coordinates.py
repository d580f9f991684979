"""Horizontal coordinates: long edges straight, vertices above their neighbours, nothing closer than it may be.

Brandes and Köpf, Fast and Simple Horizontal Coordinate Assignment (2001): four alignments, each to a median neighbour, and
the mean of the two middle ones. Blocks of aligned vertices are placed by longest paths between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .layers import Layers


def place_vertices(layers: Layers, widths: Sequence[float], gap: float) -> list[float]:
    """The horizontal centre of each vertex, from 0 on: neighbours in a row are `gap` apart or more."""
    if not layers.rank:
        return []
    crossed = _conflicts(layers)
    four = []
    for downwards in (True, False):
        for leftwards in (True, False):
            rows = layers.rows if downwards else layers.rows[::-1]
            rows = rows if leftwards else [row[::-1] for row in rows]
            root = _align(rows, layers.up if downwards else layers.down, crossed, len(widths))
            xs = _compact(rows, root, widths, gap)
            four.append(xs if leftwards else [-x for x in xs])
    spans = [(min(xs), max(xs)) for xs in four]
    narrow = min(range(4), key=lambda n: spans[n][1] - spans[n][0])
    for n, xs in enumerate(four):
        shift = (
            spans[narrow][n % 2] - spans[n][n % 2]
        )  # those to the left by their left ends, the others by their right ones
        four[n] = [x + shift for x in xs]
    middle = [sum(sorted(of)[1:3]) / 2 for of in zip(*four, strict=True)]
    left = min(x - w / 2 for x, w in zip(middle, widths, strict=True))
    return [x - left for x in middle]


def _conflicts(layers: Layers) -> set[tuple[int, int]]:
    """Segments that cross one between two dummies, which goes first."""
    place = layers.positions()
    result: set[tuple[int, int]] = set()
    for above, below in zip(layers.rows, layers.rows[1:], strict=False):
        left, done = 0, 0
        for n, v in enumerate(below):
            inner = next((u for u in layers.up[v] if v >= layers.count and u >= layers.count), None)
            if inner is None and n + 1 < len(below):
                continue
            right = place[inner] if inner is not None else len(above) - 1
            while done <= n:
                w = below[done]
                for u in layers.up[w]:
                    is_inner = w >= layers.count and u >= layers.count
                    if not is_inner and not left <= place[u] <= right:
                        result.add((u, w))
                done += 1
            left = right
    return result


def _align(
    rows: Sequence[Sequence[int]], before: Sequence[Sequence[int]], crossed: set[tuple[int, int]], count: int
) -> list[int]:
    """The first vertex of the block that each one is in: chains of vertices with a median neighbour in the row before."""
    place = [0] * count
    for row in rows:
        for n, v in enumerate(row):
            place[v] = n
    root = list(range(count))
    taken = [False] * count
    for row in rows:
        last = -1
        for v in row:
            near = sorted(before[v], key=place.__getitem__)
            for m in sorted({(len(near) - 1) // 2, len(near) // 2}) if near else ():
                u = near[m]
                if root[v] == v and not taken[u] and place[u] > last and not {(u, v), (v, u)} & crossed:
                    root[v] = root[u]
                    taken[u] = True
                    last = place[u]
    return root


def _compact(rows: Sequence[Sequence[int]], root: Sequence[int], widths: Sequence[float], gap: float) -> list[float]:
    """Coordinates of blocks, as far to the left as they go, then to the right as far as nothing moves for it."""
    after: dict[int, list[tuple[int, float]]] = {r: [] for r in root}
    waits = dict.fromkeys(after, 0)
    for row in rows:
        for a, b in pairwise(row):
            after[root[a]].append((root[b], (widths[a] + widths[b]) / 2 + gap))
            waits[root[b]] += 1
    order = [r for r in after if not waits[r]]
    x = dict.fromkeys(after, 0.0)
    for r in order:
        for other, apart in after[r]:
            x[other] = max(x[other], x[r] + apart)
            waits[other] -= 1
            if not waits[other]:
                order.append(other)
    for r in reversed(order):
        if after[r]:
            x[r] = max(x[r], min(x[other] - apart for other, apart in after[r]))
    return [x[r] for r in root]
