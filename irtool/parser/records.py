"""The object for each of TVM's records in a metadata section, and the fields that refer to other records."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..ir import (
    ANY,
    Call,
    Constant,
    Constructor,
    DimExpr,
    DimVar,
    Expr,
    Function,
    FuncType,
    GlobalTypeVar,
    GlobalVar,
    If,
    IncompleteType,
    Int64,
    Let,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    Var,
)
from ..ir.dims import is_dimension
from ..ir.dtypes import read_dtype
from ..ir.meta import MetaNode, VirtualDevice

if TYPE_CHECKING:
    from ..ops.base import Operator

_KINDS = {"0": "type", "1": "shape", "2": "base", "4": "constraint"}
_BINARY = frozenset(
    "Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE And Or".split()  # noqa: SIM905
)


class Records(Protocol):
    """The records of a section and the objects made of them so far, by number."""

    objects: dict[int, Any]

    def tensor(self, number: int) -> tuple[Any, str]: ...

    def attributes(self, node: MetaNode, operator: type[Operator]) -> dict[str, Any]: ...


class Fields:
    """The fields of a record by name: `ref` follows a reference, `[]` is the plain text."""

    def __init__(self, attrs: dict[str, Any], metadata: Records) -> None:
        self.attrs = attrs
        self.metadata = metadata

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.attrs.get(name, default)

    def ref(self, name: str) -> Any:
        number = int(self.attrs[name])
        return self.metadata.objects[number]

    def opt(self, name: str) -> Any:
        return self.ref(name) if name in self.attrs else None

    def expr(self, name: str) -> Expr:
        value = self.ref(name)
        if not isinstance(value, Expr):
            raise ValueError(f"{name} is not an expression")
        return value

    def kind(self, name: str, kind: Any) -> Any:
        value = self.ref(name)
        if not isinstance(value, kind):
            raise ValueError(f"{name} is a {type(value).__name__}")
        return value

    def items(self, name: str, kind: Any) -> tuple:
        values = self.kind(name, tuple)
        if not all(isinstance(v, kind) for v in values):
            raise ValueError(f"{name} holds a {next(type(v).__name__ for v in values if not isinstance(v, kind))}")
        return values

    def device(self) -> VirtualDevice | None:
        device = self.opt("virtual_device_")
        if not isinstance(device, VirtualDevice | None):
            raise ValueError("its virtual_device_ is not a VirtualDevice")
        return None if device is None or device == VirtualDevice() else device


def plain_value(text: Any) -> Any:
    """A field's text as the number that it is, or as it stands."""
    if not isinstance(text, str):
        return text
    if re.fullmatch(r"-?[0-9]{1,19}", text) and text != "-0":  # which is a float
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def string_of(record: dict[str, Any]) -> str:
    """The text of a string node; text with unusual characters is in base64 behind its length."""
    if "repr_b64" in record:
        raw = binascii.a2b_base64(record["repr_b64"])
        return raw[8:].decode("utf-8", "surrogateescape")
    text = record.get("repr_str", "")
    if not isinstance(text, str):
        raise ValueError("its text is not a string")
    return text


def _op(name: str) -> Any:
    from ..ops.base import op, operators

    return op(name) if operators.find(name) is not None else MetaNode("Op", {"name": name})


NAMED: dict[str, Callable[[str], Any]] = {
    "runtime.String": lambda text: text,
    "Op": _op,
    "SourceName": lambda text: None,
    "GlobalVar": lambda text: GlobalVar(text),
    # Since 0.18 numbers among attributes may be objects of their own: `split`'s indices_or_sections.
    "runtime.BoxInt": int,
    "runtime.BoxFloat": float,
    "runtime.BoxBool": lambda text: text == "true",
}

