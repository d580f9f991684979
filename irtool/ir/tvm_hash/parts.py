"""The hashed contents of each node of TVM: its type key, and its parts in TVM's order.

A part is an `int`, which is a hash already; None, where TVM has a null reference; a node, which is hashed in turn; a
`Definition`, a node in which variables are bound; or a `FreeVariable`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...plugin import type_hints
from ..adt import Clause, PatternConstructor, PatternTuple, PatternVar, PatternWildcard, TypeData
from ..attributes import described
from ..boxed_attributes import BOXED
from ..dims import ANY, DimExpr, DimVar, Int64
from ..expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    MissingData,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from ..meta import MetaNode, VirtualDevice
from ..types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from .values import dtype, float_node, integer, integer_node, real, string_node, tensor_node, text


class Node(NamedTuple):
    """The hashed parts of a node of TVM. `shared`: whether it counts by identity."""

    type_key: str
    shared: bool
    parts: tuple[Any, ...]


class Definition:
    """A part in which variables are bound."""

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        self.node = node


class FreeVariable:
    """The hashed part of a free variable. `key` keeps its address."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key


class Name(NamedTuple):
    """The key of a global name: a module of TVM has one object for each name."""

    name: str


def identity(node: Any) -> Any:
    """The key of a node's remembered hash, or None for lists and attributes, which belong to one node."""
    cls = node.__class__
    if cls is tuple or cls is Node:
        return None
    if cls is GlobalVar:
        return Name(node.name)
    return node if isinstance(node, _REMEMBERED) else None


def describe(node: Any) -> Node:
    """The type key of a node, whether it counts by identity, and its parts."""
    if node.__class__ is Node:
        return node
    node_of = _NODES.get(node.__class__)
    if node_of is not None:
        return node_of(node)
    if node is ANY:
        return Node("tir.Any", False, ())
    if isinstance(node, Mapping):
        return _map(node)
    return _attributes(node)


def _part(value: Any) -> Any:
    """A value that is a node of its own in TVM, as a part."""
    cls = value.__class__
    if cls is str:
        return string_node(value)
    if cls is bool:
        return integer_node(int(value), "bool")
    if cls is int:
        return integer_node(value, "int32" if -(1 << 31) <= value < 1 << 31 else "int64")
    if cls is Int64:
        return integer_node(int(value), "int64")
    if cls is float:
        return float_node(value)
    return value


def _array(values: tuple[Any, ...] | list[Any]) -> Node:
    return Node("Array", False, (len(values), *map(_part, values)))


def _map(values: Mapping[Any, Any]) -> Node:
    """Maps by strings are sorted by them. Of others only the size counts: their keys are nodes that nothing else binds."""
    if not all(isinstance(k, str) for k in values):
        return Node("Map", False, (len(values),))
    key_values = [part for k in sorted(values, key=lambda k: k.encode()) for part in (string_node(k), _part(values[k]))]
    return Node("Map", False, (len(values), *key_values))


def _attributes(attrs: Any) -> Node:
    """Attributes of a call, defaults included. Numbers and strings stand in place or are nodes, by TVM's class."""
    if not hasattr(attrs, "__dataclass_fields__"):
        return Node(type(attrs).__name__, False, (text(repr(attrs)),))
    key = getattr(attrs, "attrs_name", "") or type(attrs).__name__
    hints = type_hints(type(attrs))
    boxed_names = BOXED.get(key, frozenset())
    return Node(key, False, tuple(_field(v, hints[n], n in boxed_names) for n, v in described(attrs)))


def _field(value: Any, hint: Any, is_boxed: bool) -> Any:
    if not is_boxed and value is not None:
        if hint is int or hint is bool:
            return integer(value) if isinstance(value, int) else value
        if hint is float:
            return real(float(value))
        if hint is str:
            return text(value)
        if getattr(hint, "__supertype__", None) is str:
            return dtype(value)
    return _part(value)


def _constant(e: Constant) -> Node:
    if isinstance(e.data, MissingData):
        return Node("relay.Constant", False, (text(e.data.key), e.data.index))
    return Node("relay.Constant", False, (tensor_node(e.data, e.dtype),))


def _tuple(e: Tuple) -> Node:
    return Node("relay.Tuple", bool(e.fields), (e.fields,) if e.fields else ())


def _call(e: Call) -> Node:
    attrs = e.attrs
    if isinstance(e.op, Op):
        named = getattr(attrs, "attrs_name", "")
        return Node("relay.Call", True, (e.op, e.args, attrs if named else None))
    return Node("relay.Call", True, (e.op, e.args, _dictionary(attrs) if attrs else None, e.type_args))


def _dictionary(attrs: Any) -> Any:
    return Node("DictAttrs", False, (dict(attrs),)) if isinstance(attrs, Mapping) else attrs


