"""The protobuf of a model, and the weights that are kept in a file beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import ANY, DimVar
from ...symbolic_int import SymbolicInt
from .dtypes import ELEMENT_TYPES
from .graph import Graph, Value

if TYPE_CHECKING:
    import onnx

_SMALL = 1024
"""Bytes up to which a constant stays in the model: what shapes are inferred from is among these."""

_ALIGNMENT = 4096
"""Offsets in the file of weights are multiples of this, so that pages can be mapped."""


@dataclass
class External:
    """Weights for a file beside the model: its name, and its contents part by part."""

    location: str
    arrays: list[np.ndarray] = field(default_factory=list)
    end: int = 0

    def place(self, data: np.ndarray) -> tuple[int, int]:
        """Offset and length of an array, which comes behind those that are there."""
        offset = -(-self.end // _ALIGNMENT) * _ALIGNMENT
        self.arrays.append(data)
        self.end = offset + data.nbytes
        return offset, data.nbytes

    def parts(self) -> Iterator[bytes]:
        """The contents of the file."""
        end = 0
        for data in self.arrays:
            offset = -(-end // _ALIGNMENT) * _ALIGNMENT
            yield bytes(offset - end)
            yield _raw(data)
            end = offset + data.nbytes


@dataclass
class Inside:
    """Weights of the model's own file that are written one by one: the protobuf has their names, shapes and types only."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def parts(self, model: onnx.ModelProto) -> Iterator[bytes]:
        """The bytes of the file, in protobuf's wire format: the model around its graph, the graph, the initializers with data."""
        import onnx

        around = onnx.ModelProto()
        around.CopyFrom(model)
        around.ClearField("graph")
        graph = onnx.GraphProto()
        graph.CopyFrom(model.graph)
        graph.ClearField("initializer")
        heads = [self._head(t) for t in model.graph.initializer]
        inner = graph.SerializeToString(deterministic=True)
        length = len(inner) + sum(len(head) + (0 if data is None else data.nbytes) for head, data in heads)
        yield around.SerializeToString(deterministic=True) + _framed(_GRAPH, length) + inner
        for head, data in heads:
            yield head
            if data is not None:
                yield _raw(data)

    def _head(self, tensor: Any) -> tuple[bytes, np.ndarray | None]:
        """The bytes before an initializer's data, and the data, if it is not in the protobuf."""
        import onnx

        data = self.arrays.get(tensor.name)
        bare = onnx.TensorProto()
        bare.CopyFrom(tensor)
        if data is not None:
            bare.ClearField("data_location")
        written = bare.SerializeToString(deterministic=True)
        if data is not None:
            written += _framed(_RAW_DATA, data.nbytes)
        length = len(written) + (0 if data is None else data.nbytes)
        return _framed(_INITIALIZER, length) + written, data


_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
"""Numbers of fields in ModelProto, GraphProto and TensorProto."""
_BYTES = 2
"""The wire type of fields with a length in front."""


def _framed(number: int, length: int) -> bytes:
    """The head of a field of that many bytes."""
    framed = bytearray([number << 3 | _BYTES])
    while length >= 0x80:
        framed.append(length & 0x7F | 0x80)
        length >>= 7
    framed.append(length)
    return bytes(framed)


def _raw(data: np.ndarray) -> bytes:
    return np.ascontiguousarray(data).astype(data.dtype.newbyteorder("<"), copy=False).tobytes()


def build_model(
    graph: Graph,
    constants: dict[str, tuple[np.ndarray, str]],
    opset: int,
    name: str,
    producer: tuple[str, str],
    external: External | Inside | None = None,
) -> onnx.ModelProto:
    """The model, in the oldest version of the format that has the opset, since more readers know that.

    Constants that no node reads are left out; with `external` the data of larger ones is placed there.
    """
    import onnx

    used = set(_read(graph))
    model = onnx.ModelProto()
    model.producer_name, model.producer_version = producer
    opsets = model.opset_import.add()
    opsets.domain, opsets.version = "", opset
    model.ir_version = onnx.helper.find_min_ir_version_for(model.opset_import)
    for domain in sorted({n.domain for n in graph.nodes if n.domain}):
        other = model.opset_import.add()
        other.domain, other.version = domain, 1
    _fill(model.graph, graph, name)
    for key, (data, dtype) in constants.items():
        if key in used:
            _tensor(model.graph.initializer.add(), key, data, dtype, external)
    return model


