"""Ranks: every edge points downwards."""

from __future__ import annotations

from collections.abc import Sequence


def assign_ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The rank of each vertex, from 0: one below the lowest that it has an edge from; where it has none, right above those that it
    has edges to. Raises ValueError for a cycle."""
    out: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for a, b in edges:
        out[a].append(b)
        waits[b] += 1
    sources = [v for v in range(count) if not waits[v]]
    ranks = [0] * count
    order = list(sources)
    for v in order:
        for w in out[v]:
            ranks[w] = max(ranks[w], ranks[v] + 1)
            waits[w] -= 1
            if not waits[w]:
                order.append(w)
    if len(order) < count:
        raise ValueError("the graph has a cycle")
    for v in sources:
        if out[v]:
            ranks[v] = min(ranks[w] for w in out[v]) - 1
    return ranks
