"""Minimum cuts of directed graphs (Dinic, Algorithm for solution of a problem of maximum flow in networks, 1970)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

UNLIMITED = 1 << 62
"""The capacity of an edge that no cut has."""


class FlowNetwork:
    """A directed graph with capacities, whole numbers.

    Args:
        count: the number of vertices.
    """

    def __init__(self, count: int) -> None:
        self._edges_of: list[list[int]] = [[] for _ in range(count)]
        self._ends: list[int] = []
        self._free: list[int] = []

    def connect(self, start: int, end: int, capacity: int) -> None:
        """Adds an edge. Edge `e ^ 1` is its reverse, whose capacity is the flow on `e`."""
        for a, b, c in ((start, end, capacity), (end, start, 0)):
            self._edges_of[a].append(len(self._ends))
            self._ends.append(b)
            self._free.append(c)

    def sink_side(self, source: int, sink: int) -> list[bool]:
        """For each vertex, whether it is on the side of the sink, in the minimum cut nearest to the sink. Saturates the edges."""
        while True:
            levels = self._levels(source)
            if levels[sink] < 0:
                return self._reaching(sink)
            self._saturate(source, sink, levels)

    def _levels(self, source: int) -> list[int]:
        """The distance of each vertex from the source along edges with free capacity; -1 for vertices out of reach."""
        levels = [-1] * len(self._edges_of)
        levels[source] = 0
        queue = deque([source])
        while queue:
            v = queue.popleft()
            for e in self._edges_of[v]:
                if self._free[e] and levels[self._ends[e]] < 0:
                    levels[self._ends[e]] = levels[v] + 1
                    queue.append(self._ends[e])
        return levels

    def _saturate(self, source: int, sink: int, levels: Sequence[int]) -> None:
        """Sends flow along all paths of rising levels."""
        position = [0] * len(self._edges_of)
        path: list[int] = []
        v = source
        while True:
            if v == sink:
                least = min(self._free[e] for e in path)
                for e in path:
                    self._free[e] -= least
                    self._free[e ^ 1] += least
                path.clear()
                v = source
            edges = self._edges_of[v]
            while position[v] < len(edges):
                e = edges[position[v]]
                if self._free[e] and levels[self._ends[e]] == levels[v] + 1:
                    break
                position[v] += 1
            if position[v] < len(edges):
                path.append(edges[position[v]])
                v = self._ends[path[-1]]
            elif path:
                v = self._ends[path.pop() ^ 1]
                position[v] += 1
            else:
                return

    def _reaching(self, sink: int) -> list[bool]:
        """For each vertex, whether the sink is in reach along edges with free capacity."""
        reaches = [False] * len(self._edges_of)
        reaches[sink] = True
        stack = [sink]
        while stack:
            v = stack.pop()
            for e in self._edges_of[v]:
                w = self._ends[e]
                if self._free[e ^ 1] and not reaches[w]:
                    reaches[w] = True
                    stack.append(w)
        return reaches
