"""TVM's JSON form of each object: its type key and its fields, in the order of TVM's class.

The order decides how nodes are numbered. A field is written in place, or is a node of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from ..ir.attributes import described
from ..ir.boxed_attributes import BOXED
from ..ir.meta import MetaNode, VirtualDevice
from .metadata import missing_reference, type_key


class Record:
    """One node as it is written: fields in TVM's order, or the parts of a list or map.

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
    """A field that is a node of its own. `listed` marks a string in a list: TVM's lists share theirs."""

    __slots__ = ("listed", "value")

    def __init__(self, value: Any, listed: bool = False) -> None:
        self.value = value
        self.listed = listed


class Tensor:
    """A field that is a tensor."""

    __slots__ = ("constant",)

    def __init__(self, constant: Constant) -> None:
        self.constant = constant


class Describer:
    """Makes the records of one section, and keeps the objects that its nodes share."""

    def __init__(self) -> None:
        self.nowhere = VirtualDevice()
        self.intrinsics: dict[str, Op] = {}

    def intrinsic(self, name: str) -> Op:
        """The node of an intrinsic: one for all its calls."""
        return self.intrinsics.setdefault(name, Op(f"tir.{name}", None))

    def describe(self, value: Any) -> Record:
        """The record of one node; of one that is missing, its number among those that are."""
        missing = missing_reference(value)
        if missing is not None:
            key, index = missing
            return Record(key, [("missing", str(index))])
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


def _integer(dtype: str) -> Callable[[Describer, Any], Record]:
    return lambda g, v: Record("IntImm", [("dtype", dtype), ("value", str(int(v))), ("span", "0")])


class _Wide:
    """A number inside arithmetic on dimensions, of the arithmetic's dtype."""

    __slots__ = ("dtype", "value")

    def __init__(self, value: Any, dtype: str) -> None:
        self.value = value
        self.dtype = dtype


def _wide(g: Describer, v: _Wide) -> Record:
    if v.dtype.startswith("float"):
        return _float(float(v.value), v.dtype)
    return Record("IntImm", [("dtype", v.dtype), ("value", str(int(v.value))), ("span", "0")])


def _float(v: float, dtype: str = "float32") -> Record:
    return Record("FloatImm", [("dtype", dtype), ("value", f"{v:.17g}"), ("span", "0")])


def _map(value: Mapping[Any, Any]) -> Record:
    if all(isinstance(k, str) for k in value):
        return Record("Map", parts=list(value.values()), keys=list(value))
    return Record("Map", parts=[part for pair in value.items() for part in pair])


def _dim_var(g: Describer, d: DimVar) -> Record:
    prim = MetaNode("PrimType", {"dtype": d.dtype})
    fields = [("dtype", d.dtype), ("name", Part(d.name)), ("type_annotation", Part(prim)), ("span", "0")]
    return Record(type_key(d), fields)


_OPERANDS = {"Cast": ("value",), "Not": ("a",), "Select": ("condition", "true_value", "false_value")}


def _dim_expr(g: Describer, d: DimExpr) -> Record:
    if type_key(d) == "tir.Call":
        called = ("op", Part(g.intrinsic(d.op)))
        return Record("tir.Call", [("dtype", d.dtype), called, ("args", Part(d.operands)), ("span", "0")])
    names = _OPERANDS.get(d.op, ("a", "b"))
    operands = [_Wide(o, d.dtype) if isinstance(o, int | float) and o.__class__ is not Int64 else o for o in d.operands]
    fields: list[tuple[str, Any]] = [("dtype", d.dtype)]
    fields += [(n, Part(o)) for n, o in zip(names, operands, strict=False)]
    return Record(f"tir.{d.op}", [*fields, ("span", "0")])


def _device(g: Describer, d: VirtualDevice) -> Record:
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
    "tir.IndexMap": ("initial_indices", "final_indices", "inverse_index_map"),
}


_PLAIN_NUMBERS = frozenset(("TargetKind", "PrimType", *_FIELD_ORDER))
"""Records whose numbers are fields written in place; in one that nothing is known of they could be taken for references."""


def _meta(g: Describer, m: MetaNode) -> Record:
    known = _FIELD_ORDER.get(m.type_key)
    order = known or tuple(sorted(m.fields))  # as they are read again
    # A field that TVM's class does not have was read as the plain value that it is, and stands behind the others.
    unknown = set(m.fields).difference(known) if known else set()
    fields: list[tuple[str, Any]] = []
    for name in (*order, *sorted(unknown)):
        if name not in m.fields:
            continue
        value = m.fields[name]
        in_place = m.type_key in _PLAIN_NUMBERS and isinstance(value, int | float)
        in_place = in_place or name in unknown or (m.type_key == "PrimType" and isinstance(value, str))
        fields.append((name, _plain(value) if in_place else Part(value)))
    return Record(m.type_key, fields)


def _attributes(attrs: Any) -> Record:
    """The attributes of an operator, defaults included."""
    key = type_key(attrs)
    boxed_names = BOXED.get(key, frozenset())
    fields: list[tuple[str, Any]] = []
    for name, value in described(attrs):
        optional = "None" in str(attrs.__dataclass_fields__[name].type)
        in_place = isinstance(value, int | float | str) and name not in boxed_names and not optional
        fields.append((name, _plain(value) if in_place else Part(value)))
    return Record(key, fields)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.17g}"
    return value if isinstance(value, str) else str(int(value))


def _type(key: str, *names: str) -> Callable[[Describer, Any], Record]:
    """A type whose parts are fields of the same names."""
    return lambda g, t: Record(key, [*((n, Part(getattr(t, n))) for n in names), ("span", "0")])


_KINDS = {"type": "0", "shape": "1", "base": "2", "constraint": "4"}


def _func_type(g: Describer, t: FuncType) -> Record:
    parts = (("arg_types", t.arg_types), ("ret_type", t.ret_type), ("type_params", t.type_params))
    return Record("FuncType", [*((n, Part(v)) for n, v in parts), ("type_constraints", Part(())), ("span", "0")])


_RECORDS: dict[type, Callable[[Describer, Any], Record]] = {
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
    Var: Describer.var,
    Constant: Describer.constant,
    GlobalVar: Describer.global_var,
    Op: lambda g, o: Record("Op", text=o.name),
    Call: lambda g, e: g.fields(e, "op", "args", "attrs", "type_args"),
    Tuple: lambda g, e: g.fields(e, "fields"),
    TupleGetItem: Describer.field_of_tuple,
    Function: Describer.function,
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
