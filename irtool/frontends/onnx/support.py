"""Nodes of a model without a form in Relay, found before anything is converted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from ...diagnostics import Diagnostic, nearest
from .functions import has_function
from .mistakes import UnsupportedNode
from .model import Graph, Model, Node, names_of
from .operator import onnx_operators


def unsupported(model: Model) -> list[Diagnostic]:
    """One message for each unsupported operator, with the number of nodes and their names."""
    nodes_of: dict[str, list[Node]] = {}
    refused: set[str] = set()
    for node, opsets in every_node(model):
        if _refusal(node, model):
            refused.add(node.op_type)
        elif is_supported(node, opsets, model):
            continue
        nodes_of.setdefault(node.op_type, []).append(node)
    if nodes_of.keys() == refused:
        return []  # they may be in branches that are not taken: where one is needed, its conversion says why it is refused
    messages = []
    for op_type, nodes in nodes_of.items():
        count = "1 node has" if len(nodes) == 1 else f"{len(nodes)} nodes have"
        messages.append(
            Diagnostic(
                f"no form in Relay is known for {op_type}, which {count}: {names_of(nodes)}",
                nodes[0].place,
                notes=(_refusal(nodes[0], model),) if op_type in refused else (),
                help="" if op_type in refused else nearest(op_type, onnx_operators.names()),
                filename=model.name,
                code=UnsupportedNode,
                subject=op_type,
            )
        )
    return messages


def _refusal(node: Node, model: Model) -> str:
    """Why there is a class for the operator that takes no node; empty for other operators."""
    if (node.op_type, node.overload) in model.functions:
        return ""
    cls = onnx_operators.find(node.op_type)
    return cls.refusal if cls is not None else ""


def is_supported(node: Node, opsets: Mapping[str, int], model: Model) -> bool:
    """True if there is a class for the operator, or a function."""
    if (node.op_type, node.overload) in model.functions or onnx_operators.find(node.op_type) is not None:
        return True
    return has_function(node, opsets.get(node.key.domain, 1))


def every_node(model: Model) -> Iterator[tuple[Node, Mapping[str, int]]]:
    """Every node of the graph, its subgraphs, and the functions that these use, with the opsets that hold for it."""
    seen: set[tuple[str, str]] = set()
    waiting: deque[tuple[Iterable[Node], Mapping[str, int]]] = deque([(model.graph.nodes, model.opsets)])
    while waiting:
        nodes, opsets = waiting.popleft()
        for node in nodes:
            yield node, opsets
            graphs: list[Graph] = list(node.subgraphs.values())
            waiting.extend((g.nodes, opsets) for g in graphs)
            key = (node.op_type, node.overload)
            if key in model.functions and key not in seen:
                seen.add(key)
                body = model.functions[key]
                waiting.append((body.nodes, body.opsets))
