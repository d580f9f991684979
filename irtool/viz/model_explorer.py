"""A drawing for Model Explorer: graphs of nodes with their incoming edges, as its JSON files have them.

Source of the format: `graph_builder.py` of google-ai-edge/model-explorer 0.1. Each function is a graph, and so is everything inside of a node,
which names these graphs.
"""

from __future__ import annotations

import json
from typing import Any

from .drawing import INPUT, OUTPUT, Drawing, Edge, Graph, Node

_STYLES = {INPUT: "#e6f4ea", OUTPUT: "#fce8e6"}
"""Colours of the nodes at both ends of a graph."""


def write_model_explorer(drawing: Drawing) -> str:
    """The text of the collection of graphs."""
    graphs = [graph for graph, _ in drawing.walk()]
    ids = _ids(graphs)
    collection = {"label": drawing.name or "module", "graphs": [_graph(g, ids) for g in graphs]}
    return json.dumps(collection, indent=1, ensure_ascii=False) + "\n"


def _ids(graphs: list[Graph]) -> dict[Graph, str]:
    """The graphs' names, with numbers where several have one name, or none."""
    ids: dict[Graph, str] = {}
    names: set[str] = set()
    for n, graph in enumerate(graphs):
        name = graph.name or f"graph {n}"
        ids[graph] = f"{name} {n}" if name in names else name
        names.add(ids[graph])
    return ids


def _graph(graph: Graph, ids: dict[Graph, str]) -> dict[str, Any]:
    reads: dict[Node, list[Edge]] = {}
    results: dict[Node, dict[str, Edge]] = {}
    for e in graph.edges:
        reads.setdefault(e.target, []).append(e)
        results.setdefault(e.source, {}).setdefault(e.field, e)
    numbers = {n: {field: str(k) for k, field in enumerate(sorted(results.get(n, {})))} for n in graph.nodes}
    return {
        "id": ids[graph],
        "nodes": [_node(n, reads.get(n, []), results.get(n, {}), numbers, ids) for n in graph.nodes],
    }


def _node(
    n: Node,
    reads: list[Edge],
    results: dict[str, Edge],
    numbers: dict[Node, dict[str, str]],
    ids: dict[Graph, str],
) -> dict[str, Any]:
    """A node; `results` are the edges that leave it by field, `numbers` the numbers of these fields."""
    attributes = [("type", n.type), *((f"line {i}", d) for i, d in enumerate(n.details, 1))]
    first, last = n.lines
    attributes += [("source lines", f"{first}" if first == last else f"{first}-{last}")] if first else []
    shown: dict[str, Any] = {
        "id": str(n.number),
        "label": n.label,
        "namespace": "",
        "subgraphIds": [ids[g] for g in n.inside],
        "attrs": [{"key": key, "value": value} for key, value in attributes if value],
        "incomingEdges": [
            {
                "sourceNodeId": str(e.source.number),
                "sourceNodeOutputId": numbers[e.source][e.field],
                "targetNodeInputId": str(k),
            }
            for k, e in enumerate(reads)
        ],
        "outputsMetadata": [
            {"id": numbers[n][field], "attrs": [{"key": "tensor_shape", "value": e.type or e.shape}]}
            for field, e in sorted(results.items())
        ],
    }
    if n.kind in _STYLES:
        shown["style"] = {"backgroundColor": _STYLES[n.kind]}
    return shown