def skeleton(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with larger constants as inputs, for the checker, which then need not read all weights."""
    import onnx
    from onnx import helper

    elsewhere = onnx.TensorProto.EXTERNAL
    if model.ByteSize() < 1 << 20 and not any(t.data_location == elsewhere for t in model.graph.initializer):
        return model
    small = onnx.ModelProto()
    small.ir_version = model.ir_version
    small.opset_import.extend(model.opset_import)
    small.graph.name = model.graph.name
    small.graph.input.extend(model.graph.input)
    small.graph.node.extend(model.graph.node)
    small.graph.output.extend(model.graph.output)
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) <= _SMALL and tensor.data_location != elsewhere:
            small.graph.initializer.append(tensor)
        else:
            small.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    return small


def _read(graph: Graph) -> Iterator[str]:
    stack = [graph]
    while stack:
        g = stack.pop()
        yield from (v.name for v, _ in g.outputs)
        for node in g.nodes:
            yield from node.inputs
            stack.extend(a for a in node.attributes.values() if isinstance(a, Graph))
            for a in node.attributes.values():
                yield from _read_by(a)


def _read_by(attribute: Any) -> Iterator[str]:
    """The names that graphs in an attribute which is a proto read."""
    graphs = [attribute.g] if hasattr(attribute, "g") else []
    while graphs:
        g = graphs.pop()
        yield from (o.name for o in g.output)
        for n in g.node:
            yield from n.input
            graphs += [a.g for a in n.attribute if a.HasField("g")]


def _fill(proto: Any, graph: Graph, name: str) -> None:
    """Writes a graph and those in it, which `emit.DEEPEST` limits."""
    proto.name = name
    for v, t in graph.inputs:
        _info(proto.input.add(), v, t, graph.dims.get(v.name, ()))
    for v, t in graph.outputs:
        _info(proto.output.add(), v, t, graph.dims.get(v.name, ()))
    for node in graph.nodes:
        node_proto = proto.node.add()
        node_proto.op_type, node_proto.name, node_proto.domain = node.op, node.name, node.domain
        node_proto.input.extend(node.inputs)
        node_proto.output.extend(node.outputs)
        for key, value in sorted(node.attributes.items()):
            _attribute(node_proto.attribute.add(), key, value, f"{node.name}.{key}")


def _attribute(proto: Any, key: str, value: Any, name: str) -> None:
    import onnx

    types = onnx.AttributeProto
    if isinstance(value, types):
        proto.CopyFrom(value)
        return
    proto.name = key
    if isinstance(value, Graph):
        proto.type = types.GRAPH
        _fill(proto.g, value, name)
    elif isinstance(value, np.ndarray):
        proto.type = types.TENSOR
        _tensor(proto.t, "", value, str(value.dtype), None)
    elif isinstance(value, bool | int | np.integer):
        proto.type, proto.i = types.INT, int(value)
    elif isinstance(value, float | np.floating):
        proto.type, proto.f = types.FLOAT, float(value)
    elif isinstance(value, str):
        proto.type, proto.s = types.STRING, value.encode()
    elif all(isinstance(v, int | np.integer) for v in value):
        proto.type = types.INTS
        proto.ints.extend(int(v) for v in value)
    else:
        proto.type = types.FLOATS
        proto.floats.extend(float(v) for v in value)


def _info(proto: Any, v: Value, t: Type | None, names: Sequence[str]) -> None:
    proto.name = v.name
    tensor = proto.type.tensor_type
    tensor.elem_type = ELEMENT_TYPES[v.dtype]
    if isinstance(t, TensorType):
        tensor.shape.SetInParent()
        for axis, dim in enumerate(t.shape):
            dim_proto = tensor.shape.dim.add()
            if isinstance(dim, SymbolicInt):
                dim_proto.dim_param = str(dim)
            elif isinstance(dim, int):
                dim_proto.dim_value = int(dim)
            else:
                named = names[axis] if axis < len(names) else ""
                dim_proto.dim_param = named or dim_name(dim, v.name, axis)


def dim_name(dim: Any, value: str, axis: int) -> str:
    """The name of an extent that is not known: that of its variable, or of the value and the axis."""
    if dim is ANY:
        return f"{value}_dim_{axis}"
    return dim.name if isinstance(dim, DimVar) else repr(dim)


def _tensor(proto: Any, name: str, data: np.ndarray, dtype: str, external: External | Inside | None) -> None:
    import onnx

    proto.name = name
    proto.dims.extend(data.shape)
    proto.data_type = ELEMENT_TYPES[dtype]
    if external is None or data.nbytes <= _SMALL:
        proto.raw_data = _raw(data)
        return
    proto.data_location = onnx.TensorProto.EXTERNAL
    if isinstance(external, Inside):
        external.arrays[name] = data
        return
    offset, length = external.place(data)
    for key, value in (("location", external.location), ("offset", str(offset)), ("length", str(length))):
        entry = proto.external_data.add()
        entry.key, entry.value = key, value


def total_bytes(constants: Sequence[tuple[np.ndarray, str]]) -> int:
    """The bytes of all constants."""
    return sum(data.nbytes for data, _ in constants)
