"""The metadata section at the end of a text: a graph of the peer's records as JSON, tensors in base64.

`nodes` is a list of records; a record refers to others by their numbers, number 0 is null. Which of a record's fields are such
references and which are plain values its type key decides; for operator attributes the operator's own fields do. Records are
made into IR nodes when they are asked for, without recursion, each once: what is shared in the section is shared in the IR.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..diagnostics import IrError, Span
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
    MissingData,
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
from ..ir.boxed import BOXED
from ..ir.meta import MetaNode, VirtualDevice
from ..ir.ndarray import decode

if TYPE_CHECKING:
    from ..ops.base import Operator

_HEADER = re.compile(r"^#\[\s*metadata\s*\]", re.MULTILINE)
_KINDS = {"0": "type", "1": "shape", "2": "base", "4": "constraint"}
_BINARY = frozenset(
    "Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE And Or".split()  # noqa: SIM905
)


def find_section(text: str) -> int:
    """Where the metadata section of a text starts, or -1. It goes to the end of the text."""
    at = text.find("#[metadata]")
    if at < 0 or (at > 0 and text[at - 1] != "\n"):
        match = _HEADER.search(text) if "metadata" in text else None
        return match.start() if match is not None else -1
    return at


def read_index(word: str) -> tuple[str, int | None]:
    """Type key and index of `meta[key][index]`."""
    key, _, index = word[5:-1].partition("][")
    return key, int(index) if index.isdecimal() and len(index) < 10 else None


class Metadata:
    """What the section of one text holds; `get` makes the objects."""

    def __init__(self, text: str = "", start: int = -1) -> None:
        """Reads the section that starts at offset `start` of `text` (-1: there is none). Raises IrError if it is damaged."""
        self.is_present = start >= 0
        self.nodes: list[dict[str, Any]] = []
        self.tensors: list[Any] = []
        self.entries: dict[str, list[int]] = {}
        self._made: dict[int, Any] = {}
        self._attributes: dict[int, Any] = {}
        self._claimed: set[int] | None = None
        self._missing: dict[tuple[str, int], Any] = {}
        if start >= 0:
            self._read(text, text.index("]", start) + 1)

    @property
    def missing(self) -> int:
        """How many references point into a section that is not there."""
        return len(self._missing)

    def _read(self, text: str, start: int) -> None:
        while start < len(text) and text[start].isspace():
            start += 1
        try:
            graph, end = json.JSONDecoder(strict=False).raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "it is nested too deeply")
            raise IrError(f"the metadata section is not JSON: {reason}") from None
        if text[end : end + 64].strip():
            raise IrError("the metadata section is followed by other text")
        try:
            self.nodes = graph["nodes"]
            self.tensors = graph.get("b64ndarrays", [])
            root = self.nodes[int(graph["root"])]
            if not isinstance(self.nodes, list) or not isinstance(self.tensors, list):
                raise TypeError
            if root["type_key"] != "Map":
                raise KeyError
            for key, array in zip(root.get("keys", ()), root.get("data", ()), strict=True):
                self.entries[key] = list(map(int, self.nodes[array].get("data", ())))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise IrError("the metadata section is not a map from type keys to lists of nodes") from None

    def get(self, key: str, index: int) -> Any:
        """The object behind `meta[key][index]`. Raises IrError where there is none, or it is damaged."""
        entries = self.entries.get(key)
        if entries is None:
            from ..diagnostics import nearest

            raise IrError(f"the metadata section has no {key}", help=nearest(key, self.entries))
        if index >= len(entries):
            raise IrError(f"the metadata section has {len(entries)} of {key}; there is no number {index}")
        return self.make(entries[index])

    def unused(self) -> None:
        """What must be kept to print the section again: nothing, every entry is referred to by the text."""
        return None

    def missing_constant(self, index: int, find_type: Callable[[], Type | None], span: Span) -> Constant:
        """The constant of that number in a section that is not there: the same object each time."""
        key = ("relay.Constant", index)
        made = self._missing.get(key)
        if made is None:
            known = find_type()
            dtype = known.dtype if isinstance(known, TensorType) else ""
            made = self._missing[key] = Constant(MissingData(index), dtype, known, span)
        elif made.type_annotation is None:
            known = find_type()
            if known is not None:
                made.type_annotation = known
                made.dtype = known.dtype if isinstance(known, TensorType) else ""
        return made

    def missing_dim(self, key: str, index: int) -> DimVar:
        """The symbolic dimension of that number in a section that is not there: the same object each time."""
        made = self._missing.get((key, index))
        if made is None:
            made = self._missing[key, index] = DimVar(f"{key.rsplit('.', 1)[1]}_{index}", "int32", key == "tir.SizeVar")
        return made

    # ---- from records to objects

    def make(self, number: int) -> Any:
        """The object of a node and, before it, of all nodes that it refers to."""
        made = self._made
        if number in made:
            return made[number]
        open_nodes: set[int] = set()
        stack = [number]
        while stack:
            n = stack[-1]
            if n in made:
                stack.pop()
                continue
            record = self._record(n)
            below = [r for r in self._references(record) if r not in made]
            if n in open_nodes:
                if below:
                    raise IrError(f"node {n} of the metadata section refers to itself")
                made[n] = self._build(n, record)
                open_nodes.discard(n)
                stack.pop()
                continue
            open_nodes.add(n)
            for r in below:
                if r in open_nodes:
                    raise IrError(f"node {r} of the metadata section refers to itself")
            stack.extend(reversed(below))
        return made[number]

    def _record(self, number: int) -> dict[str, Any]:
        if not 0 <= number < len(self.nodes):
            raise IrError(f"the metadata section has no node {number}")
        record = self.nodes[number]
        if not isinstance(record, dict) or not isinstance(record.get("type_key"), str):
            raise IrError(f"node {number} of the metadata section has no type key")
        return record

    def _references(self, record: dict[str, Any]) -> list[int]:
        """The numbers of the nodes that a record needs."""
        key = record["type_key"]
        try:
            if key in ("Array", "Map"):
                return list(map(int, record.get("data", ())))
            attrs = record.get("attrs") or {}
            names = _REFERENCES.get(key)
            if names is None:
                if key.startswith("tir."):
                    names = _TIR_REFERENCES
                elif key.startswith("relay.attrs."):
                    return []
                else:
                    return [int(v) for v in attrs.values() if self._seems_reference(v)]
            return [int(attrs[n]) for n in names if n in attrs]
        except (TypeError, ValueError, AttributeError):
            raise IrError(f"a {key} of the metadata section is damaged") from None

    def _build(self, number: int, record: dict[str, Any]) -> Any:
        key = record["type_key"]
        try:
            return self._build_known(number, key, record)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            detail = f": {error}" if isinstance(error, ValueError) and error.args else ""
            raise IrError(f"the {key or 'null'} in node {number} of the metadata section is damaged{detail}") from None

    def _build_known(self, number: int, key: str, record: dict[str, Any]) -> Any:
        if key == "":
            return None
        if key == "Array":
            return tuple([self._made[int(n)] for n in record.get("data", ())])
        if key == "Map":
            values = [self._made[int(n)] for n in record.get("data", ())]
            if "keys" in record:
                return dict(zip(record["keys"], values, strict=True))
            return dict(zip(values[::2], values[1::2], strict=True))
        if key in ("runtime.String", "Op", "SourceName", "GlobalVar") and "attrs" not in record:
            return _NAMED[key](_text(record))
        attrs = record.get("attrs") or {}
        if key.startswith("relay.attrs."):
            node = MetaNode(key, attrs)
            self._attributes[id(node)] = node
            return node
        build = _BUILDERS.get(key)
        if build is not None:
            return build(_Fields(attrs, self))
        if key.startswith("tir."):
            return _build_tir(key[4:], _Fields(attrs, self))
        return MetaNode(
            key, {n: self._made[int(v)] if self._seems_reference(v) else _plain(v) for n, v in attrs.items()}
        )

    def tensor(self, number: int) -> tuple[Any, str]:
        """The array number `number` of the section and its dtype; decoded on first use, and its text is let go."""
        if not 0 <= number < len(self.tensors):
            raise ValueError(f"there is no tensor {number}")
        held = self.tensors[number]
        if isinstance(held, str):
            try:
                data = binascii.a2b_base64(held, strict_mode=True)
            except binascii.Error as error:
                raise ValueError(f"tensor {number} is not base64 ({str(error).lower()})") from None
            del held
            self.tensors[number] = None
            array, dtype, end = decode(data)
            if end != len(data):
                raise ValueError(f"tensor {number} has {len(data) - end} bytes too many")
            held = self.tensors[number] = (array, dtype)
        return held

    # ---- attributes of operators

    def attributes(self, node: MetaNode, operator: type[Operator]) -> dict[str, Any]:
        """The fields of a `relay.attrs.X` record as values for that operator."""
        from ..plugin import type_hints

        if id(node) not in self._attributes:
            return dict(node.fields)
        hints = type_hints(operator)
        return {n: self._attribute(node.type_key, n, v, hints.get(n, Any)) for n, v in node.fields.items()}

    def _attribute(self, key: str, name: str, text: str, hint: Any) -> Any:
        from ..ops.base import DType

        kinds = set(_kinds(hint))
        if DType in kinds or text == "":
            return text
        number = int(text) if re.fullmatch(r"\d{1,9}", text) else -1
        refers = 0 < number < len(self.nodes)
        target = self.nodes[number].get("type_key") if refers else ""
        if tuple in kinds or dict in kinds:
            return None if number == 0 else self.make(number)
        if str in kinds:
            if refers and target == "runtime.String":
                return self.make(number)
            return None if number == 0 and type(None) in kinds else text
        if number == 0 and type(None) in kinds:
            return None
        if kinds & {int, bool, float} or not (kinds - {type(None)} or target.startswith("relay.")):
            if refers and target in _NUMBERS and self._holds_references(key, name):
                return self.make(number)
            return _plain(text)
        return self.make(number) if number >= 0 and (number == 0 or target) else _plain(text)

    def _holds_references(self, key: str, name: str) -> bool:
        """True if the field of this type key is a boxed number, not a plain one.

        Text does not tell `4` from node 4. But every node is reachable, so a number that nothing else refers to must be what
        such a field refers to; and all fields of one name and type key are alike.
        """
        if name in BOXED.get(key, ()):
            return True
        values = [r["attrs"][name] for r in self.nodes if r.get("type_key") == key and name in (r.get("attrs") or {})]
        numbers = [int(v) for v in values if v.isdecimal() and v != "0"]
        if any(not v.isdecimal() for v in values):
            return False
        if any(n >= len(self.nodes) or self.nodes[n].get("type_key") not in _NUMBERS for n in numbers):
            return False
        return any(n not in self._claims() for n in numbers)

    def _claims(self) -> set[int]:
        """The nodes that are surely referred to."""
        if self._claimed is None:
            self._claimed = set()
            for record in self.nodes:
                key = record.get("type_key", "")
                if key in ("Array", "Map") or key in _REFERENCES or key.startswith("tir."):
                    self._claimed.update(self._references(record))
        return self._claimed

    def _seems_reference(self, value: Any) -> bool:
        """For records that nothing is known of: whether a field's text is the number of a node that nothing else needs."""
        if not isinstance(value, str) or not re.fullmatch(r"\d{1,9}", value):
            return False
        number = int(value)
        return number < len(self.nodes) and (number == 0 or number not in self._claims())


