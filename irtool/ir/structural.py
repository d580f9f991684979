"""Structural equality and hashing: the same program up to the names of bound variables.

Both rest on one canonical form, a list of tokens that two expressions share exactly when they are equal. It is the
expression in pre-order, where

* a bound variable or type variable is the number of its binder, so that names do not count (names of free variables do);
* a node that was met before is the number that it got then: sharing is part of the structure. `TupleGetItem`, constants
  and `()` are values and get no number, as in TVM;
* attributes are their values, those equal to the default left out; constants are digests of their contents, in which
  every NaN is the same NaN;
* inferred types, spans, type arguments and the order of a module's functions do not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..symbolic_int import SymbolicInt
from .adt import Clause, Pattern, PatternConstructor, PatternTuple, PatternVar, TypeData
from .attributes import stated
from .dims import ANY, DimExpr, DimVar
from .expr import (
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
from .extern import ExternFunction
from .meta import LoweredText, MetaNode
from .module import Module
from .types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    type_children,
)


def structural_equal(a: Any, b: Any) -> bool:
    """True if two modules, expressions, types or attribute values are the same up to names of bound variables.

    Beside a module, an expression counts as the module that it is the `@main` of.
    """
    if a is b:
        return True
    if (
        isinstance(a, Module) is not isinstance(b, Module)
        and isinstance(a, Module | Expr)
        and isinstance(b, Module | Expr)
    ):
        a, b = Module.of(a), Module.of(b)
    if isinstance(a, Module) and isinstance(b, Module):
        return _modules_equal(a, b)
    return _equal(a, b)


def _equal(a: Any, b: Any) -> bool:
    """As `structural_equal`, for other values than modules: values of constants, which may be large, are compared only if all other
    parts are equal, and not with themselves."""
    first, second = _Writer(apart=True), _Writer(apart=True)
    if first.write(a) != second.write(b):
        return False
    return all(_same_value(x, y) for x, y in zip(first.constants, second.constants, strict=True))


def structural_hash(a: Any) -> int:
    """A 64-bit hash that equal structures share; the same in every process."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update("\x1f".join(canonical(a)).encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest(), "little")


def canonical(root: Any) -> list[str]:
    """The tokens of a module, expression, type or attribute value."""
    return _Writer().write(root)


def _modules_equal(a: Module, b: Module) -> bool:
    if a.functions.keys() != b.functions.keys() or a.type_definitions.keys() != b.type_definitions.keys():
        return False
    if canonical(_types_of(a)) != canonical(_types_of(b)):
        return False
    return all(f is b.functions[name] or _equal(f, b.functions[name]) for name, f in a.functions.items())


def _types_of(m: Module) -> tuple[TypeData, ...]:
    return tuple(m.type_definitions[name] for name in sorted(m.type_definitions))


class _Bind:
    """On the work list: gives a variable its number before later nodes are compared."""

    __slots__ = ("var",)

    def __init__(self, var: Var) -> None:
        self.var = var


class _BindTypes:
    """On the work list: numbers type parameters, until the next `_UNBIND` of the same depth."""

    __slots__ = ("variables",)

    def __init__(self, variables: tuple[TypeVar, ...]) -> None:
        self.variables = variables


class _Unbind:
    __slots__ = ()


_UNBIND = _Unbind()


