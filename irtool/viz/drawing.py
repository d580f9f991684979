"""The contents of a drawing: values that are computed, the edges between them, and the nodes inside of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

INPUT, OUTPUT, OPERATOR, FUNCTION, BLOCK, FAR = "input", "output", "operator", "function", "block", "far"
"""Kinds of nodes. A `FUNCTION` and a `BLOCK` have something inside; a `FAR` one stands for a value from far above."""


@dataclass(eq=False)
class Node:
    """One box.

    Attributes:
        label: its title: the operator's name.
        kind: one of the kinds above.
        family: the kind of operator, which chooses its colour; see `families`.
        details: short lines below the title: attributes, weights.
        type: of the value, as Relay writes it; `shape` the same in brief, `size` in bytes, None if that is not known.
        line: of the text, from 1, and the last one; (0, 0) if the node has no text.
        inside: its inner graphs: one graph for a function, two for an `if`.
        number: of a node in its drawing, in order of evaluation.
        repeats: how often a block like this stands in the graph.
        mark: its change by passes: `new`, `gone`, both or nothing.
    """

    label: str
    kind: str = OPERATOR
    family: str = "other"
    details: tuple[str, ...] = ()
    type: str = ""
    shape: str = ""
    size: int | None = None
    lines: tuple[int, int] = (0, 0)
    inside: list[Graph] = field(default_factory=list)
    number: int = -1
    repeats: int = 1
    mark: str = ""


@dataclass(eq=False)
class Edge:
    """A value on its way from one node to another. `field` is its index in a tuple, as `.0`."""

    source: Node
    target: Node
    type: str = ""
    shape: str = ""
    size: int | None = None
    field: str = ""


@dataclass(eq=False)
class Graph:
    """The body of one function, branch or block; `name` is empty where it needs none."""

    name: str
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


@dataclass(eq=False)
class Drawing:
    """A module: a graph for each of its functions, and the text whose lines the nodes name."""

    graphs: list[Graph]
    text: str
    name: str = ""

    def walk(self) -> Iterator[tuple[Graph, Node | None]]:
        """Every graph, after the one that it lies in, with the node that it lies in."""
        waiting: list[tuple[Graph, Node | None]] = [(g, None) for g in reversed(self.graphs)]
        while waiting:
            graph, around = waiting.pop()
            yield graph, around
            waiting += [(g, n) for n in reversed(graph.nodes) for g in reversed(n.inside)]

    def nodes(self) -> Iterator[Node]:
        """Every node of all graphs."""
        for graph, _ in self.walk():
            yield from graph.nodes

    def number(self) -> Drawing:
        """Numbers the nodes, in the order of `nodes`. Returns itself."""
        for number, node in enumerate(self.nodes()):
            node.number = number
        return self
