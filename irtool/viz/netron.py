"""A drawing for Netron: a model of ONNX in the JSON of protobuf, whose operators are of the domain `relay`.

Netron opens a file `*.json` with a `graph` that has nodes as an ONNX model, whatever its operators are. It is not a model that could
run: attributes and weights are as in a drawing, in words, and there is no data. `irtool export` writes models that run.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from ..exports.onnx.dtypes import ELEMENT_TYPES
from .drawing import INPUT, OUTPUT, Drawing, Edge, Graph, Node

_TENSOR = re.compile(r"Tensor\[\(([^()]*)\), (\w+)\]|(\w+)")


def write_netron(drawing: Drawing) -> str:
    """The text of the model. Of several functions each is a node with a graph, as those are that have something inside."""
    bodies: dict[Graph, dict[str, Any]] = {}
    for graph, _ in reversed(list(drawing.walk())):  # those inside first
        bodies[graph] = _graph(graph, bodies)
    if len(drawing.graphs) == 1:
        whole = bodies[drawing.graphs[0]]
    else:
        nodes = [
            {"name": g.name, "opType": g.name, "domain": "relay", "attribute": [_body(g.name, bodies[g])]}
            for g in drawing.graphs
        ]
        whole = {"name": drawing.name or "module", "node": nodes}
    model = {
        "irVersion": "8",
        "producerName": "irtool",
        "opsetImport": [{"domain": "relay", "version": "1"}],
        "graph": whole,
    }
    return json.dumps(model, indent=1, ensure_ascii=False) + "\n"


def _graph(graph: Graph, bodies: dict[Graph, dict[str, Any]]) -> dict[str, Any]:
    reads: dict[Node, list[Edge]] = {}
    fields: dict[Node, dict[str, Edge]] = {}
    for e in graph.edges:
        reads.setdefault(e.target, []).append(e)
        fields.setdefault(e.source, {}).setdefault(e.field, e)
    values = {name: e for outs in fields.values() for e in outs.values() if (name := _value(e.source, e.field))}
    return {
        "name": graph.name,
        "node": [
            {
                "name": f"{n.number}",
                "opType": n.label,
                "domain": "relay",
                "input": [_value(e.source, e.field) for e in reads.get(n, ())],
                "output": [_value(n, field) for field in fields.get(n, {"": None})],
                "attribute": [
                    *(_text(f"line {i}" if len(n.details) > 1 else "is", d) for i, d in enumerate(n.details, 1)),
                    *(_body(g.name or "body", bodies[g]) for g in n.inside),
                ],
            }
            for n in graph.nodes
            if n.kind not in (INPUT, OUTPUT)
        ],
        "input": [_typed(_value(n, ""), n.type) for n in graph.nodes if n.kind == INPUT],
        "output": [
            _typed(_value(e.source, e.field), e.type)
            for n in graph.nodes
            if n.kind == OUTPUT
            for e in reads.get(n, ())[:1]
        ],
        "valueInfo": [_typed(name, e.type) for name, e in values.items() if e.source.kind != INPUT],
    }


def _value(n: Node, field: str) -> str:
    return f"{n.label if n.kind == INPUT else n.number}{field}" + (f" ({n.number})" if n.kind == INPUT else "")


def _text(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "type": "STRING", "s": base64.b64encode(text.encode()).decode()}


def _body(name: str, graph: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "type": "GRAPH", "g": graph}


def _typed(name: str, written: str) -> dict[str, Any]:
    """A value's name with its type; without one where ONNX has no such type."""
    match = _TENSOR.fullmatch(written)
    number = ELEMENT_TYPES.get(match[2] or match[3]) if match else None
    if match is None or number is None:
        return {"name": name}
    dims = [d.strip() for d in (match[1] or "").split(",") if d.strip()]
    shape = [{"dimValue": d} if d.isdecimal() else {"dimParam": d} for d in dims]
    return {"name": name, "type": {"tensorType": {"elemType": number, "shape": {"dim": shape}}}}