class _Writer:
    """Writes tokens from a work list, so that no depth of nesting needs Python's stack.

    Constants are written with their values, or, `apart`, with their types, and listed as `constants`.
    """

    def __init__(self, apart: bool = False) -> None:
        self.apart = apart
        self.constants: list[Constant] = []
        self.out: list[str] = []
        self.number: dict[Any, int] = {}
        self.count = 0
        self.hidden: list[list[tuple[TypeVar, int | None]]] = []
        self.types: dict[Type, int] = {}
        self.open: dict[Type, bool] = {}
        self.digests: dict[int, tuple[Constant, str]] = {}

    def write(self, root: Any) -> list[str]:
        stack: list[Any] = [root]
        out, number = self.out, self.number
        handlers = _HANDLERS
        while stack:
            item = stack.pop()
            cls = item.__class__
            if cls is str:
                out.append(item)
                continue
            if cls in _GRAPH and (cls is not Tuple or item.fields):
                seen = number.get(item)
                if seen is not None:
                    out.append(f"#{seen}")
                    continue
                number[item] = self.count
                self.count += 1
            elif cls in _COMPOSITE:
                if digest := digest_of_type(item):
                    out.append(f"type {digest}")
                    continue
                seen = self.types.get(item)
                if seen is not None:
                    out.append(f"type #{seen}")
                    continue
                if not self.is_open(item):
                    self.types[item] = len(self.types)
            handler = handlers.get(cls)
            if handler is None:
                handler = _handler_of(item)
            parts = handler(self, item)
            if parts:
                stack.extend(parts[::-1])
        return out

    def is_open(self, root: Type) -> bool:
        """True if a type variable or an unknown type stands in `root`: such types may be equal, and not as Python objects."""
        stack = [root]
        while stack:
            t = stack[-1]
            parts = [p for p in t._parts() if isinstance(p, Type)]
            missing = [p for p in parts if p not in self.open]
            if missing:
                stack += missing
                continue
            self.open[t] = isinstance(t, IncompleteType | TypeVar) or any(self.open[p] for p in parts)
            stack.pop()
        return self.open[root]

    # expressions: each returns what is still to be written, in order

    def var(self, v: Var) -> list[Any]:
        return [f"free %{v.name}", v.type_annotation]

    def bind(self, b: _Bind) -> list[Any]:
        v = b.var
        if v in self.number:  # bound twice: not well-formed, but comparable
            return [f"again #{self.number[v]}"]
        self.number[v] = self.count
        self.count += 1
        return ["var", v.type_annotation, _known_device(v.virtual_device)]

    def constant(self, c: Constant) -> None:
        if self.apart:
            self.constants.append(c)
            data = c.data
            self.out.append(digest_of(c) if isinstance(data, MissingData) else f"constant {c.dtype} {data.shape}")
            return
        known = self.digests.get(id(c))
        if known is None:
            known = self.digests[id(c)] = (c, digest_of(c))
        self.out.append(known[1])

    def function(self, f: Function) -> list[Any]:
        head: list[Any] = [f"fn {len(f.params)} {len(f.type_params)}"]
        head.append(_BindTypes(f.type_params))
        head += [_Bind(p) for p in f.params]
        head += [f.ret_type, f.attrs or None, _known_device(f.virtual_device), f.body, _UNBIND]
        return head

    def call(self, e: Call) -> list[Any]:
        op = e.op
        attrs = e.attrs
        if attrs is None:
            parts: list[Any] = []
        else:
            parts = self.attributes(attrs)
        if op.__class__ is Op:
            return [f"call {op.name} {len(e.args)}", *parts, *e.args]
        return [f"call {len(e.args)}", op, *parts, *e.args]

    def attributes(self, attrs: Any) -> list[Any]:
        parts: list[Any] = []
        attr_items = stated(attrs)
        if isinstance(attrs, dict):
            attr_items = sorted(attr_items)
        for key, value in attr_items:
            parts.append(f".{key}")
            parts.append(_quoted(value))
        return parts

    def let(self, e: Let) -> list[Any]:
        return ["let", _Bind(e.var), e.value, e.body]

    def match(self, e: Match) -> list[Any]:
        return [f"match {int(e.complete)} {len(e.clauses)}", e.data, *e.clauses]

    def clause(self, c: Clause) -> list[Any]:
        return [c.pattern, "=>", c.body]

    def type_data(self, t: TypeData) -> list[Any]:
        parts: list[Any] = [f"type {t.header.name} {len(t.type_vars)}", *t.type_vars]
        for c in t.constructors:
            parts += [f"constructor {c.name} {len(c.inputs)}", *c.inputs]
        return parts

    def module(self, m: Module) -> list[Any]:
        parts: list[Any] = [f"module {len(m.type_definitions)}", *_types_of(m)]
        for name in sorted(m.functions):
            parts += [f"def @{name}", m.functions[name]]
        return parts

    # types

    def tensor_type(self, t: TensorType) -> list[Any] | None:
        for d in t.shape:
            if d.__class__ is not int and (isinstance(d, DimVar | DimExpr)):
                return [f"Tensor {t.dtype} {len(t.shape)}", *t.shape]
        self.out.append(f"Tensor {t.shape} {t.dtype}" if t.shape else t.dtype)
        return None

    def func_type(self, t: FuncType) -> list[Any]:
        head = f"func {len(t.arg_types)} {len(t.type_params)}"
        return [head, _BindTypes(t.type_params), *t.arg_types, t.ret_type, _UNBIND]

    def bind_types(self, b: _BindTypes) -> None:
        """Type parameters get numbers anew at each binder: one object may be bound by several."""
        self.hidden.append([(v, self.number.get(v)) for v in b.variables])
        for v in b.variables:
            self.number[v] = self.count
            self.count += 1

    def unbind_types(self, _: _Unbind) -> None:
        for v, number in self.hidden.pop():
            if number is None:
                del self.number[v]
            else:
                self.number[v] = number

    # attribute values

    def mapping(self, d: Mapping[Any, Any]) -> list[Any]:
        parts: list[Any] = [f"map {len(d)}"]
        for key in sorted(d, key=lambda k: (str(type(k)), str(k))):
            parts += [f"key {key!r}" if isinstance(key, str | int) else key, _quoted(d[key])]
        return parts

    def other(self, value: Any) -> list[Any] | None:
        """An attribute value of no special kind: a dataclass by its fields, one with words of its own (a loop nest) by these,
        anything else by its `repr`."""
        if hasattr(value, "structural_words"):
            return value.structural_words()
        if hasattr(value, "__dataclass_fields__"):
            name = getattr(value, "name", "") if isinstance(getattr(type(value), "name", None), str) else ""
            return [f"{type(value).__name__} {name}", *self.attributes(value)]
        if hasattr(value, "dtype") and hasattr(value, "tobytes"):
            self.out.append(digest_of(Constant(value)))
            return None
        self.out.append(f"{type(value).__name__} {value!r}")
        return None


