"""Nodes whose form in Relay depends on extents that are open: calls of `onnx.node`, with the types that are known all the same.

Such a node fails to convert. Its results then get their types from ONNX's shape inference, else from conversions in which each
open extent is a number, for two choices of these: what agrees is known. A branch has the types in which its arms agree. Where they
differ in rank, one arm's types are a guess; what is computed from these waits as well, until ONNX knows a rank without the guess.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...diagnostics import Diagnostic, IrError
from ...ir import ANY, Expr, TensorType, TupleGetItem, Var
from ...ops.onnx_node import show_result
from .elements import NARROW
from .loops import joined_type
from .mistakes import UnknownExtent
from .model import Node
from .package import onnx_package
from .schema_check import find_schema, inferred_types
from .tensors import DTYPES
from .value import Value, apply

Convert = Callable[[Sequence["Value | None"], Mapping[str, Value]], Sequence["Value | None"]]
"""Converts the node for these inputs, and these values by name around it."""

_SAMPLES = ((64, 96), (1, 2), (16, 24), (4096, 6144))
"""Pairs of numbers that open extents are taken for, until the node can be converted with both."""


def waits(error: IrError) -> bool:
    """True if a conversion fails for want of a number alone."""
    return bool(error.diagnostics) and all(d.code is UnknownExtent for d in error.diagnostics)


def has_open_extents(values: Sequence[Value | None]) -> bool:
    """True if a tensor among these has an extent that is not known."""
    return any(
        not isinstance(d, int) for v in values if v is not None and isinstance(v.type, TensorType) for d in v.type.shape
    )


def can_wait(node: Node, around: Mapping[str, Value]) -> bool:
    """True if a call can represent the node: its operands are tensors of Relay's types."""
    graphs = list(node.subgraphs.values())
    while graphs:
        for n in graphs.pop().nodes:
            graphs += n.subgraphs.values()
            if any(a.ref_attr_name for a in n.attributes.values()):
                return False
    return all(v.items is None and v.narrow is None and isinstance(v.type, TensorType) for v in around.values())


def inferred_results(
    node: Node, opset: int, inputs: Sequence[Value | None], attributes: Mapping[str, Any]
) -> list[TensorType] | None:
    """The types of the results that the node names, as ONNX infers them; None if it leaves a rank or an element type open."""
    schema = find_schema(node, opset)
    if schema is None or node.subgraphs:
        return None
    inferred = inferred_types(schema, node, inputs, attributes)
    types = []
    for n, name in enumerate(node.outputs):
        if not name:
            continue
        tensor = inferred[f"o{n}"].tensor_type if f"o{n}" in inferred else None
        if tensor is None or tensor.elem_type not in DTYPES or tensor.elem_type in NARROW:
            return None
        if not tensor.HasField("shape"):
            return None
        dims = (d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else ANY for d in tensor.shape.dim)
        types.append(TensorType(tuple(dims), DTYPES[tensor.elem_type]))
    return types


def sampled_results(node: Node, convert: Convert, around: Mapping[str, Value]) -> tuple[list[TensorType] | None, bool]:
    """The types of the results that the node names, from conversions with numbers in the place of open extents.

    None if no pair of numbers gives results of the same ranks. Also whether the ranks are a guess, since other numbers give others.
    """
    joined, every = None, []
    for pair in _SAMPLES:
        first, second = (_results(node, convert, around, extent) for extent in pair)
        every += [types for types in (first, second) if types is not None]
        if joined is None and first is not None and second is not None:
            joined = joined_types(first, second)
    return joined, joined is not None and any(joined_types(joined, types) is None for types in every)


def joined_types(first: Sequence[TensorType], second: Sequence[TensorType]) -> list[TensorType] | None:
    """The types in which two lists of results agree, extents that differ open; None if ranks or element types differ."""
    if len(first) != len(second):
        return None
    joined = [joined_type(a, b) for a, b in zip(first, second, strict=True)]
    return None if None in joined else [t for t in joined if t is not None]


def _results(node: Node, convert: Convert, around: Mapping[str, Value], extent: int) -> list[TensorType] | None:
    pinned = {name: _pinned(v, extent) for name, v in around.items()}
    try:
        results = convert([pinned[i] if i else None for i in node.inputs], pinned)
        return [v.tensor for v, name in zip(results, node.outputs, strict=False) if name and v is not None]
    except (IrError, ArithmeticError, LookupError, TypeError, ValueError, MemoryError):
        return None


def _pinned(v: Value, extent: int) -> Value:
    """A value of the same type with a number in the place of each extent that is open; constants as they are."""
    if not has_open_extents([v]):
        return v
    t = TensorType(tuple(d if isinstance(d, int) else extent for d in v.shape), v.dtype)
    return Value(Var("x", t, None, t))


def waiting_call(
    node: Node,
    opsets: Mapping[str, int],
    attributes: Mapping[str, Any],
    around: Mapping[str, Value],
    types: Sequence[TensorType],
    reason: str,
    is_guess: bool,
) -> list[Value | None]:
    """The outputs of the node as those of a call that stands for it; `is_guess` where the ranks of `types` are one."""
    call = apply(
        "onnx.node",
        *(v.expr for v in around.values()),
        op_type=node.op_type,
        node=base64.b64encode(node_proto(node, attributes).SerializeToString(deterministic=True)).decode(),
        opsets=[f"{domain or 'ai.onnx'}={version}" for domain, version in sorted(opsets.items())],
        inputs=list(around),
        results=[show_result(t) for t in types],
        reason=reason,
        guessed=is_guess,
    )
    fields: list[Expr] = [call.expr] if len(types) == 1 else [TupleGetItem(call.expr, k) for k in range(len(types))]
    left = iter(fields)
    return [replace(Value.of(next(left)), guessed=is_guess) if name else None for name in node.outputs]


def node_proto(node: Node, attributes: Mapping[str, Any]) -> Any:
    """The node as a NodeProto, with these attributes."""
    proto = onnx_package().NodeProto(op_type=node.key.op_type, domain=node.key.domain, name=node.name)
    proto.input.extend(node.inputs)
    proto.output.extend(node.outputs)
    for name, a in sorted({**attributes, **node.graphs}.items()):
        proto.attribute.append(a)
        proto.attribute[-1].name = name
        proto.attribute[-1].ClearField("ref_attr_name")  # an empty name would still be a reference
    return proto


def reason_of(diagnostics: Sequence[Diagnostic]) -> str:
    """The missing fact of a node, as a sentence."""
    return diagnostics[0].message if diagnostics else ""
