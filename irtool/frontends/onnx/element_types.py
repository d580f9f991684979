"""Checks of the element types of a node's inputs against ONNX's definition of the operator."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...diagnostics import IrError
from ...ir import TensorType
from .mistakes import DamagedModel
from .model import Node
from .package import onnx_package
from .schema_check import schema_of
from .value import Value

_RENAMED = {"float32": "float", "float64": "double"}


def check_element_types(node: Node, opset: int, inputs: Sequence[Value | None]) -> None:
    """Raises IrError for inputs of types that the operator has in no version, or of several where it wants one.

    A type that a later version takes is let pass: its meaning is plain. So is a narrow type, whose values may be held in a wider one.
    """
    signature = _signature(node.key.op_type, opset, node.key.domain)
    if not signature:
        return
    bound: dict[str, tuple[str, str]] = {}
    for i, v in enumerate(inputs):
        if v is None or v.narrow or not isinstance(v.type, TensorType):
            continue
        name, variable, allowed = signature[min(i, len(signature) - 1)]
        if allowed and f"tensor({_RENAMED.get(v.dtype, v.dtype)})" not in allowed:
            raise IrError(
                f"the input {name} of {node.op_type} is of {v.dtype}, which it does not take", code=DamagedModel
            )
        if variable:
            first, dtype = bound.setdefault(variable, (name, v.dtype))
            if dtype != v.dtype:
                what = f"{first} and {name}" if name != first else name
                raise IrError(
                    f"the inputs {what} of {node.op_type} are of one type, not of {dtype} and {v.dtype}",
                    code=DamagedModel,
                )


@lru_cache(1024)
def _signature(op_type: str, opset: int, domain: str) -> tuple[tuple[str, str, frozenset[str]], ...]:
    """Of each input its name, the type variable that it shares with others, and the types that it may have in this or a later
    version; empty where nothing is known.
    """
    schema = schema_of(op_type, opset, domain)
    if schema is None:
        return ()
    newest = onnx_package().defs.get_schema(op_type, domain)
    later = {i.name: frozenset(i.types) for i in newest.inputs}
    signature = []
    for i in schema.inputs:
        one = i.type_str if i.is_homogeneous and "(" not in i.type_str else ""
        signature.append(
            (i.name, one, frozenset(i.types) | later.get(i.name, frozenset()) if i.is_homogeneous else frozenset())
        )
    return tuple(signature)
