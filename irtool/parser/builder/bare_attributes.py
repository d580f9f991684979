"""Attributes of operators in places where no operator is called: `a=meta[relay.attrs.DenseAttrs][0]`.

Which of a record's fields are references the operator's fields decide, so such a record is read as the attributes of the first
operator that has its type key and takes its fields.
"""

from __future__ import annotations

from typing import Any

from ...diagnostics import IrError
from ...ir.meta import MetaNode
from ...ops.base import Operator, operators
from ..metadata import Metadata


def settle(value: Any, metadata: Metadata) -> Any:
    """`value` with attributes in place of every such record below it. Raises IrError if no operator has it."""
    if not _is_open(value):
        return value
    rebuilt: dict[int, Any] = {}
    stack = [value]
    while stack:
        v = stack[-1]
        below = [p for p in _parts(v) if id(p) not in rebuilt and _is_open(p)]
        if below:
            stack.extend(below)
            continue
        stack.pop()
        if id(v) not in rebuilt:
            rebuilt[id(v)] = _rebuilt(v, rebuilt, metadata)
    return rebuilt[id(value)]


def _parts(value: Any) -> tuple[Any, ...]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, dict):
        return tuple(value.values())
    return tuple(value.fields.values()) if isinstance(value, MetaNode) and not _is_record(value) else ()


def _is_record(value: Any) -> bool:
    return isinstance(value, MetaNode) and value.missing is None and value.type_key.startswith("relay.attrs.")


def _is_open(value: Any) -> bool:
    """True if such a record stands in `value`."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        v = stack.pop()
        if _is_record(v):
            return True
        if isinstance(v, tuple | dict | MetaNode) and id(v) not in seen:
            seen.add(id(v))
            stack.extend(_parts(v))
    return False


def _rebuilt(value: Any, objects: dict[int, Any], metadata: Metadata) -> Any:
    if _is_record(value):
        return _attributes(value, metadata)
    if isinstance(value, tuple):
        return tuple([objects.get(id(v), v) for v in value])
    if isinstance(value, dict):
        return {k: objects.get(id(v), v) for k, v in value.items()}
    return MetaNode(value.type_key, {k: objects.get(id(v), v) for k, v in value.fields.items()})


def _attributes(record: MetaNode, metadata: Metadata) -> Operator:
    error: IrError | None = None
    for operator in sorted(operators, key=lambda o: o.name):
        if operator.attrs_name == record.type_key:
            try:
                return operator.make(metadata.attributes(record, operator))
            except IrError as e:
                error = error or e
    raise error or IrError(f"no operator has the attributes {record.type_key}")
