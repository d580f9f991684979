"""Expressions of Relay.

Nodes are immutable (the type checker enforces it; nothing does at run time, where it would cost) and compared by
identity: a node used twice is *shared*, and the body of a function is a DAG. `Let` stays `Let`. Every node has a `span`
(None if no text stands behind it) and a `checked_type` (None until type inference has run over it).

`children` gives the expressions directly below a node, in the order in which they are evaluated; the variables that a
node binds (parameters, `let` variables, pattern variables) are not among them. `rebuild` makes the same node over other
children; the copy has no `checked_type`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

from ..diagnostics import IrError, Span
from ..hooks import Hook
from .provided import freeze, missing_attribute, text_of, to_html, to_text
from .types import FuncType, GlobalTypeVar, TupleType, Type
from .types import TypeVar as RelayTypeVar

if TYPE_CHECKING:
    import numpy as np

_show_expr: Hook[[Expr], str] = Hook("ir.show_expr")
_as_expr: Hook[[Any, str], Expr] = Hook("ir.as_expr")
_call: Hook[..., Call] = Hook("ir.call")
_binary: Hook[[str, Any, Any], Any] = Hook("ir.binary")
_negative: Hook[[Expr], Call] = Hook("ir.negative")
_count_fields: Hook[[Expr], int | None] = Hook("ir.count_fields")

C = TypeVar("C", bound=type)
E = TypeVar("E", bound="Expr")


@dataclass_transform(eq_default=False, frozen_default=True)
def node(cls: C) -> C:
    """A slotted dataclass compared by identity; frozen for the type checker only, since nodes are built by the million."""
    return dataclass(eq=False, slots=True, repr=False)(cls)  # type: ignore[return-value]  # mypy takes the decorator for one of the class that it is used on


class Expr:
    """Base of all expressions.

    Python's operators build calls: `x + y`, `-x`, `x < y` of the operators `add`, `negative`, `less`, where one side may be a
    number; `f(x)` calls a function; `t[0]` is a field of a tuple. `==` compares by identity. `str` gives the text.
    """

    __slots__ = ("__weakref__",)
    __array_ufunc__ = None  # numpy leaves `array + expr` to the methods below
    span: Span | None
    checked_type: Type | None

    @property
    def known_type(self) -> Type:
        """`checked_type` of an expression in a typed module. Raises ValueError if no type has been inferred."""
        if self.checked_type is None:
            raise ValueError(f"no type has been inferred for {self!r}")
        return self.checked_type

    def __repr__(self) -> str:
        return _show_expr(self)

    def __reduce__(self) -> Any:
        return freeze(self)

    def __str__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        """In colour, for notebooks."""
        return to_html(self)

    def __call__(self, *args: Any) -> Call:
        """The call of this function on expressions."""
        return Call(self, tuple(_as_expr(a, "an argument of a call") for a in args))

    def __getitem__(self, index: int) -> Expr:
        """The field of a tuple. Raises IndexError for an index beyond a known tuple, TypeError for another type."""
        if not hasattr(index, "__index__") or isinstance(index, bool):
            raise TypeError(f"{self!r} is indexed with {index!r}: an integer selects a field of a tuple")
        index = index.__index__()
        count = self._field_count()
        if count is None:
            if self.checked_type is not None:
                raise TypeError(f"{self!r} is no tuple: its type is {self.checked_type}")
            if index < 0:
                raise TypeError(f"the number of fields of {self!r} is not known: count from the first")
        elif not -count <= index < count:
            raise IndexError(f"{self!r} has {count} fields, none of index {index}")
        index += (count or 0) if index < 0 else 0
        return self.fields[index] if isinstance(self, Tuple) else TupleGetItem(self, index)

    def __iter__(self) -> Iterator[Expr]:
        """The fields of a tuple: `a, b = relay.split(x, 2)`. TypeError where their number is not known."""
        count = self._field_count()
        if count is None:
            count = _count_fields(self)
        if count is None:
            raise TypeError(f"{self!r} cannot be taken apart: the number of its fields is not known; write [0], [1], …")
        return iter([self.fields[i] if isinstance(self, Tuple) else TupleGetItem(self, i) for i in range(count)])

    def _field_count(self) -> int | None:
        if isinstance(self, Tuple):
            return len(self.fields)
        return len(self.checked_type.fields) if isinstance(self.checked_type, TupleType) else None

    def same_as(self, other: object) -> bool:
        """True if `other` is this very node: TVM's word for `is`."""
        return self is other

    def astext(self, show_meta_data: bool = True) -> str:
        """The text, with or without its metadata section: TVM's word for `irtool.to_text`."""
        return to_text(self, metadata=show_meta_data)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raises an AttributeError that names the counterpart of a name of TVM's."""
            raise missing_attribute(self, name)

    def astype(self, dtype: str) -> Call:
        """`cast` to a dtype."""
        return _call("cast", self, dtype=dtype)

    def __neg__(self) -> Call:
        return _negative(self)

    def __add__(self, other: Any) -> Call:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Call:
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Call:
        return _binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Call:
        return _binary("subtract", other, self)

    def __mul__(self, other: Any) -> Call:
        return _binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Call:
        return _binary("multiply", other, self)

    def __truediv__(self, other: Any) -> Call:
        return _binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> Call:
        return _binary("divide", other, self)

    def __lt__(self, other: Any) -> Call:
        return _binary("less", self, other)

    def __le__(self, other: Any) -> Call:
        return _binary("less_equal", self, other)

    def __gt__(self, other: Any) -> Call:
        return _binary("greater", self, other)

    def __ge__(self, other: Any) -> Call:
        return _binary("greater_equal", self, other)


