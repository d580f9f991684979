"""The metadata section: the peer's JSON form of a graph of objects, with its layout and its numbering of nodes.

Node 0 is null; node 1 is the map from type key to list; every other node is numbered when the walk first meets it, before
its parts, and these come in the order in which the peer's class lists its fields. In the text the fields stand sorted.
Tensors are kept apart, as base64 of their binary form.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..ir import (
    ANY,
    Call,
    Constant,
    DimExpr,
    DimVar,
    Function,
    FuncType,
    GlobalTypeVar,
    GlobalVar,
    If,
    IncompleteType,
    Int64,
    Let,
    Op,
    RefType,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    TypeCall,
    TypeVar,
    Var,
)
from ..ir.boxed import BOXED
from ..ir.meta import MetaNode, VirtualDevice
from ..ir.ndarray import header
from .metadata import type_key

_CHUNK = 3 << 20
"""Bytes of a tensor that are turned into base64 at a time; a multiple of 3."""


class Record:
    """One node as it is written: fields in the peer's order, or the parts of a list or map.

    A field is either a string, written in place, or `Part`, a node that is referred to.
    """

    __slots__ = ("fields", "key", "keys", "parts", "text")

    def __init__(
        self,
        key: str,
        fields: list[tuple[str, Any]] | None = None,
        parts: list[Any] | None = None,
        keys: list[str] | None = None,
        text: str = "",
    ) -> None:
        self.key = key
        self.fields = fields or []
        self.parts = parts or []
        self.keys = keys or []
        self.text = text


class Part:
    """A field that is a node of its own. `listed` marks a string in a list: the peer's lists share theirs."""

    __slots__ = ("listed", "value")

    def __init__(self, value: Any, listed: bool = False) -> None:
        self.value = value
        self.listed = listed


class Tensor:
    """A field that is a tensor."""

    __slots__ = ("constant",)

    def __init__(self, constant: Constant) -> None:
        self.constant = constant


def section(entries: Mapping[str, list[Any]]) -> Iterator[str]:
    """The pieces of the section's text for these objects by type key."""
    graph = _Graph()
    # The peer gathers the lists in a hash table that gives them back last first.
    graph.index({key: tuple(entries[key]) for key in reversed(list(entries))})
    yield '{\n  "root": 1, \n  "nodes": [\n'
    for i, record in enumerate(graph.records):
        yield ("    " if i == 0 else ", \n    ") + graph.node_text(record)
    yield '\n  ], \n  "b64ndarrays": ['
    for i, constant in enumerate(graph.tensors):
        yield '\n    "' if i == 0 else ', \n    "'
        yield from _base64(constant)
        yield '"'
    yield "\n  ], \n" if graph.tensors else "], \n"
    yield '  "attrs": {"tvm_version": "0.10.0"}\n}'


def _base64(constant: Constant) -> Iterator[str]:
    """The base64 of a tensor, a piece at a time, so that it is never held as a whole in more than one form."""
    import numpy as np

    data = np.ascontiguousarray(constant.data)
    if data.dtype.byteorder == ">":
        data = data.astype(data.dtype.newbyteorder("<"))
    head = header(constant.data.shape, constant.dtype, data.nbytes)  # type: ignore[union-attr]
    body = data.reshape(-1).view(np.uint8) if data.size else np.empty(0, np.uint8)
    first = min(-len(head) % 3, len(body))
    yield binascii.b2a_base64(head + body[:first].tobytes(), newline=False).decode("ascii")
    for start in range(first, len(body), _CHUNK):
        yield binascii.b2a_base64(body[start : start + _CHUNK].data, newline=False).decode("ascii")


