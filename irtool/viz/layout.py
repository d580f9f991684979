"""Positions of the nodes of a graph.

A layout keeps what decides it, ranks and horizontal centres, apart from heights: a page that opens a node moves the others with
the same formulas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from .drawing import FAR, Edge, Graph, Node
from .layered.coordinates import place_vertices
from .layered.layers import Layers
from .layered.ordering import order_rows
from .layered.ranks import assign_ranks
from .sizes import ACROSS, DOWN

_LANE = 10.0
"""Width of the place that an edge takes in a rank that it passes."""
_LONGEST = 16
"""Ranks that an edge passes; a longer one ends in a node that names its source, beside its target."""
_MANY, _LONGEST_OF_MANY = 4, 4
"""Readers of a value of which fewer ranks are passed: a mask that every layer reads."""
_PORT = 14.0
"""Between the ends of edges at a node, at most."""


@dataclass(frozen=True)
class Route:
    """An edge: its ends, relative to the centres of its nodes, and the places where it passes ranks."""

    edge: Edge
    end: float
    via: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Layout:
    """Places of nodes, in pixels.

    Attributes:
        rank, x: of each node: its rank, and its horizontal centre.
        sizes: of each node.
        rows: top and height of each rank; a node is in the middle of its rank.
        width, height: of all of it.
    """

    rank: dict[Node, int]
    x: dict[Node, float]
    sizes: dict[Node, tuple[float, float]]
    rows: list[tuple[float, float]]
    routes: list[Route]
    width: float
    height: float

    def box(self, n: Node) -> tuple[float, float, float, float]:
        """Left, top, width and height of a node."""
        top, height = self.rows[self.rank[n]]
        w, h = self.sizes[n]
        return self.x[n] - w / 2, top + (height - h) / 2, w, h


def cut_long_edges(graph: Graph) -> None:
    """Lets edges over many ranks end in nodes that name their sources."""
    place = {n: i for i, n in enumerate(graph.nodes)}
    ranks = assign_ranks(len(place), [(place[e.source], place[e.target]) for e in graph.edges])
    readers = Counter(e.source for e in graph.edges)
    edges: list[Edge] = []
    for e in graph.edges:
        longest = _LONGEST_OF_MANY if readers[e.source] >= _MANY else _LONGEST
        if ranks[place[e.target]] - ranks[place[e.source]] <= longest:
            edges.append(e)
            continue
        title = f"from {e.source.label}{e.field}"
        stub = Node(title, FAR, "input", (), e.type, e.shape, e.size, e.source.lines)
        graph.nodes.append(stub)
        edges.append(Edge(stub, e.target, e.type, e.shape, e.size))
    graph.edges = edges


def lay_out(graph: Graph, size: Callable[[Node], tuple[float, float]]) -> Layout:
    """The layout of a graph whose nodes have these sizes."""
    place = {n: i for i, n in enumerate(graph.nodes)}
    ends = [(place[e.source], place[e.target]) for e in graph.edges]
    layers = Layers(assign_ranks(len(place), ends), ends)
    order_rows(layers)
    sizes = {n: size(n) for n in graph.nodes}
    widths = [sizes[n][0] for n in graph.nodes] + [_LANE] * (len(layers.rank) - len(place))
    x = [round(c, 1) for c in place_vertices(layers, widths, ACROSS)]
    heights = [0.0] * len(layers.rows)
    for n, i in place.items():
        heights[layers.rank[i]] = max(heights[layers.rank[i]], sizes[n][1])
    rows: list[tuple[float, float]] = []
    top = 0.0
    for h in heights:
        rows.append((top, h))
        top += h + DOWN
    return Layout(
        {n: layers.rank[i] for n, i in place.items()},
        {n: x[i] for n, i in place.items()},
        sizes,
        rows,
        _routes(graph, layers, x, sizes),
        max((c + w / 2 for c, w in zip(x, widths, strict=True)), default=0.0),
        max(top - DOWN, 0.0),
    )


def _routes(graph: Graph, layers: Layers, x: list[float], sizes: dict[Node, tuple[float, float]]) -> list[Route]:
    """The ways of edges. Those into a node end side by side, in the order in which they come."""
    into: dict[Node, list[int]] = {}
    for i, e in enumerate(graph.edges):
        into.setdefault(e.target, []).append(i)
    ends = [0.0] * len(graph.edges)
    for n, indices in into.items():
        indices.sort(key=lambda i: x[layers.chains[i][-2]])
        apart = min(_PORT, (sizes[n][0] - 16) / len(indices))
        for k, i in enumerate(indices):
            ends[i] = round((k - (len(indices) - 1) / 2) * apart, 1)
    return [
        Route(e, ends[i], tuple((layers.rank[v], x[v]) for v in layers.chains[i][1:-1]))
        for i, e in enumerate(graph.edges)
    ]