@node
class Var(Expr):
    """A local variable. `name` is a hint: two variables of the same name are different variables.

    `virtual_device` is TVM's `VirtualDevice(…)` annotation, or None.
    """

    name: str
    type_annotation: Type | None = None
    span: Span | None = None
    checked_type: Type | None = None
    virtual_device: Any = None

    @property
    def name_hint(self) -> str:
        """`name`, as TVM calls it."""
        return self.name


@node
class GlobalVar(Expr):
    """A reference to the module's function of that name."""

    name: str
    span: Span | None = None
    checked_type: Type | None = None

    @property
    def name_hint(self) -> str:
        """`name`, as TVM calls it."""
        return self.name


@dataclass(frozen=True, slots=True)
class MissingData:
    """Stands for the data of a constant whose metadata section was cut off: `meta[relay.Constant][index]`."""

    index: int
    key: str = "relay.Constant"


@node
class Constant(Expr):
    """A tensor value. `dtype` names the type of the array's elements if numpy has no such type (bfloat16 as uint16 bits).

    `data` is a numpy array that nobody may write to, or `MissingData`, in which case `type_annotation` says what is
    known of its type.
    """

    data: np.ndarray | MissingData
    dtype: str = ""
    type_annotation: Type | None = None
    span: Span | None = None
    checked_type: Type | None = None

    def __post_init__(self) -> None:
        if not self.dtype and not isinstance(self.data, MissingData):
            object.__setattr__(self, "dtype", str(self.data.dtype))

    @property
    def is_scalar(self) -> bool:
        """True for a tensor of rank 0 whose value is known."""
        return not isinstance(self.data, MissingData) and self.data.ndim == 0


@node
class Op(Expr):
    """An operator as a value. `operator` is its class; get one with `irtool.ops.op(name)`, which makes it once."""

    name: str
    operator: Any
    span: Span | None = None
    checked_type: Type | None = None

    def __call__(self, *args: Any, **attributes: Any) -> Call:
        """The call of the operator: inputs, and attributes by name."""
        inputs = [_as_expr(a, f"an argument of {self.name}") for a in args]
        return _call(self.name, *inputs, **attributes)


@node
class Constructor(Expr):
    """A constructor of an algebraic data type; one object per constructor of a module."""

    name: str
    inputs: tuple[Type, ...]
    belong_to: GlobalTypeVar
    tag: int = -1
    span: Span | None = None
    checked_type: Type | None = None


@node
class Tuple(Expr):
    """`(a, b, …)`."""

    fields: tuple[Expr, ...]
    span: Span | None = None
    checked_type: Type | None = None

    def __post_init__(self) -> None:
        if self.fields.__class__ is not tuple:  # programs written by hand give lists
            object.__setattr__(self, "fields", tuple(self.fields))