class _Graph:
    """Numbers the nodes below a root."""

    def __init__(self) -> None:
        self.records: list[Record] = [Record("")]
        self.tensors: list[Constant] = []
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []
        self.tensor_numbers: dict[int, int] = {}
        self.nowhere = VirtualDevice()
        self.intrinsics: dict[str, Op] = {}

    def index(self, root: Any) -> None:
        """Gives every node below `root` its record and number, in the peer's order."""
        stack = [Part(root)]
        while stack:
            part = stack.pop()
            value = part.value
            shared = not isinstance(value, _VALUES) or part.listed
            number = self.numbers.get(id(value)) if shared else None
            if value is None:
                number = 0
            if number is None:
                number = len(self.records)
                if shared:
                    self.numbers[id(value)] = number
                self.kept.append(value)
                record = self.describe(value)
                self.records.append(record)
                for i, (name, field) in enumerate(record.fields):
                    if isinstance(field, Tensor):
                        record.fields[i] = (name, str(self._tensor(field.constant)))
                parts = [f for _, f in record.fields if isinstance(f, Part)]
                record.parts = [Part(p, bool(p) and p.__class__ is str) for p in record.parts]
                stack.extend(reversed(parts + record.parts))
            part.value = number

    def _tensor(self, constant: Constant) -> int:
        known = self.tensor_numbers.get(id(constant.data))
        if known is None:
            known = self.tensor_numbers[id(constant.data)] = len(self.tensors)
            self.tensors.append(constant)
        return known

    def intrinsic(self, name: str) -> Op:
        """The node of an intrinsic: one for all its calls."""
        return self.intrinsics.setdefault(name, Op(f"tir.{name}", None))

    def describe(self, value: Any) -> Record:
        """The record of one node."""
        describe = _RECORDS.get(value.__class__)
        if describe is not None:
            return describe(self, value)
        if isinstance(value, dict | Mapping):
            return _map(value)
        if value is ANY:
            return Record("tir.Any", [("dtype", "int32"), ("span", "0")])
        if hasattr(value, "__dataclass_fields__"):
            return _attributes(value)
        raise TypeError(f"{type(value).__name__} has no form in a metadata section")

    def node_text(self, r: Record) -> str:
        """A node as the peer's JSON writer lays it out."""
        lines = [f'"type_key": {_quote(r.key)}']
        if r.text:
            if r.text.isascii() and r.text.isprintable():
                lines.append(f'"repr_str": {_quote(r.text)}')
            else:
                raw = r.text.encode("utf-8", "surrogateescape")
                lines.append(f'"repr_b64": "{base64.b64encode(struct.pack("<Q", len(raw)) + raw).decode("ascii")}"')
        if r.fields:
            fields = [
                f"{_quote(name)}: {_quote(str(value.value) if isinstance(value, Part) else value)}"
                for name, value in sorted(r.fields, key=lambda f: f[0])
            ]
            if len(fields) == 1:
                lines.append('"attrs": {' + fields[0] + "}")
            else:
                lines.append('"attrs": {\n        ' + ", \n        ".join(fields) + "\n      }")
        if r.keys:
            lines.append('"keys": [\n        ' + ", \n        ".join(map(_quote, r.keys)) + "\n      ]")
        if r.parts:
            numbers = [str(p.value) for p in r.parts]
            if len(numbers) > 10:
                lines.append('"data": [\n        ' + ", \n        ".join(numbers) + "\n      ]")
            else:
                lines.append(f'"data": [{", ".join(numbers)}]')
        return "{\n      " + ", \n      ".join(lines) + "\n    }"

    # expressions end with the device, the span and the type

    def _tail(self, e: Any) -> list[tuple[str, Any]]:
        device = getattr(e, "virtual_device", None)
        return [
            ("virtual_device_", Part(self.nowhere if device is None else device)),
            ("span", "0"),
            ("_checked_type_", Part(e.checked_type)),
        ]

    def var(self, v: Var) -> Record:
        vid = ("vid", Part(MetaNode("relay.Id", {"name_hint": v.name})))
        return Record("relay.Var", [vid, ("type_annotation", Part(v.type_annotation)), *self._tail(v)])

    def constant(self, c: Constant) -> Record:
        *tail, _ = self._tail(c)
        t = c.checked_type or c.type_annotation
        if isinstance(t, TensorType):
            t = TensorType(t.shape, t.dtype)  # each constant has a type of its own, whoever shares it here
        return Record("relay.Constant", [("data", Tensor(c)), *tail, ("_checked_type_", Part(t))])

    def fields(self, e: Any, *names: str) -> Record:
        parts = [(n, Part(getattr(e, n))) for n in names]
        return Record(f"relay.{type(e).__name__}", [*parts, *self._tail(e)])

    def field_of_tuple(self, e: TupleGetItem) -> Record:
        head = [("tuple_value", Part(e.tuple)), ("index", str(e.index))]
        return Record("relay.TupleGetItem", [*head, *self._tail(e)])

    def function(self, f: Function) -> Record:
        head = [
            ("params", Part(f.params)),
            ("body", Part(f.body)),
            ("ret_type", Part(f.ret_type)),
            ("type_params", Part(f.type_params)),
            ("attrs", Part(MetaNode("DictAttrs", {"__dict__": dict(f.attrs)}))),
        ]
        return Record("relay.Function", [*head, *self._tail(f)])

    def global_var(self, g: GlobalVar) -> Record:
        return Record("GlobalVar", [("name_hint", Part(g.name)), *self._tail(g)])


