"""The grouping: which nodes of a dataflow graph become one kernel.

Each node starts as its own group. In three phases every node is offered to its immediate post-dominator: first the
convolutions with what follows them element by element, then injective operators, last injective operators into tuples
that were fused into something. A fusion takes all that lies between the two nodes, if every one of them may be fused.
Groups are a union-find forest; a group's root is its last node, whose value the kernel returns.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ops.base import Pattern
from .dominators import PostDominators
from .graph import DataflowGraph

_BROADCAST, _INJECTIVE, _REDUCE = int(Pattern.BROADCAST), int(Pattern.INJECTIVE), int(Pattern.COMM_REDUCE)
_ANCHOR, _TUPLE, _OPAQUE = int(Pattern.OUT_ELEMWISE_FUSABLE), int(Pattern.TUPLE), int(Pattern.OPAQUE)

Condition = Callable[[int, bool], bool]
"""Whether a group of this pattern may lie on the way; the flag is True at its end."""


def _at_most_broadcast(pattern: int, is_end: bool) -> bool:
    return pattern <= _BROADCAST


def _at_most_injective(pattern: int, is_end: bool) -> bool:
    return pattern <= _INJECTIVE


def _into_anything(pattern: int, is_end: bool) -> bool:
    return pattern <= _INJECTIVE or (is_end and pattern in (_REDUCE, _ANCHOR))


class Groups:
    """The groups of a graph. `find(i)` is the number of the node whose group node `i` belongs to.

    Args:
        graph: the graph.
        fuse: False leaves every node on its own.
        most: the largest number of nodes in one group.
    """

    def __init__(self, graph: DataflowGraph, fuse: bool, most: int) -> None:
        self.graph = graph
        self.most = most
        self.parent = list(range(len(graph.nodes)))
        self.pattern = list(graph.patterns)
        self.size = [1] * len(graph.nodes)
        if fuse:
            self.tree = PostDominators(graph)
            for phase in range(3):
                for i in range(len(graph.nodes)):
                    self._offer(i, phase)

    def find(self, i: int) -> int:
        """The root of the group of node `i`."""
        parent = self.parent
        root = i
        while parent[root] != root:
            root = parent[root]
        while parent[i] != root:
            parent[i], i = root, parent[i]
        return root

    def _offer(self, i: int, phase: int) -> None:
        pattern, end = self.pattern[i], self.tree.parent[i]
        if pattern == _OPAQUE or end == self.tree.root:
            return
        condition = self._into_tuples(pattern, end) if phase == 2 else self._condition(i, pattern, end, phase)
        if condition is None:
            return
        between = self._between(i, end)
        if between is not None and self._may_pass(between[1:], end, condition):
            self._merge(between, end)

    def _condition(self, i: int, pattern: int, end: int, phase: int) -> Condition | None:
        """The condition on the nodes between node `i` and its post-dominator in the first two phases; None if they never fuse."""
        if self.pattern[end] == _TUPLE or self.find(i) == self.find(end):
            return None
        read_as = self.tree.pattern[i]
        if pattern == _ANCHOR:
            return _at_most_broadcast if phase == 0 and read_as == Pattern.ELEMWISE else None
        if pattern <= _BROADCAST:
            return _into_anything if read_as <= _REDUCE else None
        if pattern in (_INJECTIVE, _TUPLE):
            return _at_most_injective if phase == 1 else None
        return None

    def _into_tuples(self, pattern: int, end: int) -> Condition | None:
        """The last phase: injective operators into a tuple that has itself been fused into an injective operator."""
        if pattern > _INJECTIVE or self.pattern[end] != _TUPLE:
            return None
        return _at_most_injective if self.pattern[self.find(end)] <= _INJECTIVE else None

    def _between(self, start: int, end: int) -> list[int] | None:
        """Node `start` and all nodes on the ways from it to `end`; None if the group would get too large.

        The limit ends the walk, too, which keeps fusion linear on a graph of any shape.
        """
        total = self.size[self.find(end)] + self.size[start]
        if total > self.most:
            return None
        outputs = self.graph.outputs
        result, seen = [start], {start, end}
        for node in result:
            for user, _ in outputs[node]:
                if user in seen:
                    continue
                total += self.size[user]
                if total > self.most:
                    return None
                seen.add(user)
                result.append(user)
        return result

    def _may_pass(self, between: list[int], end: int, condition: Condition) -> bool:
        if not condition(self.pattern[self.find(end)], True):
            return False
        return all(condition(self.pattern[self.find(node)], False) for node in between)

    def _merge(self, nodes: list[int], end: int) -> None:
        into = self.find(end)
        for node in nodes:
            root = self.find(node)
            if root == into:
                continue
            self.size[into] += self.size[root]
            self.parent[root] = into
            # Only a convolution or the like changes what the group as a whole may be fused with.
            if self.pattern[root] == _ANCHOR:
                self.pattern[into] = max(self.pattern[root], self.pattern[into])
