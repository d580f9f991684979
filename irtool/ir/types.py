"""Types of Relay: tensors, tuples, functions, references, algebraic data, and the unknown.

Types are immutable values: equal when their structure is equal (`TypeVar` and `IncompleteType`: when they are the same
object). Each computes its hash when built, from its parts' cached hashes, and compares with an explicit stack, so a type
may be nested as deeply as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from ..diagnostics import IrError, Span
from ..hooks import Hook
from .dims import Dim
from .provided import freeze

_show_type: Hook[[Type], str] = Hook("ir.show_type")


class Type:
    """Base of all types. `span` is None unless a parser set it; it takes no part in comparison."""

    __slots__ = ("_digest", "_hash", "_twin", "binds_variables", "is_generic", "is_open", "span")
    _hash: int
    _twin: Type | None
    """An equal type that was found to be one, for types that hold others: see `_first_twin`."""
    _digest: str | None
    """What `structural` keeps of a type that holds others, once it was asked."""
    span: Span | None
    is_open: bool
    """True if an `IncompleteType` is anywhere inside."""
    is_generic: bool
    """True if a `TypeVar` is anywhere inside."""
    binds_variables: bool
    """True if a polymorphic function type is anywhere inside."""

    def _parts(self) -> tuple[object, ...]:
        """The parts that equality compares, in order; nested types among them."""
        raise NotImplementedError

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type) or self._hash != other._hash:
            return False
        stack: list[tuple[object, object]] = [(self, other)]
        equal_pairs: set[tuple[int, int]] = set()  # parts shared on both sides are compared once
        type_pairs: list[tuple[Type, Type]] = []
        while stack:
            a, b = stack.pop()
            if a is b:
                continue
            if isinstance(a, Type):
                if type(a) is not type(b) or isinstance(a, _BY_IDENTITY) or a._hash != b._hash:
                    return False
                if type(a) in _HOLDERS:
                    a, b = _first_twin(a), _first_twin(b)
                    if a is b or (id(a), id(b)) in equal_pairs:
                        continue
                    equal_pairs.add((id(a), id(b)))
                    type_pairs.append((a, b))
                pa, pb = a._parts(), b._parts()
                if len(pa) != len(pb):
                    return False
                stack.extend(zip(pa, pb, strict=True))
            elif a != b:
                return False
        for one, other in type_pairs:  # parts at the same position inside are equal, too
            one, other = _first_twin(one), _first_twin(other)
            if one is not other:
                other._twin = one
        return True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __reduce__(self) -> Any:
        return freeze(self)

    def __repr__(self) -> str:
        return _show_type(self)


def _first_twin(t: Type) -> Type:
    """The representative of all types found equal to `t`: for functions inside one another, the type of each holds those of
    all inside, and would be compared with them again and again."""
    while t._twin is not None:
        if t._twin._twin is not None:
            t._twin = t._twin._twin
        t = t._twin
    return t


class TensorType(Type):
    """A tensor of `shape` (ints, symbolic dimensions or `ANY`; `()` is a scalar) and `dtype` (`"float32"`)."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[Dim, ...], dtype: str = "float32", span: Span | None = None) -> None:
        if shape.__class__ is not tuple:
            shape = tuple(shape)  # programs written by hand give lists
        self.shape = shape
        self.dtype = dtype
        self.span = span
        self.is_open = self.is_generic = self.binds_variables = False
        self._hash = hash((shape, dtype))

    def _parts(self) -> tuple[object, ...]:
        return (self.shape, self.dtype)

    @property
    def is_static(self) -> bool:
        """True if every dimension is an int."""
        return all(isinstance(d, int) for d in self.shape)

    @property
    def extents(self) -> tuple[int, ...] | None:
        """The shape as ints; None if a dimension is not one."""
        extents = tuple(d for d in self.shape if isinstance(d, int))
        return extents if len(extents) == len(self.shape) else None

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape of a type that `is_static`, as ints. Raises ValueError for another one."""
        result = self.extents
        if result is None:
            raise ValueError(f"{self!r} has no static shape")
        return result


class TupleType(Type):
    """The type of a tuple."""

    __slots__ = ("_starts", "fields", "has_static_shapes", "is_flat", "is_of_tensors", "leaf_count")
    is_flat: bool
    """True if every field is a tensor; asked for each field that is taken out, so it is kept."""
    is_of_tensors: bool
    """True if every field is a tensor or again a tuple of such; kept like the two below, since tuples nest deeply."""
    has_static_shapes: bool
    """False if a tensor among the leaves has a dimension that is not known."""
    leaf_count: int
    """How many leaves there are, each as often as it occurs, up to 2^64."""

    def __init__(self, fields: tuple[Type, ...], span: Span | None = None) -> None:
        self.fields = fields
        self.is_flat = all(isinstance(f, TensorType) for f in fields)
        self.is_of_tensors = self.is_flat or all(map(is_of_tensors, fields))
        self.has_static_shapes = all(map(has_static_shapes, fields))
        self.leaf_count = len(fields) if self.is_flat else min(sum(map(leaf_count, fields)), 1 << 64)
        self.span = span
        self.is_open = any(f.is_open for f in fields)
        self.is_generic = any(f.is_generic for f in fields)
        self.binds_variables = self.is_generic and any(f.binds_variables for f in fields)
        self._starts: list[int] | None = None
        self._twin = self._digest = None
        self._hash = hash(("tuple", *[f._hash for f in fields]))

    def leaves_of(self, index: int) -> slice:
        """The range of a field's leaves."""
        if self._starts is None:
            self._starts = [0, *accumulate(map(leaf_count, self.fields))]
        return slice(*self._starts[index : index + 2])

    def _parts(self) -> tuple[object, ...]:
        return self.fields