@node
class TupleGetItem(Expr):
    """`tuple.index`."""

    tuple: Expr
    index: int
    span: Span | None = None
    checked_type: Type | None = None

    @property
    def tuple_value(self) -> Expr:
        """`tuple`, as TVM calls it."""
        return self.tuple


@node
class Call(Expr):
    """`op(args…, attr=…)`.

    `attrs` is an instance of the operator's class where `op` is an `Op`, a `DictAttrs` where other attributes were
    written on the call of a function, None otherwise. Where a pass puts an operator in place of a variable that was called,
    the attributes become those of the operator; wrong ones stay, for type inference to refuse.
    """

    op: Expr
    args: tuple[Expr, ...]
    attrs: Any = None
    type_args: tuple[Type, ...] = ()
    span: Span | None = None
    checked_type: Type | None = None

    def __post_init__(self) -> None:
        if self.args.__class__ is not tuple:  # programs written by hand give lists
            object.__setattr__(self, "args", tuple(self.args))
        if (self.attrs is None or self.attrs.__class__ is DictAttrs) and self.op.__class__ is Op:
            with suppress(IrError):
                object.__setattr__(self, "attrs", self.op.operator.make(self.attrs, self.span))

    @property
    def op_name(self) -> str:
        """The name of the operator of a call of one. Raises TypeError for a call of something else."""
        if not isinstance(self.op, Op):
            raise TypeError(f"{self!r} calls no operator")
        return self.op.name

    @property
    def op_class(self) -> Any:
        """The class of the operator of a call of one. Raises TypeError for a call of something else."""
        if not isinstance(self.op, Op):
            raise TypeError(f"{self!r} calls no operator")
        return self.op.operator


@node
class Function(Expr):
    """`fn [type_params] (params) -> ret_type { body }`; a module's `def` is one too.

    `attrs` are the function attributes (`Primitive=1`), in order. `name` is TVM's debugging hint, never printed.
    """

    params: tuple[Var, ...]
    body: Expr
    ret_type: Type | None = None
    type_params: tuple[RelayTypeVar, ...] = ()
    attrs: Mapping[str, Any] = None  # type: ignore[assignment]  # None stands for no attributes, see __post_init__
    span: Span | None = None
    checked_type: Type | None = None
    virtual_device: Any = None

    def __post_init__(self) -> None:
        if self.attrs is None:
            object.__setattr__(self, "attrs", {})
        if self.params.__class__ is not tuple:
            object.__setattr__(self, "params", tuple(self.params))

    def with_attr(self, attr: str | Mapping[str, Any], value: Any = None) -> Function:
        """The function with one more attribute, or with those of a mapping; types stay as they are inferred."""
        more = {attr: value} if isinstance(attr, str) else attr
        return self._with_attrs({**self.attrs, **more})

    def without_attr(self, attr: str) -> Function:
        """The function without that attribute."""
        return self._with_attrs({k: v for k, v in self.attrs.items() if k != attr})

    def _with_attrs(self, attrs: Mapping[str, Any]) -> Function:
        return Function(
            self.params,
            self.body,
            self.ret_type,
            self.type_params,
            attrs,
            self.span,
            self.checked_type,
            self.virtual_device,
        )

    @property
    def func_type(self) -> FuncType:
        """The type that the annotations alone say; raises ValueError where one is missing."""
        types = [p.type_annotation for p in self.params]
        if self.ret_type is None or any(t is None for t in types):
            raise ValueError("the function is not fully annotated")
        return FuncType(tuple(types), self.ret_type, self.type_params)  # type: ignore[arg-type]  # None was ruled out


@node
class Let(Expr):
    """`let var = value; body`."""

    var: Var
    value: Expr
    body: Expr
    span: Span | None = None
    checked_type: Type | None = None


@node
class If(Expr):
    """`if (cond) { true_branch } else { false_branch }`."""

    cond: Expr
    true_branch: Expr
    false_branch: Expr
    span: Span | None = None
    checked_type: Type | None = None


class Pattern:
    """Base of the patterns of `match`, which are in `adt`."""

    __slots__ = ()


