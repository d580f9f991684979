"""Vertices in layers, one for each rank, with a dummy in every rank that an edge passes: all segments join neighbouring layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


class Layers:
    """The vertices of each rank, from left to right, and the segments between them.

    Attributes:
        rows: vertices by rank. Those from `count` on are dummies.
        up, down: the neighbours of each vertex in the rank above and below.
        chains: for each edge, the vertices that it passes, from its source to its target.
        rank: of each vertex, dummies among them.
    """

    def __init__(self, ranks: Sequence[int], edges: Sequence[tuple[int, int]]) -> None:
        self.count = len(ranks)
        self.rank = list(ranks)
        self.rows: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
        self.up: list[list[int]] = [[] for _ in ranks]
        self.down: list[list[int]] = [[] for _ in ranks]
        self.chains: list[list[int]] = []
        for v, r in enumerate(ranks):
            self.rows[r].append(v)
        for a, b in edges:
            chain = [a]
            for r in range(ranks[a] + 1, ranks[b]):
                chain.append(self._dummy(r))
            chain.append(b)
            self.chains.append(chain)
            for v, w in pairwise(chain):
                self.down[v].append(w)
                self.up[w].append(v)

    def _dummy(self, rank: int) -> int:
        v = len(self.rank)
        self.rank.append(rank)
        self.up.append([])
        self.down.append([])
        self.rows[rank].append(v)
        return v

    @property
    def is_dummy(self) -> list[bool]:
        """Of each vertex, whether it only holds the place of an edge."""
        return [v >= self.count for v in range(len(self.rank))]

    def positions(self) -> list[int]:
        """The place of each vertex in its row."""
        result = [0] * len(self.rank)
        for row in self.rows:
            for place, v in enumerate(row):
                result[v] = place
        return result