def _known_device(device: Any) -> Any:
    """A device that says something, or None."""
    return None if getattr(device, "is_unconstrained", False) and device.missing is None else device


def _quoted(value: Any) -> Any:
    """A string value as a token; anything else as it is."""
    return f'"{value}"' if isinstance(value, str) else value


def digest_of_type(root: Type) -> str:
    """A name for a type that holds others: equal types have equal ones. Empty if a variable, a symbolic dimension or an
    unknown type is inside, which are told apart by where they are bound.

    Types keep it: that of a function holds the types of all functions inside, and each of them is asked for its own.
    """
    stack = [root]
    while stack:
        t = stack[-1]
        if t._digest is None:
            kids = type_children(t)
            missing = [k for k in kids if type(k) in _COMPOSITE and k._digest is None]
            if missing:
                stack += missing
                continue
            parts = [_type_word(k) for k in kids]
            closed = all(parts) and not (isinstance(t, FuncType) and t.type_params)
            encoded = "\x1f".join((type(t).__name__, *parts)).encode("utf-8", "surrogatepass")
            t._digest = hashlib.blake2b(encoded, digest_size=16).hexdigest() if closed else ""
        stack.pop()
    return root._digest or ""


def _type_word(t: Type) -> str:
    if type(t) in _COMPOSITE:
        return t._digest or ""
    if isinstance(t, TensorType):
        symbolic = any(isinstance(d, DimVar | DimExpr) for d in t.shape)
        return "" if symbolic else f"Tensor {t.shape} {t.dtype}"
    return f"type {t.name}" if isinstance(t, GlobalTypeVar) else ""


def _same_value(a: Constant, b: Constant) -> bool:
    """True if two constants of one type have the same value, bit by bit but for NaNs."""
    x, y = a.data, b.data
    if x is y or isinstance(x, MissingData) or isinstance(y, MissingData):
        return True  # what is missing was told apart with the types
    import numpy as np

    p, q = (np.ascontiguousarray(v).reshape(-1).view(np.uint8) for v in (x, y))
    return np.array_equal(p, q) or (x.dtype.kind == "f" and digest_of(a) == digest_of(b))


def digest_of(c: Constant) -> str:
    """A name for the contents of a constant: dtype, shape, and the value or a digest of it. All NaNs are one."""
    data = c.data
    if isinstance(data, MissingData):
        return f"missing {data.key} {data.index}"
    import numpy as np

    a = np.ascontiguousarray(data).reshape(data.shape)
    if a.dtype.kind == "f" and np.isnan(a).any():
        a = np.where(np.isnan(a), a.dtype.type(np.nan), a)
    if a.nbytes <= 16:
        return f"constant {c.dtype} {a.shape} {a.tobytes().hex()}"
    digest = hashlib.blake2b(a.reshape(-1).view(np.uint8).data, digest_size=16)
    return f"constant {c.dtype} {a.shape} {digest.hexdigest()}"