NUMBERS = frozenset(["IntImm", "FloatImm"])
_TYPED = ("_checked_type_", "virtual_device_")
REFERENCES: dict[str, tuple[str, ...]] = {
    "": (),
    "runtime.String": (),
    "runtime.BoxInt": (),
    "runtime.BoxFloat": (),
    "runtime.BoxBool": (),
    "Op": (),
    "SourceName": (),
    "Span": (),
    "IntImm": (),
    "FloatImm": (),
    "PrimType": (),
    "IncompleteType": (),
    "relay.Id": ("name_hint",),
    "relay.Constant": _TYPED,
    "relay.Var": ("vid", "type_annotation", *_TYPED),
    "GlobalVar": ("name_hint", *_TYPED),
    "relay.Tuple": ("fields", *_TYPED),
    "relay.TupleGetItem": ("tuple_value", *_TYPED),
    "relay.Call": ("op", "args", "attrs", "type_args", *_TYPED),
    "relay.Function": ("params", "body", "ret_type", "type_params", "attrs", *_TYPED),
    "relay.Let": ("var", "value", "body", *_TYPED),
    "relay.If": ("cond", "true_branch", "false_branch", *_TYPED),
    "relay.RefCreate": ("value", *_TYPED),
    "relay.RefRead": ("ref", *_TYPED),
    "relay.RefWrite": ("ref", "value", *_TYPED),
    "relay.Constructor": ("name_hint", "inputs", "belong_to"),
    "relay.TensorType": ("shape",),
    "TupleType": ("fields",),
    "FuncType": ("arg_types", "ret_type", "type_params"),
    "relay.RefType": ("value",),
    "TypeCall": ("func", "args"),
    "TypeVar": ("name_hint",),
    "GlobalTypeVar": ("name_hint",),
    "VirtualDevice": ("target", "memory_scope"),
    "Target": ("kind", "tag", "keys", "attrs", "features", "host"),
    "TargetKind": ("name", "default_keys"),
    "DictAttrs": ("__dict__",),
    "Executor": ("name", "attrs"),
    "Runtime": ("name", "attrs"),
    "tir.IndexMap": ("initial_indices", "final_indices", "inverse_index_map"),
}
TIR_REFERENCES = ("name", "a", "b", "value", "condition", "true_value", "false_value", "op", "args")


def _integer(f: Fields) -> Any:
    value, dtype = int(f["value"]), f["dtype"]
    if dtype == "bool":
        return bool(value)
    return Int64(value) if dtype == "int64" else value


def _tensor_type(f: Fields) -> TensorType:
    shape, dtype = f.kind("shape", tuple), read_dtype(f["dtype"])
    wrong = [d for d in shape if not is_dimension(d)]
    if wrong:
        raise ValueError("a dimension is a number from 0 to 2^63 - 1")
    if dtype is None:
        raise ValueError("its dtype is not a dtype")
    return TensorType(shape, dtype)


def _constant(f: Fields) -> Constant:
    array, dtype = f.metadata.tensor(int(f["data"]))
    checked = f.opt("_checked_type_")
    # a constant whose type TVM had widened (a dimension `?`) keeps it
    widened = isinstance(checked, TensorType) and (checked.shape != array.shape or checked.dtype != dtype)
    return Constant(array, dtype, checked if widened else None)


def _device(f: Fields) -> VirtualDevice:
    target = f.opt("target")
    if not isinstance(target, MetaNode | None):
        raise ValueError("its target is not a Target")
    return VirtualDevice(int(f["device_type_int"]), int(f["virtual_device_id"]), target, f.kind("memory_scope", str))


def _function(f: Fields) -> Function:
    attrs = f.opt("attrs")
    attributes = attrs.fields.get("__dict__") if isinstance(attrs, MetaNode) else attrs
    return Function(
        f.items("params", Var),
        f.expr("body"),
        f.ref("ret_type"),
        f.items("type_params", TypeVar),
        dict(attributes or {}),
        None,
        None,
        f.device(),
    )


def _record_of(key: str) -> Callable[[Fields], MetaNode]:
    references = REFERENCES[key]
    return lambda f: MetaNode(key, {n: f.ref(n) if n in references else plain_value(v) for n, v in f.attrs.items()})


def _call(f: Fields) -> Call:
    from ..ir import Op

    function, attrs = f.ref("op"), f.opt("attrs")
    if not isinstance(function, Expr):
        raise ValueError("its callee is not an expression")
    if isinstance(function, Op):
        attributes = f.metadata.attributes(attrs, function.operator) if isinstance(attrs, MetaNode) else {}
        attrs = function.operator.make(attributes)
    elif isinstance(attrs, MetaNode):
        from ..ir import DictAttrs

        attrs = DictAttrs(attrs.fields.get("__dict__") or {})
    return Call(function, f.items("args", Expr), attrs, f.items("type_args", Type) if "type_args" in f.attrs else ())


