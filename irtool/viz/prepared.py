"""Values computed from weights alone, such as the scale of a batch normalization: one node, with its operators inside."""

from __future__ import annotations

from .drawing import FUNCTION, OPERATOR, Drawing, Graph, Node
from .enclosing import enclose, put_in_order

WEIGHTS = "weights"
"""The family of such a node."""


def fold_prepared(drawing: Drawing) -> Drawing:
    """Puts operators on weights into nodes of their own, in every graph. Returns the drawing, which it changes."""
    for graph in [g for g, _ in drawing.walk()]:
        _fold(graph)
    return drawing


def _fold(graph: Graph) -> None:
    into: dict[Node, list[Node]] = {}
    for e in graph.edges:
        into.setdefault(e.target, []).append(e.source)
    static: dict[Node, Node] = {}  # to one that represents all its neighbours
    for n in graph.nodes:
        below = into.get(n, [])
        if n.kind in (OPERATOR, FUNCTION) and (below or n.details) and all(b in static for b in below):
            static[n] = n
            for b in below:
                static[_first(static, b)] = n
    if len(static) == sum(n.kind in (OPERATOR, FUNCTION) for n in graph.nodes):
        return  # all of it would be
    groups: dict[Node, list[Node]] = {}
    for n in static:
        groups.setdefault(_first(static, n), []).append(n)
    for inner in groups.values():
        summary = f"{len(inner)} operators" if len(inner) > 1 else inner[0].label
        enclose(graph, inner, Node("weights", family=WEIGHTS, details=(summary,)))
    if groups:
        put_in_order(graph)


def _first(static: dict[Node, Node], n: Node) -> Node:
    while static[n] is not n:
        static[n] = static[static[n]]
        n = static[n]
    return n
