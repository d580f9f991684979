"""From the protos of the `onnx` package to the model as this front end sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...diagnostics import IrError, Source, Span
from .mistakes import DamagedModel, UnsupportedNode
from .model import FunctionBody, Graph, Model, Node, OperatorKey
from .subgraphs import DEEPEST

_OWN = ("", "ai.onnx")
"""Names of ONNX's own domain."""


def domain_of(name: str) -> str:
    """A domain by the one name that it has here."""
    return "" if name in _OWN else name


def read_model(proto: Any, filename: str, read_external: Callable[[Any], Any] | None = None) -> Model:
    """The model of a ModelProto; `filename` is its name in messages.

    Raises IrError if it has no graph, or two functions of one name.
    """
    if not proto.HasField("graph"):
        raise IrError("the model has no graph", filename=filename, code=DamagedModel)
    listing = _Listing(filename)
    graph = _read_graph(proto.graph, listing)
    functions: dict[tuple[str, str], FunctionBody] = {}
    for f in proto.functions:
        body = _read_function(f, listing)
        key = (str(body.key), getattr(f, "overload", ""))
        if key in functions:
            raise IrError(f"the model defines {body.key} twice", filename=filename, code=DamagedModel)
        functions[key] = body
    opsets = _opsets(proto.opset_import, filename)
    if proto.ir_version and proto.ir_version >= 3 and not opsets and proto.graph.node:
        raise IrError("the model does not declare its opset", filename=filename, code=DamagedModel)
    model = Model(filename, opsets or {"": 1}, graph, functions, read_external, int(proto.ir_version), listing.source)
    listing.close()
    return model


def read_function(proto: Any, filename: str) -> FunctionBody:
    """The function of a FunctionProto that is in no model: one of those that ONNX defines its operators by."""
    listing = _Listing(filename)
    body = _read_function(proto, listing)
    listing.close()
    return body


def read_node(proto: Any, filename: str) -> Node:
    """A NodeProto that is in no model."""
    listing = _Listing(filename)
    node = _read_node(proto, listing, 0)
    listing.close()
    return node


def _read_function(proto: Any, listing: _Listing) -> FunctionBody:
    strings = (proto.domain, proto.name, *proto.input, *proto.output, *proto.attribute)
    require_text(strings, "a function", listing.source.name)
    listing.add(0, f"function {proto.domain}.{proto.name}({', '.join(proto.input)})")
    return FunctionBody(
        OperatorKey(domain_of(proto.domain), proto.name),
        tuple(proto.input),
        tuple(proto.output),
        _read_nodes(proto.node, listing, 1),
        _opsets(proto.opset_import, listing.source.name),
        {a.name: a for a in proto.attribute_proto},
        tuple(proto.attribute),
    )


def _opsets(imports: Iterable[Any], filename: str) -> dict[str, int]:
    imports = tuple(imports)
    require_text((o.domain for o in imports), "an operator set", filename)
    for o in imports:
        if not 0 < o.version < 1 << 31:
            raise IrError(f"there is no opset {o.version}", filename=filename, code=DamagedModel)
    return {domain_of(o.domain): o.version for o in imports}


def require_text(strings: Iterable[Any], what: str, filename: str) -> None:
    """Raises IrError if one of the strings of a proto is not UTF-8: protobuf gives its bytes then."""
    for s in strings:
        if isinstance(s, bytes):
            shown = ascii(s)[2:42]
            raise IrError(f"{what} has a name that is not UTF-8: {shown}", filename=filename, code=DamagedModel)


def _read_graph(proto: Any, listing: _Listing, depth: int = 0) -> Graph:
    for v in (*proto.input, *proto.output):
        dims = (d.dim_param for d in v.type.tensor_type.shape.dim)
        require_text((v.name, *dims), "an input or an output", listing.source.name)
    if depth > DEEPEST:
        raise IrError(
            f"graphs are nested deeper than {DEEPEST} levels", filename=listing.source.name, code=UnsupportedNode
        )
    return Graph(
        proto.name,
        _read_nodes(proto.node, listing, depth),
        tuple(proto.input),
        tuple(proto.output),
        _initializers(proto, listing.source.name),
    )


def _initializers(proto: Any, filename: str) -> dict[str, Any]:
    """By name. Raises IrError if two have one name."""
    result: dict[str, Any] = {}
    for t in (*proto.initializer, *proto.sparse_initializer):
        name = t.values.name if hasattr(t, "indices") else t.name
        if name in result:
            raise IrError(f"two initializers are called {name}", filename=filename, code=DamagedModel)
        result[name] = t
    require_text(result, "an initializer", filename)
    return result


def _read_nodes(protos: Iterable[Any], listing: _Listing, depth: int) -> tuple[Node, ...]:
    """The nodes of a graph. Graphs in attributes are read below their node: protobuf allows few levels (100)."""
    return tuple(_read_node(n, listing, depth) for n in protos)


def _read_node(proto: Any, listing: _Listing, depth: int) -> Node:
    attributes = {}
    require_text((proto.name, proto.op_type, proto.domain, *proto.input, *proto.output), "a node", listing.source.name)
    require_text(
        (a.name for a in proto.attribute), f"an attribute of {proto.name or proto.op_type}", listing.source.name
    )
    key = OperatorKey(domain_of(proto.domain), proto.op_type)
    inputs, outputs = tuple(proto.input), tuple(proto.output)
    scalars = ", ".join(s for a in proto.attribute if (s := _shown(a)))
    name = f"{proto.name}: " if proto.name else ""
    angled = f"<{scalars}>" if scalars else ""
    place = listing.add(depth, f"{name}{', '.join(outputs)} = {key}{angled}({', '.join(inputs)})", proto.name)
    subgraphs, graphs = {}, {}
    for a in proto.attribute:
        if a.HasField("g"):
            subgraphs[a.name] = _read_graph(a.g, listing, depth + 1)
            graphs[a.name] = a
        else:
            attributes[a.name] = a
    return Node(key, proto.name, inputs, outputs, attributes, subgraphs, place, getattr(proto, "overload", ""), graphs)


_LONGEST = 8
"""Numbers of an attribute that the listing shows."""


def _shown(a: Any) -> str:
    """An attribute in the listing; empty for tensors and graphs."""
    if a.ref_attr_name:
        return f"{a.name}=@{a.ref_attr_name}"
    if a.type == a.INT:
        return f"{a.name}={a.i}"
    if a.type == a.FLOAT:
        return f"{a.name}={a.f:.6g}"
    if a.type == a.STRING:
        return f"{a.name}={a.s.decode('utf-8', 'replace')!r:.60}"
    if a.type in (a.INTS, a.FLOATS):
        values = a.ints if a.type == a.INTS else a.floats
        more = ", …" if len(values) > _LONGEST else ""
        return f"{a.name}=[{', '.join(f'{v:g}' for v in values[:_LONGEST])}{more}]"
    return ""


class _Listing:
    """Collects the lines of the listing; the source that they are in has its text once all are there."""

    def __init__(self, filename: str) -> None:
        self.source = Source(filename, "")
        self._lines: list[str] = []
        self._end = 0

    def add(self, depth: int, line: str, node: str = "") -> Span:
        line = "  " * depth + " ".join(line.split())
        start = self._end + 2 * depth
        self._lines.append(line)
        self._end += len(line) + 1
        return Span(self.source, start, self._end - 1, node=node)

    def close(self) -> None:
        self.source.text = "\n".join(self._lines) + "\n"
