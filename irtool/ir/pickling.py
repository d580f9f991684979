"""Pickling of modules, expressions and types of any depth.

What hangs below an object becomes a flat list of records, parts before wholes, so neither pickling nor reading back recurses. What
is shared stays shared within one pickled object. Places in the source (`span`) are left out; operators are kept by name; hashes
of types, which differ from process to process, are computed anew.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Mapping
from typing import Any

from ..hooks import Hook
from .dims import ANY, DimExpr
from .expr import Op
from .types import Type

_operator: Hook[..., Any] = Hook("ir.operator")
_operator_type: Hook[..., Any] = Hook("ir.operator_type")
_operators: Hook[..., Any] = Hook("ir.operators")
_op: Hook[[str], Op] = Hook("ir.op")

_LITERALS = (str, int, float, bytes, bool, type(None), enum.Enum, type, type(ANY))
_SKIPPED = ("__weakref__", "__dict__", "span", "_constructors", "_hash")


def freeze(root: Any) -> tuple[Any, tuple[list[Any]]]:
    """`root` as the function and the argument that `pickle` keeps."""
    records: list[Any] = []
    index: dict[int, int] = {}
    frozen: list[Any] = []
    stack: list[tuple[Any, Any]] = [(root, None)]
    while stack:
        value, plan = stack.pop()
        if id(value) in index:
            continue
        if plan is None:
            plan = _plan(value)
            stack.append((value, plan))
            stack.extend((p, None) for p in reversed(plan[2]) if not _is_literal(p))
            continue
        kind, head, parts = plan
        index[id(value)] = len(records)
        frozen.append(value)
        records.append((kind, head, [(p,) if _is_literal(p) else index[id(p)] for p in parts]))
    return thaw, (records,)


def thaw(records: list[Any]) -> Any:
    """The value from its records; the inverse of `freeze`."""
    objects: list[Any] = []
    for kind, head, parts in records:
        values = [objects[p] if p.__class__ is int else p[0] for p in parts]
        objects.append(_MAKE[kind](head, values))
    return objects[-1]


def _is_literal(value: Any) -> bool:
    return isinstance(value, _LITERALS) or hasattr(value, "__array__")


def _plan(value: Any) -> tuple[str, Any, list[Any]]:
    """The record of a value: its kind, its head, and its parts."""
    if isinstance(value, tuple | list | frozenset | set) and type(value) in _PLAIN:
        return "sequence", type(value), list(value)
    if isinstance(value, dict):
        return "mapping", type(value), [*value.keys(), *value.values()]
    if isinstance(value, Op):
        return "op", value.name, []
    if isinstance(value, _operator_type.get()):
        return "type of op", value.operator.name, []
    if isinstance(value, _operator.get()):
        names = [f.name for f in value.fields()]
        return "attributes", (value.name, names), [getattr(value, n) for n in names]
    if isinstance(value, Type | DimExpr):
        names = [n for n in inspect.signature(type(value)).parameters if n != "span"]
        return "value", (type(value), names), [getattr(value, n) for n in names]
    if type(value).__module__.split(".")[0] != "irtool":
        return "sequence", list, _refuse(value)
    names = [n for c in type(value).__mro__ for n in getattr(c, "__slots__", ()) if n not in _SKIPPED]
    names += [n for n in getattr(value, "__dict__", ()) if n not in _SKIPPED]
    names = [n for n in dict.fromkeys(names) if hasattr(value, n)]
    return "object", (type(value), names), [getattr(value, n) for n in names]


def _refuse(value: Any) -> list[Any]:
    raise TypeError(f"a {type(value).__name__} in an expression cannot be pickled")


def _object(head: tuple[type, list[str]], values: list[Any]) -> Any:
    cls, names = head
    result: Any = object.__new__(cls)
    for name in ("span", "_constructors"):
        if any(name in getattr(c, "__slots__", ()) for c in cls.__mro__):
            object.__setattr__(result, name, None)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(result, name, value)
    return result


def _attributes(head: tuple[str, list[str]], values: list[Any]) -> Any:
    return _object((_operators.get().get(head[0]), head[1]), values)


def _mapping(cls: type, values: list[Any]) -> Mapping[Any, Any]:
    half = len(values) // 2
    return cls(zip(values[:half], values[half:], strict=True))


_PLAIN = (tuple, list, frozenset, set)
_MAKE: dict[str, Any] = {
    "sequence": lambda cls, values: cls(values),
    "mapping": _mapping,
    "op": lambda name, values: _op(name),
    "type of op": lambda name, values: _op(name).checked_type,
    "attributes": _attributes,
    "value": lambda head, values: head[0](**dict(zip(head[1], values, strict=True))),
    "object": _object,
}