class FuncType(Type):
    """`fn [type_params] (arg_types) -> ret_type`. Bound `TypeVar`s compare by identity here; `structural_equal` renames."""

    __slots__ = ("arg_types", "ret_type", "type_params")

    def __init__(
        self,
        arg_types: tuple[Type, ...],
        ret_type: Type,
        type_params: tuple[TypeVar, ...] = (),
        span: Span | None = None,
    ) -> None:
        self.arg_types = arg_types
        self.ret_type = ret_type
        self.type_params = type_params
        self.span = span
        self.is_open = ret_type.is_open or any(a.is_open for a in arg_types)
        self.is_generic = bool(type_params) or ret_type.is_generic or any(a.is_generic for a in arg_types)
        self.binds_variables = self.is_generic and (
            bool(type_params) or ret_type.binds_variables or any(a.binds_variables for a in arg_types)
        )
        self._twin = self._digest = None
        self._hash = hash(("fn", len(type_params), *[a._hash for a in arg_types], ret_type._hash))

    def _parts(self) -> tuple[object, ...]:
        return (*self.type_params, self.ret_type, *self.arg_types)


class RefType(Type):
    """The type of a mutable reference to a `value`."""

    __slots__ = ("value",)

    def __init__(self, value: Type, span: Span | None = None) -> None:
        self.value = value
        self.span = span
        self.is_open = value.is_open
        self.is_generic = value.is_generic
        self.binds_variables = value.binds_variables
        self._twin = self._digest = None
        self._hash = hash(("ref", value._hash))

    def _parts(self) -> tuple[object, ...]:
        return (self.value,)


class TypeCall(Type):
    """A type definition applied to arguments: `List[int32]`."""

    __slots__ = ("args", "func")

    def __init__(self, func: Type, args: tuple[Type, ...], span: Span | None = None) -> None:
        self.func = func
        self.args = args
        self.span = span
        self.is_open = func.is_open or any(a.is_open for a in args)
        self.is_generic = func.is_generic or any(a.is_generic for a in args)
        self.binds_variables = func.binds_variables or any(a.binds_variables for a in args)
        self._twin = self._digest = None
        self._hash = hash(("call", func._hash, *[a._hash for a in args]))

    def _parts(self) -> tuple[object, ...]:
        return (self.func, *self.args)


class TypeVar(Type):
    """A type parameter; compared by identity. `kind` is `type`, `shape`, `base` or `constraint`."""

    __slots__ = ("kind", "name")

    def __init__(self, name: str, kind: str = "type", span: Span | None = None) -> None:
        self.name = name
        self.kind = kind
        self.span = span
        self.is_open = self.binds_variables = False
        self.is_generic = True
        self._hash = id(self) >> 4

    def _parts(self) -> tuple[object, ...]:
        return ()


