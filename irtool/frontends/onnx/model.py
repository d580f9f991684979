"""A model as this front end sees it: plain data, each node with its place in a listing of the model.

ONNX files have no lines. Messages, and the spans of expressions, point into a listing instead: one line for each node, in order,
subgraphs indented below the node that has them, under the file's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...diagnostics import Source, Span


@dataclass(frozen=True)
class OperatorKey:
    """An operator's domain and name. The domain of ONNX itself is empty."""

    domain: str
    op_type: str

    def __str__(self) -> str:
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type


@dataclass(frozen=True, eq=False)
class Node:
    """A node: its operator, its name, the names of its inputs and outputs (empty where one is left out).

    Attributes:
        attributes: the protos of attributes by name; graphs among them are in `subgraphs` instead.
        place: its line in the listing.
    """

    key: OperatorKey
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    subgraphs: Mapping[str, Graph]
    place: Span | None = None
    overload: str = ""
    graphs: Mapping[str, Any] = field(default_factory=dict)
    """The protos of the attributes that are graphs, for definitions of operators that contain these."""

    @property
    def op_type(self) -> str:
        """The operator's name, with its domain unless that is ONNX's own."""
        return str(self.key)

    def __str__(self) -> str:
        return self.name or next((o for o in self.outputs if o), self.op_type)


_SHOWN = 8
"""Nodes that a message names."""


def names_of(nodes: Sequence[Node]) -> str:
    """Nodes as a message lists them: the first by their names, the others counted."""
    more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    return ", ".join(str(n) for n in nodes[:_SHOWN]) + more


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph: its nodes, the protos of its inputs and outputs (ValueInfoProto) and initializers (TensorProto)."""

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    initializers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FunctionBody:
    """A function of the model: its nodes, with its opsets and inputs."""

    key: OperatorKey
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    opsets: Mapping[str, int]
    defaults: Mapping[str, Any]
    """Protos of attributes with defaults, by name."""
    attributes: Sequence[str] = ()
    """Names of attributes without defaults."""


@dataclass(frozen=True, eq=False)
class Model:
    """A whole model. `opsets` gives the version of each domain, the empty one being ONNX's own."""

    name: str
    opsets: Mapping[str, int]
    graph: Graph
    functions: Mapping[tuple[str, str], FunctionBody] = field(default_factory=dict)
    """By operator and overload."""
    read_external: Any = None
    """Gives the array of a TensorProto whose data is in another file; None if there is no folder to look in."""
    ir_version: int = 0
    listing: Source = field(default_factory=lambda: Source("", ""))
    """The text that the places of nodes are in."""