@node
class Clause:
    """`pattern => { body }`."""

    pattern: Pattern
    body: Expr
    span: Span | None = None

    def with_body(self, body: Expr) -> Clause:
        """This clause with another body."""
        return Clause(self.pattern, body, self.span)


@node
class Match(Expr):
    """`match (data) { clauses }`; `match?` is incomplete and may fail to match at run time."""

    data: Expr
    clauses: tuple[Clause, ...]
    complete: bool = True
    span: Span | None = None
    checked_type: Type | None = None


@node
class RefCreate(Expr):
    """`ref(value)`."""

    value: Expr
    span: Span | None = None
    checked_type: Type | None = None


@node
class RefRead(Expr):
    """`ref_read(ref)`."""

    ref: Expr
    span: Span | None = None
    checked_type: Type | None = None


@node
class RefWrite(Expr):
    """`ref_write(ref, value)`; its value is `()`."""

    ref: Expr
    value: Expr
    span: Span | None = None
    checked_type: Type | None = None


class DictAttrs(dict):
    """Attributes written on the call of something that is not an operator, in order."""

    __slots__ = ()


LEAVES = (Var, GlobalVar, Constant, Op, Constructor)

CHILDREN_OF: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Tuple: lambda e: e.fields,
    TupleGetItem: lambda e: (e.tuple,),
    Call: lambda e: (e.op, *e.args),
    Function: lambda e: (e.body,),
    Let: lambda e: (e.value, e.body),
    If: lambda e: (e.cond, e.true_branch, e.false_branch),
    Match: lambda e: (e.data, *[c.body for c in e.clauses]),
    RefCreate: lambda e: (e.value,),
    RefRead: lambda e: (e.ref,),
    RefWrite: lambda e: (e.ref, e.value),
    **{leaf: lambda e: () for leaf in LEAVES},
}
"""The expressions directly below one, by its class: `children` without a call, for what visits every node."""


def children(e: Expr) -> tuple[Expr, ...]:
    """The expressions directly below `e`, in order of evaluation."""
    return CHILDREN_OF[e.__class__](e)


def _rebuild_match(e: Match, k: Sequence[Expr]) -> Match:
    clauses = tuple(c.with_body(b) for c, b in zip(e.clauses, k[1:], strict=True))
    return Match(k[0], clauses, e.complete, e.span)


REBUILD_OF: dict[type, Callable[[Any, Sequence[Expr]], Any]] = {
    Tuple: lambda e, k: Tuple(tuple(k), e.span),
    TupleGetItem: lambda e, k: TupleGetItem(k[0], e.index, e.span),
    Call: lambda e, k: Call(k[0], tuple(k[1:]), e.attrs, e.type_args, e.span),
    Function: lambda e, k: Function(e.params, k[0], e.ret_type, e.type_params, e.attrs, e.span, None, e.virtual_device),
    Let: lambda e, k: Let(e.var, k[0], k[1], e.span),
    If: lambda e, k: If(k[0], k[1], k[2], e.span),
    Match: _rebuild_match,
    RefCreate: lambda e, k: RefCreate(k[0], e.span),
    RefRead: lambda e, k: RefRead(k[0], e.span),
    RefWrite: lambda e, k: RefWrite(k[0], k[1], e.span),
}


def rebuild(e: E, kids: Sequence[Expr]) -> E:
    """`e` over other children; `e` itself if they are the same objects."""
    old = children(e)
    for a, b in zip(old, kids, strict=True):
        if a is not b:
            return REBUILD_OF[e.__class__](e, kids)
    return e


def with_function(
    f: Function,
    *,
    params: tuple[Var, ...] | None = None,
    body: Expr | None = None,
    ret_type: Type | None = None,
    type_params: tuple[RelayTypeVar, ...] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> Function:
    """A copy of `f` with some parts replaced and no `checked_type`."""
    return Function(
        f.params if params is None else params,
        f.body if body is None else body,
        f.ret_type if ret_type is None else ret_type,
        f.type_params if type_params is None else type_params,
        f.attrs if attrs is None else attrs,
        f.span,
        None,
        f.virtual_device,
    )


def without_return_type(f: Function) -> Function:
    """A copy of `f` that leaves its result's type to inference."""
    return Function(f.params, f.body, None, f.type_params, f.attrs, f.span, None, f.virtual_device)