class GlobalTypeVar(Type):
    """The name of a type definition; equal by name."""

    __slots__ = ("name",)

    def __init__(self, name: str, span: Span | None = None) -> None:
        self.name = name
        self.span = span
        self.is_open = self.is_generic = self.binds_variables = False
        self._hash = hash(("global type", name))

    def _parts(self) -> tuple[object, ...]:
        return (self.name,)


class IncompleteType(Type):
    """A type that is not known yet (`_` in text); compared by identity."""

    __slots__ = ("kind",)

    def __init__(self, kind: str = "type", span: Span | None = None) -> None:
        self.kind = kind
        self.span = span
        self.is_open = True
        self.is_generic = self.binds_variables = False
        self._hash = id(self) >> 4

    def _parts(self) -> tuple[object, ...]:
        return ()


_BY_IDENTITY = (TypeVar, IncompleteType)
_HOLDERS = (TupleType, FuncType, RefType, TypeCall)

AnyType = TensorType | TupleType | FuncType | RefType | TypeCall | TypeVar | GlobalTypeVar | IncompleteType


def type_children(t: Type) -> tuple[Type, ...]:
    """The types directly inside `t`, in the order in which they are written (bound type parameters not among them)."""
    if isinstance(t, TupleType):
        return t.fields
    if isinstance(t, FuncType):
        return (*t.arg_types, t.ret_type)
    if isinstance(t, TypeCall):
        return (t.func, *t.args)
    if isinstance(t, RefType):
        return (t.value,)
    return ()


def rebuild_type(t: Type, kids: Sequence[Type]) -> Type:
    """`t` over other children; `t` itself if they are the same objects."""
    if all(a is b for a, b in zip(type_children(t), kids, strict=True)):
        return t
    if isinstance(t, TupleType):
        return TupleType(tuple(kids), t.span)
    if isinstance(t, FuncType):
        return FuncType(tuple(kids[:-1]), kids[-1], t.type_params, t.span)
    if isinstance(t, TypeCall):
        return TypeCall(kids[0], tuple(kids[1:]), t.span)
    assert isinstance(t, RefType)
    return RefType(kids[0], t.span)


def data_name(t: Type) -> str:
    """The name of a data type, with arguments or without."""
    whole = t.func if isinstance(t, TypeCall) else t
    assert isinstance(whole, GlobalTypeVar)
    return whole.name


