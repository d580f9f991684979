"""Post-dominators of a dataflow graph.

The immediate post-dominator of a node is the nearest node that every path from it leads through: the lowest common
ancestor, in the tree of post-dominators, of its users. As users have higher numbers, one pass from the last node to the
first builds the tree. Each node keeps a jump pointer beside its parent (Myers, "An applicative random-access stack",
1983), so that an ancestor at any depth is O(log n) steps away, and with it the strongest pattern on the way.
"""

from __future__ import annotations

from typing import Protocol

from ...ops.base import Pattern


class Graph(Protocol):
    """The graph of the tree: `outputs[i]` are the users of node `i` as `(number, pattern)`."""

    @property
    def outputs(self) -> list[list[tuple[int, int]]]: ...

    @property
    def external(self) -> list[bool]: ...


class PostDominators:
    """The tree. Index `root` (= the number of nodes) is the outside, which external nodes lead to.

    Attributes:
        parent: the immediate post-dominator of each node, or `root`.
        pattern: the strongest pattern with which anything between a node and its parent is read.
    """

    def __init__(self, graph: Graph) -> None:
        count = len(graph.outputs)
        self.root = count
        self.parent = [count] * (count + 1)
        self.pattern = [int(Pattern.OPAQUE)] * (count + 1)
        self._depth = [0] * (count + 1)
        self._jump = [count] * (count + 1)
        self._jump_pattern = [0] * (count + 1)
        for i in range(count - 1, -1, -1):
            if graph.external[i] or not graph.outputs[i]:
                self._place(i, count, Pattern.OPAQUE)
                continue
            users = graph.outputs[i]
            ancestor, strongest = users[0]
            for user, pattern in users[1:]:
                strongest = max(strongest, pattern)
                ancestor, on_the_way = self._join(ancestor, user)
                strongest = max(strongest, on_the_way)
            self._place(i, ancestor, strongest)

    def dominates(self, a: int, b: int) -> bool:
        """True if every way from `b` to the outside leads through `a`, another node."""
        if a == b:
            return False
        depth, jump = self._depth, self._jump
        while depth[b] > depth[a]:
            b = jump[b] if depth[jump[b]] >= depth[a] else self.parent[b]
        return a == b

    def _place(self, i: int, parent: int, pattern: int) -> None:
        depth, jump = self._depth, self._jump
        self.parent[i] = parent
        self.pattern[i] = pattern
        depth[i] = depth[parent] + 1
        over = jump[parent]
        if depth[parent] - depth[over] == depth[over] - depth[jump[over]] and parent != self.root:
            jump[i] = jump[over]
            self._jump_pattern[i] = max(pattern, self._jump_pattern[parent], self._jump_pattern[over])
        else:
            jump[i] = parent
            self._jump_pattern[i] = pattern

    def _join(self, a: int, b: int) -> tuple[int, int]:
        """The lowest common ancestor and the strongest pattern on the two ways to it."""
        depth, jump, parent = self._depth, self._jump, self.parent
        strongest = 0
        if depth[a] < depth[b]:
            a, b = b, a
        while depth[a] > depth[b]:
            if depth[jump[a]] >= depth[b]:
                strongest = max(strongest, self._jump_pattern[a])
                a = jump[a]
            else:
                strongest = max(strongest, self.pattern[a])
                a = parent[a]
        while a != b:
            if jump[a] != jump[b]:
                strongest = max(strongest, self._jump_pattern[a], self._jump_pattern[b])
                a, b = jump[a], jump[b]
            else:
                strongest = max(strongest, self.pattern[a], self.pattern[b])
                a, b = parent[a], parent[b]
        return a, strongest