def _word(make: Callable[[Any], str]) -> Callable[[_Writer, Any], None]:
    """A handler for an item of one token."""

    def write(w: _Writer, item: Any) -> None:
        w.out.append(make(item))

    return write


def _number_of(value: Any) -> str:
    return f"= {value if value.__class__ is SymbolicInt else int(value)}"


def _sequence(kind: str, parts: Callable[[Any], Iterable[Any]]) -> Callable[[_Writer, Any], list[Any]]:
    """A handler for a node that is its kind, the number of its parts, and the parts."""

    def write(w: _Writer, item: Any) -> list[Any]:
        inside = list(parts(item))
        return [f"{kind} {len(inside)}", *inside]

    return write


_HANDLERS: dict[type, Callable[[_Writer, Any], Any]] = {
    type(None): _word(lambda v: "none"),
    bool: _word(_number_of),
    int: _word(_number_of),
    float: _word(lambda v: f"= {v!r}"),
    Var: _Writer.var,
    _Bind: _Writer.bind,
    _BindTypes: _Writer.bind_types,
    _Unbind: _Writer.unbind_types,
    GlobalVar: _word(lambda g: f"@{g.name}"),
    Op: _word(lambda o: f"op {o.name}"),
    Constructor: _word(lambda c: f"constructor {c.name}"),
    Constant: _Writer.constant,
    Tuple: _sequence("tuple", lambda e: e.fields),
    TupleGetItem: lambda w, e: [f"field {e.index}", e.tuple],
    Call: _Writer.call,
    Function: _Writer.function,
    Let: _Writer.let,
    If: _sequence("if", lambda e: (e.cond, e.true_branch, e.false_branch)),
    Match: _Writer.match,
    Clause: _Writer.clause,
    RefCreate: _sequence("ref", lambda e: (e.value,)),
    RefRead: _sequence("read", lambda e: (e.ref,)),
    RefWrite: _sequence("write", lambda e: (e.ref, e.value)),
    PatternVar: lambda w, p: [_Bind(p.var)],
    PatternConstructor: lambda w, p: [f"pattern {p.constructor.name} {len(p.patterns)}", *p.patterns],
    PatternTuple: _sequence("pattern", lambda p: p.patterns),
    TypeData: _Writer.type_data,
    Module: _Writer.module,
    ExternFunction: lambda w, f: ["extern", f.checked_type],
    TensorType: _Writer.tensor_type,
    TupleType: _sequence("tuple type", lambda t: t.fields),
    FuncType: _Writer.func_type,
    RefType: _sequence("ref type", lambda t: (t.value,)),
    TypeCall: lambda w, t: [f"type call {len(t.args)}", t.func, *t.args],
    TypeVar: _word(lambda t: "type var"),
    GlobalTypeVar: _word(lambda t: f"type {t.name}"),
    IncompleteType: _word(lambda t: "_"),
    DimVar: _word(lambda d: f"dim {d.name} {d.dtype}"),
    DimExpr: _sequence("", lambda d: (f"{d.op} {d.dtype}", *d.operands)),
    type(ANY): _word(lambda d: "?"),
    tuple: _sequence("list", lambda v: map(_quoted, v)),
    list: _sequence("list", lambda v: map(_quoted, v)),
    dict: _Writer.mapping,
    LoweredText: _word(lambda f: f"lowered {f.text!r}"),
    MetaNode: lambda w, m: [
        f"record {m.type_key} {'' if m.missing is None else m.missing}",
        dict(sorted(m.fields.items())),
    ],
}

_GRAPH = frozenset((Var, Call, Function, Let, If, Match, Tuple, RefCreate, RefRead, RefWrite, TypeVar, DimVar))
"""Nodes that get a number when they are first met."""

_COMPOSITE = frozenset((TupleType, FuncType, RefType, TypeCall))
"""Types that are written once, by value, so that what is linear with shared types stays linear."""


def _handler_of(item: Any) -> Callable[[_Writer, Any], Any]:
    for cls in type(item).__mro__[1:]:
        handler = _HANDLERS.get(cls)
        if handler is not None:
            return handler
    if isinstance(item, Pattern):
        return _word(lambda p: "_")
    return _Writer.other