def _function(f: Function) -> Node:
    attrs = _dictionary(f.attrs) if f.attrs else None
    parts = (Definition(f.params), Definition(f.type_params), f.ret_type, attrs, f.body)
    return Node("relay.Function", True, parts)


def _variable(v: Var) -> Node:
    return Node("relay.Var", True, (v.type_annotation, Node("relay.Id", False, (FreeVariable(v),))))


_KINDS = {"type": 0, "shape": 1, "base": 1, "constraint": 1}
"""TVM hashes a kind as a truth value: whether it is another one than the kind of types."""


def _dim_expr(d: DimExpr) -> Node:
    operands = tuple(_operand(o, d.dtype) for o in d.operands)
    if d.op[0].islower():
        called = Node("Op", False, (string_node(f"tir.{d.op}"),))
        return Node("tir.Call", False, (dtype(d.dtype), called, _array(operands)))
    return Node(f"tir.{d.op}", False, (dtype(d.dtype), *operands))


def _operand(value: Any, of: str) -> Any:
    if value.__class__ is int:
        return float_node(value, of) if of.startswith("float") else integer_node(value, of)
    return float_node(value, of) if value.__class__ is float else _part(value)


def _dim_var(d: DimVar) -> Node:
    annotation = Node("PrimType", False, (dtype(d.dtype),))
    return Node("tir.SizeVar" if d.nonnegative else "tir.Var", False, (dtype(d.dtype), annotation, FreeVariable(d)))


def _device(d: VirtualDevice) -> Node:
    numbers = integer(d.device_type), integer(d.virtual_device_id)
    return Node("VirtualDevice", False, (*numbers, d.target, string_node(d.memory_scope)))


def _record(m: MetaNode) -> Node:
    if m.type_key == "Target":
        return Node("Target", False, tuple(_part(m.fields.get(n)) for n in ("kind", "host", "tag", "keys", "attrs")))
    if m.type_key == "TargetKind":
        return Node("TargetKind", False, (_part(m.fields.get("name")),))
    return Node(m.type_key, False, tuple(_part(v) for v in m.fields.values()))


_REMEMBERED = (Expr, Type, DimExpr, DimVar)

_NODES: dict[type, Callable[[Any], Node]] = {
    tuple: _array,
    list: _array,
    Var: _variable,
    GlobalVar: lambda e: Node("GlobalVar", False, (string_node(e.name), FreeVariable(Name(e.name)))),
    Constant: _constant,
    Op: lambda e: Node("Op", False, (string_node(e.name),)),
    Constructor: lambda e: Node("relay.Constructor", False, (string_node(e.name), e.inputs)),
    Tuple: _tuple,
    TupleGetItem: lambda e: Node("relay.TupleGetItem", False, (e.tuple, e.index)),
    Call: _call,
    Function: _function,
    Let: lambda e: Node("relay.Let", True, (Definition(e.var), e.value, e.body)),
    If: lambda e: Node("relay.If", True, (e.cond, e.true_branch, e.false_branch)),
    Match: lambda e: Node("relay.Match", True, (e.data, e.clauses, int(e.complete))),
    Clause: lambda c: Node("relay.Clause", False, (c.pattern, c.body)),
    PatternWildcard: lambda p: Node("relay.PatternWildcard", False, ()),
    PatternVar: lambda p: Node("relay.PatternVar", False, (Definition(p.var),)),
    PatternConstructor: lambda p: Node("relay.PatternConstructor", False, (p.constructor, p.patterns)),
    PatternTuple: lambda p: Node("relay.PatternTuple", False, (p.patterns,)),
    RefCreate: lambda e: Node("relay.RefCreate", True, (e.value,)),
    RefRead: lambda e: Node("relay.RefRead", True, (e.ref,)),
    RefWrite: lambda e: Node("relay.RefWrite", True, (e.ref, e.value)),
    TypeData: lambda t: Node("relay.TypeData", False, (Definition(t.header), Definition(t.type_vars), t.constructors)),
    TensorType: lambda t: Node("relay.TensorType", False, (t.shape, dtype(t.dtype))),
    TupleType: lambda t: Node("TupleType", False, (t.fields,)),
    FuncType: lambda t: Node("FuncType", False, (Definition(t.type_params), t.arg_types, t.ret_type, ())),
    RefType: lambda t: Node("relay.RefType", False, (t.value,)),
    TypeCall: lambda t: Node("TypeCall", False, (t.func, t.args)),
    TypeVar: lambda t: Node("TypeVar", False, (_KINDS[t.kind], FreeVariable(t))),
    GlobalTypeVar: lambda t: Node("GlobalTypeVar", False, (string_node(t.name), FreeVariable(t))),
    IncompleteType: lambda t: Node("IncompleteType", False, (_KINDS[t.kind],)),
    DimVar: _dim_var,
    DimExpr: _dim_expr,
    VirtualDevice: _device,
    MetaNode: _record,
}
