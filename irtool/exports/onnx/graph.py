"""Graphs while they are written: values by name, nodes in order, constants once for the whole model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...deferred import np
from ...ir import Type


class Value(NamedTuple):
    """A tensor of a graph: its name and its dtype (Relay's word for it)."""

    name: str
    dtype: str


@dataclass
class Node:
    """A node: ONNX's operator, the names of its inputs (empty where one is left out) and outputs, and its attributes.

    An attribute is an int, a float, a string, a list of these, an array, a `Graph`, or an AttributeProto. `domain` is empty for
    operators of ONNX itself.
    """

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    name: str
    domain: str = ""


@dataclass(eq=False)
class Graph:
    """A graph, or the body of a node.

    Attributes:
        parent: the graph around it, None for the outermost; names of that are visible here.
        inputs: its inputs, each with the type in Relay (None: the dtype alone is said).
        nodes: in an order in which each is behind those it reads.
        outputs: as `inputs`.
        defined: the names that are defined here.
        dims: by name of an input or an output, the names of its extents; an empty string where one has none.
    """

    parent: Graph | None
    inputs: list[tuple[Value, Type | None]] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[tuple[Value, Type | None]] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)
    dims: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """The number of graphs around it."""
        depth, graph = 0, self.parent
        while graph is not None:
            depth, graph = depth + 1, graph.parent
        return depth


class ModelNames:
    """Names that are unique in a model."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}
        self._reserved: set[str] = set()

    def reserve(self, name: str) -> None:
        """Keeps a name that nobody has for one who will `claim` it."""
        if name and name not in self._taken:
            self._taken[name] = 0
            self._reserved.add(name)

    def claim(self, name: str) -> str:
        """A reserved name, which its first claimant gets; else a fresh one like it."""
        if name in self._reserved:
            self._reserved.remove(name)
            return name
        return self.fresh(name)

    def fresh(self, hint: str) -> str:
        """`hint`, or the first of `hint_1`, `hint_2`, … that nobody has."""
        hint = hint or "value"
        count = self._taken.get(hint)
        if count is None:
            self._taken[hint] = 0
            return hint
        while True:
            count += 1
            name = f"{hint}_{count}"
            if name not in self._taken:
                self._taken[hint] = count
                self._taken[name] = 0
                return name


@dataclass
class Initializers:
    """Constants of a model by name; equal ones are kept once, however many nodes read them."""

    names: ModelNames
    arrays: dict[str, tuple[np.ndarray, str]] = field(default_factory=dict)
    _known: dict[tuple[str, tuple[int, ...], bytes], Value] = field(default_factory=dict)

    def constant(self, data: np.ndarray, dtype: str, hint: str = "const") -> Value:
        """The value that holds this array; `dtype` is its type if numpy lacks such a type."""
        data = np.ascontiguousarray(data).reshape(np.shape(data))
        key = (dtype, data.shape, _digest(data))
        if key not in self._known:
            self._known[key] = self.named(hint, data, dtype)
        return self._known[key]

    def named(self, name: str, data: np.ndarray, dtype: str) -> Value:
        """A constant with a name of its own: a weight."""
        value = Value(self.names.fresh(name), dtype)
        self.arrays[value.name] = (data, dtype)
        return value


def _digest(data: np.ndarray) -> bytes:
    import hashlib

    raw = (
        data.tobytes()
        if data.nbytes < 64
        else hashlib.sha256(data.view("uint8").data if data.ndim else data.tobytes()).digest()
    )
    return raw