BUILDERS: dict[str, Callable[[Fields], Any]] = {
    "Span": lambda f: None,
    "IntImm": _integer,
    "FloatImm": lambda f: float(f["value"]),
    "PrimType": lambda f: MetaNode("PrimType", {"dtype": f["dtype"]}),
    "relay.Id": lambda f: f.kind("name_hint", str),
    "relay.Constant": _constant,
    "relay.Var": lambda f: Var(f.kind("vid", str), f.opt("type_annotation"), None, None, f.device()),
    "GlobalVar": lambda f: GlobalVar(f.kind("name_hint", str)),
    "relay.Tuple": lambda f: Tuple(f.items("fields", Expr)),
    "relay.TupleGetItem": lambda f: TupleGetItem(f.expr("tuple_value"), int(f["index"])),
    "relay.Call": _call,
    "relay.Function": _function,
    "relay.Let": lambda f: Let(f.kind("var", Var), f.expr("value"), f.expr("body")),
    "relay.If": lambda f: If(f.expr("cond"), f.expr("true_branch"), f.expr("false_branch")),
    "relay.RefCreate": lambda f: RefCreate(f.expr("value")),
    "relay.RefRead": lambda f: RefRead(f.expr("ref")),
    "relay.RefWrite": lambda f: RefWrite(f.expr("ref"), f.expr("value")),
    "relay.Constructor": lambda f: Constructor(
        f.kind("name_hint", str), f.items("inputs", Type), f.kind("belong_to", GlobalTypeVar), int(f.get("tag", -1))
    ),
    "relay.TensorType": _tensor_type,
    "TupleType": lambda f: TupleType(f.items("fields", Type)),
    "FuncType": lambda f: FuncType(
        f.items("arg_types", Type), f.kind("ret_type", Type), f.items("type_params", TypeVar)
    ),
    "relay.RefType": lambda f: RefType(f.kind("value", Type)),
    "TypeCall": lambda f: TypeCall(f.kind("func", Type), f.items("args", Type)),
    "TypeVar": lambda f: TypeVar(f.kind("name_hint", str), _KINDS.get(f.get("kind"), "type")),
    "GlobalTypeVar": lambda f: GlobalTypeVar(f.kind("name_hint", str)),
    "IncompleteType": lambda f: IncompleteType(_KINDS.get(f.get("kind"), "type")),
    "VirtualDevice": _device,
    "tir.Any": lambda f: ANY,
    "tir.Var": lambda f: DimVar(f.kind("name", str), f["dtype"], False),
    "tir.SizeVar": lambda f: DimVar(f.kind("name", str), f["dtype"], True),
    "tir.StringImm": lambda f: f.kind("value", str),
    "Target": _record_of("Target"),
    "TargetKind": _record_of("TargetKind"),
    "DictAttrs": lambda f: MetaNode("DictAttrs", {"__dict__": f.ref("__dict__")}),
    "Executor": _record_of("Executor"),
    "Runtime": _record_of("Runtime"),
    "tir.IndexMap": _record_of("tir.IndexMap"),
}


def build_arithmetic(name: str, f: Fields) -> DimExpr:
    """Arithmetic on dimensions: `tir.Add` is `DimExpr("Add", …)`, a call of `tir.round` is `DimExpr("round", …)`."""
    if name in _BINARY:
        return DimExpr(name, (f.ref("a"), f.ref("b")), f["dtype"])
    if name == "Not":
        return DimExpr(name, (f.ref("a"),), f["dtype"])
    if name == "Cast":
        return DimExpr(name, (f.ref("value"),), f["dtype"])
    if name == "Select":
        return DimExpr(name, (f.ref("condition"), f.ref("true_value"), f.ref("false_value")), f["dtype"])
    if name == "Call":
        called = f.ref("op")
        called = called.fields["name"] if isinstance(called, MetaNode) else called.name
        return DimExpr(called.removeprefix("tir."), f.kind("args", tuple), f["dtype"])
    raise ValueError("it is no arithmetic on dimensions")
