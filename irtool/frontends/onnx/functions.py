"""Functions that stand for operators: those that a model defines, and those by which ONNX itself defines some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...diagnostics import IrError, nearest
from .mistakes import UnsupportedNode
from .model import FunctionBody, Model, Node
from .operator import onnx_operators
from .package import onnx_package
from .read import read_function
from .schema_check import find_schema, type_proto
from .value import Value


def find_function(
    model: Model, node: Node, opset: int, inputs: Sequence[Value | None], attributes: Mapping[str, Any]
) -> FunctionBody:
    """The function that a node calls: one of the model, else ONNX's definition of the operator in simpler ones.

    Raises IrError if there is neither.
    """
    own = model.functions.get((node.op_type, node.overload))
    if own is not None:
        return own
    result = defined_function(node, opset, inputs, attributes, model.opsets.get("", 1))
    if result is None:
        help = nearest(node.op_type, onnx_operators.names())
        raise IrError(f"no form in Relay is known for {node.op_type}", node.place, help=help, code=UnsupportedNode)
    return result


def has_function(node: Node, opset: int) -> bool:
    """True if ONNX defines the operator in simpler ones, for any inputs."""
    schema = find_schema(node, opset)
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


def defined_function(
    node: Node, opset: int, inputs: Sequence[Value | None], attributes: Mapping[str, Any], around: int
) -> FunctionBody | None:
    """ONNX's definition of an operator of that version in simpler ones, for inputs of these types; None without one.

    `around` is the version of ONNX's own operators that holds where the operator is of another domain.
    """
    onnx = onnx_package()
    schema = find_schema(node, opset)
    if schema is None:
        return None
    proto = None
    if schema.has_function:
        proto = schema.function_body
    elif schema.has_context_dependent_function:
        call = onnx.NodeProto(op_type=node.key.op_type, domain=node.key.domain, name=node.name)
        call.input.extend(node.inputs)
        call.output.extend(node.outputs)
        for name, a in attributes.items():
            call.attribute.append(a)
            call.attribute[-1].name = name
        call.attribute.extend(node.graphs.values())
        types = [type_proto(v).SerializeToString() for v in inputs]
        text = schema.get_context_dependent_function(call.SerializeToString(), types)
        proto = onnx.FunctionProto.FromString(text)
    if proto is None or not proto.node:
        return None
    body = read_function(proto, f"<{node.op_type} as ONNX defines it>")
    opsets = dict(body.opsets) or {node.key.domain: opset}
    opsets.setdefault("", opset if not node.key.domain else around)
    # Names of the schema's inputs are those of the definition.
    names = tuple(i.name for i in schema.inputs)
    return FunctionBody(
        body.key,
        body.inputs or names,
        body.outputs or tuple(o.name for o in schema.outputs),
        body.nodes,
        opsets,
        {**_defaults(schema), **body.defaults},
        body.attributes,
    )


def _defaults(schema: Any) -> dict[str, Any]:
    return {n: a.default_value for n, a in schema.attributes.items() if a.default_value.type}