class _Fields:
    """The fields of a record by name: `ref` follows a reference, `[]` is the plain text."""

    def __init__(self, attrs: dict[str, Any], metadata: Metadata) -> None:
        self.attrs = attrs
        self.metadata = metadata

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.attrs.get(name, default)

    def ref(self, name: str) -> Any:
        number = int(self.attrs[name])
        return self.metadata._made[number]

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
        return None if device is None or device == VirtualDevice() else device


def _kinds(hint: Any) -> list[Any]:
    import types
    import typing

    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return [k for a in typing.get_args(hint) for k in _kinds(a)]
    return [origin or hint] if hint is not Any else []


def _plain(text: Any) -> Any:
    """A field's text as the number that it is, or as it stands."""
    if not isinstance(text, str):
        return text
    if re.fullmatch(r"-?\d{1,19}", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def _text(record: dict[str, Any]) -> str:
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


_NAMED: dict[str, Callable[[str], Any]] = {
    "runtime.String": lambda text: text,
    "Op": _op,
    "SourceName": lambda text: None,
    "GlobalVar": lambda text: GlobalVar(text),
}

_NUMBERS = frozenset(["IntImm", "FloatImm"])
_TYPED = ("_checked_type_", "virtual_device_")
_REFERENCES: dict[str, tuple[str, ...]] = {
    "": (),
    "runtime.String": (),
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
}
_TIR_REFERENCES = ("name", "a", "b", "value", "condition", "true_value", "false_value", "op", "args")


def _integer(f: _Fields) -> Any:
    value, dtype = int(f["value"]), f["dtype"]
    if dtype == "bool":
        return bool(value)
    return Int64(value) if dtype == "int64" else value


def _constant(f: _Fields) -> Constant:
    array, dtype = f.metadata.tensor(int(f["data"]))
    checked = f.opt("_checked_type_")
    made = Constant(array, dtype)
    # a constant whose type the peer had widened (a dimension `?`) keeps it
    if isinstance(checked, TensorType) and (checked.shape != array.shape or checked.dtype != dtype):
        made.type_annotation = checked
    return made


def _device(f: _Fields) -> VirtualDevice:
    target = f.opt("target")
    return VirtualDevice(int(f["device_type_int"]), int(f["virtual_device_id"]), target, f.kind("memory_scope", str))


def _function(f: _Fields) -> Function:
    attrs = f.opt("attrs")
    given = attrs.fields.get("__dict__") if isinstance(attrs, MetaNode) else attrs
    return Function(
        f.items("params", Var),
        f.expr("body"),
        f.ref("ret_type"),
        f.items("type_params", TypeVar),
        dict(given or {}),
        None,
        None,
        f.device(),
    )


def _record_of(key: str) -> Callable[[_Fields], MetaNode]:
    references = _REFERENCES[key]
    return lambda f: MetaNode(key, {n: f.ref(n) if n in references else _plain(v) for n, v in f.attrs.items()})


def _call(f: _Fields) -> Call:
    from ..ir import Op

    function, attrs = f.ref("op"), f.opt("attrs")
    if not isinstance(function, Expr):
        raise ValueError("it calls what is not an expression")
    if isinstance(function, Op):
        given = f.metadata.attributes(attrs, function.operator) if isinstance(attrs, MetaNode) else {}
        attrs = function.operator.make(given)
    elif isinstance(attrs, MetaNode):
        from ..ir import DictAttrs

        attrs = DictAttrs(attrs.fields.get("__dict__") or {})
    return Call(function, f.items("args", Expr), attrs, f.items("type_args", Type) if "type_args" in f.attrs else ())


_BUILDERS: dict[str, Callable[[_Fields], Any]] = {
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
    "relay.TensorType": lambda f: TensorType(f.kind("shape", tuple), f["dtype"]),
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
}


def _build_tir(name: str, f: _Fields) -> DimExpr:
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