def type_leaves(root: Type) -> Iterator[Type]:
    """Every type inside `root` that holds no other type, left to right; shared types within `root` are visited once."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        t = stack.pop()
        kids = type_children(t)
        if not kids:
            yield t
        elif id(t) not in seen:
            seen.add(id(t))
            stack.extend(reversed(kids))


def type_variables(root: Type) -> set[TypeVar]:
    """The type variables in `root`, bound and free."""
    result: set[TypeVar] = set()
    seen: set[int] = set()
    stack = [root]
    while stack:
        t = stack.pop()
        if isinstance(t, TypeVar):
            result.add(t)
        elif t.is_generic and id(t) not in seen:
            seen.add(id(t))
            if isinstance(t, FuncType):
                result.update(t.type_params)
            stack.extend(type_children(t))
    return result


def quantified(root: Type) -> set[TypeVar]:
    """The type variables that function types in `root` bind."""
    result: set[TypeVar] = set()
    seen: set[int] = set()
    stack = [root]
    while stack:
        t = stack.pop()
        if isinstance(t, FuncType):
            result.update(t.type_params)
        kids = type_children(t) if t.binds_variables else ()
        if kids and id(t) not in seen:
            seen.add(id(t))
            stack.extend(kids)
    return result


def free_type_vars(root: Type) -> Iterator[TypeVar]:
    """The type variables in `root` that no function type around them binds, from left to right, repeated as they occur."""
    stack: list[tuple[Type, frozenset[TypeVar]]] = [(root, frozenset())]
    seen: set[tuple[int, frozenset[TypeVar]]] = set()
    while stack:
        t, bound = stack.pop()
        if isinstance(t, TypeVar):
            if t not in bound:
                yield t
            continue
        if not t.is_generic or (id(t), bound) in seen:
            continue
        seen.add((id(t), bound))
        inside = bound.union(t.type_params) if isinstance(t, FuncType) else bound
        stack.extend((k, inside) for k in reversed(type_children(t)))


MOST_LEAVES = 1 << 20
"""Leaves of a tuple that are listed one by one; shared tuples can have as many more as there are atoms."""


def tuple_leaves(root: Type) -> Iterator[Type]:
    """The types in a tuple, nested tuples taken apart, left to right, each as often as it occurs; another type itself.

    Raises IrError if there are more than `MOST_LEAVES`; to ask something of all of them, take `distinct_leaves`.
    """
    if isinstance(root, TupleType) and any(isinstance(f, TupleType) for f in root.fields):
        require_few_leaves(root)
    stack = [root]
    while stack:
        t = stack.pop()
        if isinstance(t, TupleType):
            stack.extend(reversed(t.fields))
        else:
            yield t


def require_few_leaves(root: Type) -> None:
    """Raises IrError if a tuple has more than `MOST_LEAVES` leaves."""
    if (count := leaf_count(root)) > MOST_LEAVES:
        shown = f"{count:,}" if count < 1 << 64 else "too many"
        raise IrError(
            f"a tuple of tuples with {shown} values cannot be taken apart: at most {MOST_LEAVES:,} can", root.span
        )


def leaf_count(root: Type) -> int:
    """The number of types of `tuple_leaves`, up to 2^64."""
    return root.leaf_count if isinstance(root, TupleType) else 1


def is_of_tensors(root: Type) -> bool:
    """True for a tensor, and for tuples of tensors and of such tuples."""
    return root.is_of_tensors if isinstance(root, TupleType) else isinstance(root, TensorType)


def distinct_leaves(root: Type) -> Iterator[Type]:
    """The types of `tuple_leaves`, but of each shared tuple only once."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        t = stack.pop()
        if not isinstance(t, TupleType):
            yield t
        elif id(t) not in seen:
            seen.add(id(t))
            stack.extend(reversed(t.fields))


def has_static_shapes(root: Type) -> bool:
    """True if every tensor in the type, tuples taken apart, has a known shape."""
    if isinstance(root, TupleType):
        return root.has_static_shapes
    return not isinstance(root, TensorType) or root.is_static


def leaf_paths(root: Type) -> Iterator[tuple[Type, str]]:
    """The types of `tuple_leaves`, each with its path in the tuple: `.0.1` is field 1 of field 0."""
    require_few_leaves(root)
    stack: list[tuple[Type, Any]] = [(root, None)]
    while stack:
        t, place = stack.pop()
        if isinstance(t, TupleType):
            stack.extend((f, (place, n)) for n, f in reversed(list(enumerate(t.fields))))
            continue
        numbers = []
        while place is not None:
            place, n = place
            numbers.append(f".{n}")
        yield t, "".join(reversed(numbers))


def rewrite_type(
    root: Type, leaf: Callable[[Type], Type], node: Callable[[Type, Sequence[Type]], Type] = rebuild_type
) -> Type:
    """`root` with every type that holds no other type replaced by the result of `leaf`; `root` itself if none changes.

    What is shared within `root` is rewritten once, and stays shared. `node` makes a type that holds others, from it and from what these have
    become.
    """
    if not type_children(root):
        return leaf(root)
    done: dict[int, Type] = {}
    stack: list[tuple[Type, bool]] = [(root, False)]
    while stack:
        t, ready = stack.pop()
        if id(t) in done:
            continue
        kids = type_children(t)
        if not kids:
            done[id(t)] = leaf(t)
        elif ready:
            done[id(t)] = node(t, [done[id(k)] for k in kids])
        else:
            stack.append((t, True))
            stack.extend((k, False) for k in reversed(kids))
    return done[id(root)]


def scalar(dtype: str) -> TensorType:
    """The type of a scalar."""
    return TensorType((), dtype)


UNIT = TupleType(())
"""The type of `()`."""