def _integer(dtype: str) -> Callable[[_Graph, Any], Record]:
    return lambda g, v: Record("IntImm", [("dtype", dtype), ("value", str(int(v))), ("span", "0")])


class _Wide:
    """A number inside arithmetic on dimensions, of the arithmetic's dtype."""

    __slots__ = ("dtype", "value")

    def __init__(self, value: Any, dtype: str) -> None:
        self.value = value
        self.dtype = dtype


def _wide(g: _Graph, v: _Wide) -> Record:
    if v.dtype.startswith("float"):
        return _float(float(v.value), v.dtype)
    return Record("IntImm", [("dtype", v.dtype), ("value", str(int(v.value))), ("span", "0")])


def _float(v: float, dtype: str = "float32") -> Record:
    return Record("FloatImm", [("dtype", dtype), ("value", f"{v:.17g}"), ("span", "0")])


def _map(value: Mapping[Any, Any]) -> Record:
    if all(isinstance(k, str) for k in value):
        return Record("Map", parts=list(value.values()), keys=list(value))
    return Record("Map", parts=[part for pair in value.items() for part in pair])


def _dim_var(g: _Graph, d: DimVar) -> Record:
    prim = MetaNode("PrimType", {"dtype": d.dtype})
    fields = [("dtype", d.dtype), ("name", Part(d.name)), ("type_annotation", Part(prim)), ("span", "0")]
    return Record(type_key(d), fields)


_OPERANDS = {"Cast": ("value",), "Not": ("a",), "Select": ("condition", "true_value", "false_value")}


def _dim_expr(g: _Graph, d: DimExpr) -> Record:
    if type_key(d) == "tir.Call":
        called = ("op", Part(g.intrinsic(d.op)))
        return Record("tir.Call", [("dtype", d.dtype), called, ("args", Part(d.operands)), ("span", "0")])
    names = _OPERANDS.get(d.op, ("a", "b"))
    operands = [_Wide(o, d.dtype) if isinstance(o, int | float) and o.__class__ is not Int64 else o for o in d.operands]
    fields: list[tuple[str, Any]] = [("dtype", d.dtype)]
    fields += [(n, Part(o)) for n, o in zip(names, operands, strict=False)]
    return Record(f"tir.{d.op}", [*fields, ("span", "0")])


def _device(g: _Graph, d: VirtualDevice) -> Record:
    return Record(
        "VirtualDevice",
        [
            ("device_type_int", str(d.device_type)),
            ("virtual_device_id", str(d.virtual_device_id)),
            ("target", Part(d.target)),
            ("memory_scope", Part(d.memory_scope)),
        ],
    )


_FIELD_ORDER = {
    "Target": ("kind", "tag", "keys", "attrs", "features", "host"),
    "TargetKind": ("name", "device_type", "default_keys"),
}


