"""Putting some nodes of a graph into one."""

from __future__ import annotations

from collections.abc import Sequence

from .drawing import BLOCK, INPUT, OUTPUT, Edge, Graph, Node


def enclose(graph: Graph, inner: Sequence[Node], node: Node) -> None:
    """Puts nodes of a graph into a new one, whose graph inside gets their edges; it goes behind the others.

    There must be no way from the nodes to themselves through others: then the graph stays without cycles.
    """
    inside = set(inner)
    body = Graph(node.label, list(inner))
    node.kind = BLOCK
    node.inside = [body]
    lines = [n.lines for n in inner if n.lines[0]]
    node.lines = (min(a for a, _ in lines), max(b for _, b in lines)) if lines else (0, 0)
    entries: dict[Node, Node] = {}
    results: dict[tuple[Node, str], Node] = {}
    edges: list[Edge] = []
    for e in graph.edges:
        comes, goes = e.source in inside, e.target in inside
        if comes and goes:
            body.edges.append(e)
        elif goes:
            if e.source not in entries:
                s = e.source
                entries[s] = Node(s.label, INPUT, "input", (), s.type, s.shape, s.size, s.lines)
                edges.append(Edge(s, node, e.type, e.shape, e.size, e.field))
            body.edges.append(Edge(entries[e.source], e.target, e.type, e.shape, e.size, e.field))
        elif comes:
            edges.append(Edge(node, e.target, e.type, e.shape, e.size))
            if (e.source, e.field) not in results:
                out = results[e.source, e.field] = Node("result", OUTPUT, "input", (), e.type, e.shape, e.size)
                body.edges.append(Edge(e.source, out, e.type, e.shape, e.size, e.field))
                node.type, node.shape, node.size = e.type, e.shape, e.size
        else:
            edges.append(e)
    body.nodes = [*entries.values(), *inner, *results.values()]
    graph.nodes = [n for n in graph.nodes if n not in inside] + [node]
    graph.edges = edges


def put_in_order(graph: Graph) -> None:
    """Orders the nodes: inputs, then each after those that it reads, the result last."""
    waits = dict.fromkeys(graph.nodes, 0)
    out: dict[Node, list[Node]] = {}
    for e in graph.edges:
        waits[e.target] += 1
        out.setdefault(e.source, []).append(e.target)
    order = [n for n in graph.nodes if not waits[n]]
    for n in order:
        for t in out.get(n, ()):
            waits[t] -= 1
            if not waits[t]:
                order.append(t)
    rank = {INPUT: 0, OUTPUT: 2}
    assert len(order) == len(graph.nodes), "a graph of values has no cycles"
    graph.nodes = sorted(order, key=lambda n: rank.get(n.kind, 1))
