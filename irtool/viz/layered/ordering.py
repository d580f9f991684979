"""The order within ranks, for few crossings: sweeps down and up, each vertex at the barycenter of its neighbours in the rank before."""

from __future__ import annotations

from collections.abc import Sequence

from .layers import Layers

SWEEPS = 8
"""At most; fewer where two in a row do not help."""


def order_rows(layers: Layers) -> int:
    """Orders the rows of layers, which it changes. Returns the number of crossings of segments that are left."""
    best, rows, fruitless = count_crossings(layers), [list(row) for row in layers.rows], 0
    for sweep in range(SWEEPS):
        if not best or fruitless == 4:
            break
        _sweep(layers, downwards=sweep % 2 == 0)
        crossings = count_crossings(layers)
        fruitless += 1
        if crossings < best:
            best, rows, fruitless = crossings, [list(row) for row in layers.rows], 0
    layers.rows = rows
    return best


def _sweep(layers: Layers, downwards: bool) -> None:
    place = layers.positions()
    neighbours = layers.up if downwards else layers.down
    for row in layers.rows if downwards else reversed(layers.rows):
        centers = {
            v: sum(place[w] for w in neighbours[v]) / len(neighbours[v]) if neighbours[v] else float(place[v])
            for v in row
        }
        row.sort(key=lambda v: (centers[v], place[v]))  # it is used at once
        for n, v in enumerate(row):
            place[v] = n


def count_crossings(layers: Layers) -> int:
    """The number of crossing pairs of segments, in O(s log v) steps for s segments (Barth, Mutzel and Jünger, 2004)."""
    place = layers.positions()
    total = 0
    for above, below in zip(layers.rows, layers.rows[1:], strict=False):
        ends = [p for v in above for p in sorted(place[w] for w in layers.down[v])]
        total += _inversions(ends, len(below))
    return total


def _inversions(ends: Sequence[int], size: int) -> int:
    """Pairs in a sequence whose first number is the larger one; numbers are less than `size`."""
    tree = [0] * (size + 1)
    total = 0
    for seen, end in enumerate(ends):
        smaller, i = 0, end + 1
        while i:
            smaller += tree[i]
            i &= i - 1
        total += seen - smaller
        i = end + 1
        while i <= size:
            tree[i] += 1
            i += i & -i
    return total
