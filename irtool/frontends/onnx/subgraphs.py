"""Graphs inside nodes."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any, Protocol

from ...diagnostics import Diagnostic, IrError
from .mistakes import DamagedModel
from .model import Graph, Node
from .program import Functions
from .value import Value

DEEPEST = 32
"""Graphs in nodes of graphs: protobuf itself reads no more of them from a file."""


class GraphConverter(Protocol):
    """The converter of the graph around a node, and of graphs inside it."""

    failures: list[tuple[Diagnostic, Node]]
    functions: Functions

    def convert(self, graph: Graph, bound: Sequence[Value | None] = ()) -> list[Value | None]: ...


class Unconverted(IrError):
    """Nodes of a graph inside a node could not be converted. `failures` has the reasons, with those nodes."""

    def __init__(self, failures: Sequence[tuple[Diagnostic, Node]]) -> None:
        super().__init__([d for d, _ in failures])
        self.failures = list(failures)


def noted(error: IrError, node: Node) -> list[tuple[Diagnostic, Node]]:
    """The diagnostics of a failed conversion, each with its node."""
    return error.failures if isinstance(error, Unconverted) else [(d, node) for d in error.diagnostics]


def body_of(node: Node, name: str) -> Graph:
    """A node's graph of that name. Raises IrError if it lacks one."""
    graph = node.subgraphs.get(name)
    if graph is None:
        raise IrError(f"{node.op_type} needs its graph {name}", node.place, code=DamagedModel)
    return graph


def outputs_of(importer: GraphConverter, graph: Graph, bound: Sequence[Value]) -> list[Value]:
    """The outputs of a graph inside a node, for these inputs.

    Raises IrError if one could not be made; it takes the reasons along, so that whoever has another way can try that.
    """
    before = len(importer.failures)
    results = importer.convert(graph, bound)
    values = [v for v in results if v is not None]
    if len(values) < len(results):
        failures = importer.failures[before:]
        del importer.failures[before:]
        raise Unconverted(failures)
    return values


def without_names(node: Node, left_out: Set[str]) -> Node:
    """A node that leaves out the inputs of these names, in the graphs inside it, too."""
    if not left_out:
        return node
    inputs = tuple("" if i in left_out else i for i in node.inputs)
    subgraphs = {name: _graph_without(g, left_out) for name, g in node.subgraphs.items()}
    return replace(node, inputs=inputs, subgraphs=subgraphs)


def _graph_without(graph: Graph, left_out: Set[str]) -> Graph:
    own = {i.name for i in graph.inputs} | set(graph.initializers) | {o for n in graph.nodes for o in n.outputs}
    return replace(graph, nodes=tuple(without_names(n, left_out - own) for n in graph.nodes))


def input_in_rank(value: Value, declared: Any) -> Value:
    """A number in the rank in which the graph declares its input: some exporters write vectors of one element."""
    tensor = declared.type.tensor_type
    rank = len(tensor.shape.dim) if tensor.HasField("shape") else 0
    if rank == value.rank or rank > 1:
        return value
    if value.known is not None:
        return Value.constant(value.known.reshape((1,) * rank), value.dtype)
    return value.call("reshape", newshape=[1] * rank)
