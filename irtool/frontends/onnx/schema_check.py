"""Checks of nodes by ONNX itself: kinds of attributes, and types of inputs, from the schema of the operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...diagnostics import IrError
from ...exports.onnx.dtypes import ELEMENT_TYPES
from ...ir import TensorType
from .elements import NARROW
from .mistakes import DamagedModel
from .model import Node
from .package import onnx_package
from .value import Value


def find_schema(node: Node, opset: int) -> Any:
    """ONNX's definition of the operator in that version of its domain; None if it has none."""
    return schema_of(node.key.op_type, opset, node.key.domain)


@lru_cache(1024)
def schema_of(op_type: str, opset: int, domain: str) -> Any:
    """As `find_schema`, by names."""
    onnx = onnx_package()
    return onnx.defs.get_schema(op_type, opset, domain) if onnx.defs.has(op_type, opset, domain) else None


def check_kinds(node: Node, opset: int, attributes: Mapping[str, Any]) -> None:
    """Raises IrError for attributes of other kinds than the operator has."""
    schema = find_schema(node, opset)
    if schema is None or not attributes:
        return
    for name, a in attributes.items():
        known = schema.attributes.get(name)
        if known is not None and a.type and int(known.type.value) != a.type:
            types = onnx_package().AttributeProto.AttributeType
            has = types.Name(a.type) if a.type in types.values() else f"kind {a.type}"
            raise IrError(
                f"the attribute {name} of {node.op_type} is of kind {has}, not {known.type.name}", code=DamagedModel
            )


def mistake_in(node: Node, opset: int, inputs: Sequence[Value | None], attributes: Mapping[str, Any]) -> str:
    """The error of ONNX's shape inference on the node with inputs of these types; empty if it has none."""
    schema = find_schema(node, opset)
    if schema is None:
        return ""
    if not schema.min_input <= len(inputs) <= schema.max_input:
        return f"it has {len(inputs)} inputs"
    try:
        _infer(schema, node, inputs, attributes)
    except Exception as error:  # noqa: BLE001 - its errors have no common class, and this asks for whether there is one
        lines = str(error).strip().splitlines()
        return lines[0] if lines else type(error).__name__
    return ""


def inferred_types(
    schema: Any, node: Node, inputs: Sequence[Value | None], attributes: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The types of a node's outputs, `o0`, `o1` …, as ONNX infers them; none where it refuses the node."""
    try:
        return _infer(schema, node, inputs, attributes)
    except Exception:  # noqa: BLE001 - its errors have no common class
        return {}


def _infer(schema: Any, node: Node, inputs: Sequence[Value | None], attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    onnx = onnx_package()
    call = onnx.NodeProto(op_type=node.key.op_type, domain=node.key.domain, name=node.name)
    names = [f"i{n}" if v is not None else "" for n, v in enumerate(inputs)]
    call.input.extend(names)
    call.output.extend(f"o{n}" if name else "" for n, name in enumerate(node.outputs))
    for name, a in attributes.items():
        call.attribute.append(a)
        call.attribute[-1].name = name
    call.attribute.extend(node.graphs.values())
    present = [(n, v) for n, v in zip(names, inputs, strict=True) if v is not None]
    types = {n: type_proto(v) for n, v in present}
    data = {
        n: onnx.numpy_helper.from_array(v.known)
        for n, v in present
        if v.known is not None and not v.narrow and v.known.size < _SMALL
    }
    return onnx.shape_inference.infer_node_outputs(schema, call, types, data)


_SMALL = 4096
"""Elements of an input that the inference is told."""


def type_proto(value: Value | None) -> Any:
    """The type of a value for ONNX: unknown for other values than tensors, without a shape for a guessed rank."""
    onnx = onnx_package()
    if value is None or not isinstance(value.type, TensorType):
        return onnx.TypeProto()
    dims = None if value.guessed else [d if isinstance(d, int) else None for d in value.shape]
    number = next(n for n, t in NARROW.items() if t is value.narrow) if value.narrow else ELEMENT_TYPES[value.dtype]
    return onnx.helper.make_tensor_type_proto(number, dims)