def _meta(g: _Graph, m: MetaNode) -> Record:
    order = _FIELD_ORDER.get(m.type_key, tuple(m.fields))
    fields: list[tuple[str, Any]] = []
    for name in order:
        if name not in m.fields:
            continue
        value = m.fields[name]
        in_place = isinstance(value, int | float) or (m.type_key == "PrimType" and isinstance(value, str))
        fields.append((name, _plain(value) if in_place else Part(value)))
    return Record(m.type_key, fields)


def _attributes(attrs: Any) -> Record:
    """The attributes of an operator, defaults included."""
    key = type_key(attrs)
    boxed = BOXED.get(key, frozenset())
    fields: list[tuple[str, Any]] = []
    for name, hint in attrs.__dataclass_fields__.items():
        value = getattr(attrs, name)
        optional = "None" in str(hint.type)
        in_place = isinstance(value, int | float | str) and name not in boxed and not optional
        fields.append((name, _plain(value) if in_place else Part(value)))
    return Record(key, fields)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.17g}"
    return value if isinstance(value, str) else str(int(value))


def _type(key: str, *names: str) -> Callable[[_Graph, Any], Record]:
    """A type whose parts are fields of the same names."""
    return lambda g, t: Record(key, [*((n, Part(getattr(t, n))) for n in names), ("span", "0")])


_KINDS = {"type": "0", "shape": "1", "base": "2", "constraint": "4"}


def _func_type(g: _Graph, t: FuncType) -> Record:
    parts = (("arg_types", t.arg_types), ("ret_type", t.ret_type), ("type_params", t.type_params))
    return Record("FuncType", [*((n, Part(v)) for n, v in parts), ("type_constraints", Part(())), ("span", "0")])


_RECORDS: dict[type, Callable[[_Graph, Any], Record]] = {
    str: lambda g, v: Record("runtime.String", text=v),
    bool: _integer("bool"),
    int: _integer("int32"),
    Int64: _integer("int64"),
    float: lambda g, v: _float(v),
    _Wide: _wide,
    tuple: lambda g, v: Record("Array", parts=list(v)),
    list: lambda g, v: Record("Array", parts=list(v)),
    DimVar: _dim_var,
    DimExpr: _dim_expr,
    VirtualDevice: _device,
    MetaNode: _meta,
    Var: _Graph.var,
    Constant: _Graph.constant,
    GlobalVar: _Graph.global_var,
    Op: lambda g, o: Record("Op", text=o.name),
    Call: lambda g, e: g.fields(e, "op", "args", "attrs", "type_args"),
    Tuple: lambda g, e: g.fields(e, "fields"),
    TupleGetItem: _Graph.field_of_tuple,
    Function: _Graph.function,
    Let: lambda g, e: g.fields(e, "var", "value", "body"),
    If: lambda g, e: g.fields(e, "cond", "true_branch", "false_branch"),
    TensorType: lambda g, t: Record("relay.TensorType", [("shape", Part(t.shape)), ("dtype", t.dtype), ("span", "0")]),
    TupleType: _type("TupleType", "fields"),
    FuncType: _func_type,
    RefType: _type("relay.RefType", "value"),
    TypeCall: _type("TypeCall", "func", "args"),
    TypeVar: lambda g, t: Record("TypeVar", [("name_hint", Part(t.name)), ("kind", _KINDS[t.kind]), ("span", "0")]),
    GlobalTypeVar: lambda g, t: Record("GlobalTypeVar", [("name_hint", Part(t.name)), ("kind", "5")]),
    IncompleteType: lambda g, t: Record("IncompleteType", [("kind", _KINDS[t.kind]), ("span", "0")]),
}

_VALUES = (int, float, str, tuple, list, type(ANY))
"""What is written again wherever it stands; all else is written once and referred to."""


def _quote(text: str) -> str:
    """A JSON string."""
    if '"' in text or "\\" in text or not text.isprintable():
        for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
            text = text.replace(plain, escaped)
    return f'"{text}"'
