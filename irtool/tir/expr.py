"""Scalar expressions: what tensor expressions and loop nests compute.

Nodes are slotted, immutable and compared by identity, so an expression is a DAG. They are built by functions (`add`,
`mul`, `select` …) and by Python's operators; both fold constants and drop what changes nothing (`x + 0`, `x * 1`), so
index arithmetic stays small while it is written. Integers of any width wrap as two's complement; `floordiv`/`floormod`
round down (Python's `//` and `%`), `truncdiv`/`truncmod` towards zero (C's).

`==`, `<` … on expressions build expressions. Whether two expressions are the same object is asked with `is`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..ir.above import from_above
from . import dtypes

INDEX = "int32"
"""Dtype of loop variables. Backends widen it where a buffer has 2^31 elements or more."""


class Expr:
    """Base of scalar expressions. `dtype` is the dtype of the value."""

    __slots__ = ("dtype",)
    dtype: str

    def __add__(self, other: Operand) -> Expr:
        return add(self, other)

    def __radd__(self, other: Operand) -> Expr:
        return add(other, self)

    def __sub__(self, other: Operand) -> Expr:
        return sub(self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return sub(other, self)

    def __mul__(self, other: Operand) -> Expr:
        return mul(self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return mul(other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return div(self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return div(other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return floordiv(self, other)

    def __rfloordiv__(self, other: Operand) -> Expr:
        return floordiv(other, self)

    def __mod__(self, other: Operand) -> Expr:
        return floormod(self, other)

    def __rmod__(self, other: Operand) -> Expr:
        return floormod(other, self)

    def __neg__(self) -> Expr:
        return sub(const(0, self.dtype), self) if not dtypes.is_float(self.dtype) else mul(self, const(-1, self.dtype))

    def __lshift__(self, other: Operand) -> Expr:
        return shift_left(self, other)

    def __rshift__(self, other: Operand) -> Expr:
        return shift_right(self, other)

    def __rlshift__(self, other: Operand) -> Expr:
        return shift_left(other, self)

    def __rrshift__(self, other: Operand) -> Expr:
        return shift_right(other, self)

    def __and__(self, other: Operand) -> Expr:
        return bitwise_and(self, other)

    def __rand__(self, other: Operand) -> Expr:
        return bitwise_and(other, self)

    def __or__(self, other: Operand) -> Expr:
        return bitwise_or(self, other)

    def __ror__(self, other: Operand) -> Expr:
        return bitwise_or(other, self)

    def __xor__(self, other: Operand) -> Expr:
        return bitwise_xor(self, other)

    def __rxor__(self, other: Operand) -> Expr:
        return bitwise_xor(other, self)

    def __invert__(self) -> Expr:
        return logical_not(self) if self.dtype == "bool" else bitwise_xor(self, const(-1, self.dtype))

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return equal(self, other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return not_equal(self, other)  # type: ignore[arg-type]

    def __lt__(self, other: Operand) -> Expr:
        return less(self, other)

    def __le__(self, other: Operand) -> Expr:
        return less_equal(self, other)

    def __gt__(self, other: Operand) -> Expr:
        return less(other, self)

    def __ge__(self, other: Operand) -> Expr:
        return less_equal(other, self)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value while the loop nest is built; use select or if_then_else")

    def astype(self, dtype: str) -> Expr:
        """This value converted to another dtype."""
        return cast(self, dtype)

    def equal(self, other: Operand) -> Expr:
        """`self == other` as an expression."""
        return equal(self, other)

    def __repr__(self) -> str:
        return from_above("tir.show", "show_expr")(self)


class Const(Expr):
    """A literal. `value` is a Python int or float that the dtype holds exactly."""

    __slots__ = ("value",)

    def __init__(self, value: int | float, dtype: str) -> None:
        self.value = value
        self.dtype = dtype


class Var(Expr):
    """A variable: a loop's, a `Let`'s, or a parameter."""

    __slots__ = ("name",)

    def __init__(self, name: str, dtype: str = INDEX) -> None:
        self.name = name
        self.dtype = dtype


class Axis(Var):
    """A variable that runs over `begin … begin + extent - 1`: an axis of a tensor, or of a reduction."""

    __slots__ = ("begin", "extent", "reduced")

    def __init__(self, name: str, extent: int, begin: int = 0, reduced: bool = False, dtype: str = INDEX) -> None:
        self.name = name
        self.dtype = dtype
        self.begin = begin
        self.extent = extent
        self.reduced = reduced

    @property
    def var(self) -> Axis:
        """The axis itself, for those used to an axis and its variable being two things."""
        return self


class Binary(Expr):
    """`a op b`. `op` is one of `+ - * / floordiv floormod truncdiv truncmod min max < <= == != and or << >> & | ^`."""

    __slots__ = ("a", "b", "op")

    def __init__(self, op: str, a: Expr, b: Expr, dtype: str) -> None:
        self.op = op
        self.a = a
        self.b = b
        self.dtype = dtype


class Not(Expr):
    """Logical negation of a bool."""

    __slots__ = ("value",)

    def __init__(self, value: Expr) -> None:
        self.value = value
        self.dtype = "bool"


class Cast(Expr):
    """`value` converted to `dtype`; floats are truncated towards zero."""

    __slots__ = ("value",)

    def __init__(self, value: Expr, dtype: str) -> None:
        self.value = value
        self.dtype = dtype


class Select(Expr):
    """`then` where `cond`, else `other`. If `lazy`, the branch not taken must not be evaluated (it may read outside)."""

    __slots__ = ("cond", "lazy", "other", "then")

    def __init__(self, cond: Expr, then: Expr, other: Expr, lazy: bool) -> None:
        self.cond = cond
        self.then = then
        self.other = other
        self.lazy = lazy
        self.dtype = then.dtype


class Call(Expr):
    """A pure intrinsic: `exp`, `sqrt`, `popcount` …"""

    __slots__ = ("args", "name")

    def __init__(self, name: str, args: tuple[Expr, ...], dtype: str) -> None:
        self.name = name
        self.args = args
        self.dtype = dtype


class Load(Expr):
    """An element: of a tensor of tensor expressions, or of a buffer of a loop nest."""

    __slots__ = ("indices", "source")

    def __init__(self, source: Any, indices: tuple[Expr, ...]) -> None:
        self.source = source
        self.indices = indices
        self.dtype = source.dtype


class Reduce(Expr):
    """Value number `index` of a reduction of `sources` over `axes`; part of tensor expressions only.

    `reducer` has `identity(dtypes)` and `combine(x, y)`, both on tuples; elements where `condition` is false do not count.
    """

    __slots__ = ("axes", "condition", "index", "reducer", "sources")

    def __init__(
        self, reducer: Any, sources: tuple[Expr, ...], axes: tuple[Axis, ...], condition: Expr | None, index: int
    ) -> None:
        self.reducer = reducer
        self.sources = sources
        self.axes = axes
        self.condition = condition
        self.index = index
        self.dtype = sources[index].dtype


Operand = Expr | int | float | bool

# ---------------------------------------------------------------------------------------------------------------------
# Walking


def _no_children(e: Any) -> tuple[Expr, ...]:
    return ()


_CHILDREN: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Const: _no_children,
    Var: _no_children,
    Axis: _no_children,
    Binary: lambda e: (e.a, e.b),
    Not: lambda e: (e.value,),
    Cast: lambda e: (e.value,),
    Select: lambda e: (e.cond, e.then, e.other),
    Call: lambda e: e.args,
    Load: lambda e: e.indices,
    Reduce: lambda e: e.sources if e.condition is None else (*e.sources, e.condition),
}


def children(e: Expr) -> tuple[Expr, ...]:
    """The expressions directly below."""
    return _CHILDREN[e.__class__](e)


_REBUILD: dict[type, Callable[[Any, Sequence[Expr]], Expr]] = {
    Binary: lambda e, k: BUILDERS[e.op](k[0], k[1]),
    Not: lambda e, k: logical_not(k[0]),
    Cast: lambda e, k: cast(k[0], e.dtype),
    Select: lambda e, k: if_then_else(*k) if e.lazy else select(*k),
    Call: lambda e, k: Call(e.name, tuple(k), e.dtype),
    Load: lambda e, k: Load(e.source, tuple(k)),
    Reduce: lambda e, k: Reduce(
        e.reducer, tuple(k[: len(e.sources)]), e.axes, k[-1] if e.condition is not None else None, e.index
    ),
}


def rebuild(e: Expr, kids: Sequence[Expr]) -> Expr:
    """`e` over other children, folded again; `e` itself if they are the same objects."""
    for old, new in zip(children(e), kids):
        if old is not new:
            return _REBUILD[e.__class__](e, kids)
    return e


def post_order(*roots: Expr, known: Iterable[Expr] = ()) -> list[Expr]:
    """Every node below the roots, once, children first; nothing of what is `known`, or only below that."""
    seen: set[Expr] = set(known)
    order: list[Expr] = []
    stack: list[Expr | None] = list(reversed(roots))
    while stack:
        e = stack.pop()
        if e is None:
            order.append(stack.pop())  # type: ignore[arg-type]
            continue
        if e in seen:
            continue
        seen.add(e)
        kids = _CHILDREN[e.__class__](e)
        if not kids:
            order.append(e)
            continue
        stack.append(e)
        stack.append(None)
        stack.extend(kids[::-1])
    return order


def rewrite(root: Expr, change: Callable[[Expr], Expr], memo: dict[Expr, Expr] | None = None) -> Expr:
    """`root` with `change(node)` applied to every node after its children; sharing is kept. `memo` gives fixed results."""
    done: dict[Expr, Expr] = {} if memo is None else memo
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        e, ready = stack.pop()
        if e in done:
            continue
        kids = _CHILDREN[e.__class__](e)
        if not ready and kids:
            stack.append((e, True))
            stack.extend((k, False) for k in kids if k not in done)
            continue
        done[e] = change(rebuild(e, [done[k] for k in kids]) if kids else e)
    return done[root]


def substitute(root: Expr, values: dict[Any, Expr]) -> Expr:
    """`root` with variables replaced."""
    if not values:
        return root
    return rewrite(root, lambda e: e, memo=dict(values))


def variables(*roots: Expr) -> list[Var]:
    """Variables used below the roots, in order of first use."""
    return [e for e in post_order(*roots) if isinstance(e, Var)]


# ---------------------------------------------------------------------------------------------------------------------
# Building


def const(value: int | float | bool, dtype: str | None = None) -> Const:
    """A literal; without a dtype: bool, int32 (int64 where it must be) or float32."""
    if dtype is None:
        if isinstance(value, bool):
            dtype = "bool"
        elif isinstance(value, int):
            dtype = "int32" if -(1 << 31) <= value < 1 << 31 else "int64"
        else:
            dtype = "float32"
    return Const(dtypes.round_to(value, dtype), dtype)


def as_expr(value: Any, dtype: str | None = None) -> Expr:
    """`value` as an expression: numbers become literals, a tensor of rank 0 its element."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, int | float):
        return const(value, dtype)
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", None) == 0:  # numpy scalar
        return const(item(), dtype or str(value.dtype))
    element = getattr(value, "element", None)
    if element is not None:
        return element()
    raise TypeError(f"{type(value).__name__} is not an expression")


def match(a: Operand, b: Operand) -> tuple[Expr, Expr]:
    """Both operands in the dtype they are combined in; a Python number takes the dtype of the other operand."""
    if not isinstance(a, Expr):
        a = _literal_beside(a, b)
    if not isinstance(b, Expr):
        b = _literal_beside(b, a)
    if a.dtype == b.dtype:
        return a, b
    dtype = dtypes.join(a.dtype, b.dtype)
    return cast(a, dtype), cast(b, dtype)


def _literal_beside(value: Any, other: Any) -> Expr:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return as_expr(value)
    if not isinstance(other, Expr):
        return const(value)
    dtype = other.dtype
    if isinstance(value, float) and not dtypes.is_float(dtype):
        return const(value, "float32")
    if dtype == "bool":
        return const(value)
    if isinstance(value, int) and dtypes.is_int(dtype):
        low, high = dtypes.int_range(dtype)
        if not low <= value <= high and not dtypes.is_unsigned(dtype):
            return const(value, "int64")
    return const(value, dtype)


def _fold(op: Callable[[Any, Any], Any], a: Const, b: Const, dtype: str) -> Const:
    return Const(dtypes.round_to(op(a.value, b.value), dtype), dtype)


def _foldable(a: Expr, b: Expr) -> bool:
    """Both literal, and folding in double precision then rounding is exact (not so for 16-bit floats' neighbours)."""
    return a.__class__ is Const and b.__class__ is Const


def add(a: Operand, b: Operand) -> Expr:
    """`a + b`."""
    a, b = match(a, b)
    dtype = a.dtype
    if _foldable(a, b):
        return _fold(operator.add, a, b, dtype)  # type: ignore[arg-type]
    if dtypes.is_float(dtype):
        return Binary("+", a, b, dtype)
    if dtype == "bool":
        return logical_or(a, b)
    if a.__class__ is Const:
        a, b = b, a
    if b.__class__ is Const:
        if b.value == 0:  # type: ignore[attr-defined]
            return a
        if a.__class__ is Binary and a.op == "+" and a.b.__class__ is Const:  # type: ignore[attr-defined]
            return add(a.a, _fold(operator.add, a.b, b, dtype))  # type: ignore[attr-defined, arg-type]
    elif a.__class__ is Binary and a.op == "+" and a.b.__class__ is Const:  # type: ignore[attr-defined]
        return add(add(a.a, b), a.b)  # type: ignore[attr-defined]
    elif b.__class__ is Binary and b.op == "+" and b.b.__class__ is Const:  # type: ignore[attr-defined]
        return add(add(a, b.a), b.b)  # type: ignore[attr-defined]
    return Binary("+", a, b, dtype)


def sub(a: Operand, b: Operand) -> Expr:
    """`a - b`."""
    a, b = match(a, b)
    dtype = a.dtype
    if _foldable(a, b):
        return _fold(operator.sub, a, b, dtype)  # type: ignore[arg-type]
    if dtypes.is_float(dtype):
        return Binary("-", a, b, dtype)
    if dtype == "bool":
        return not_equal(a, b)
    if a is b:
        return const(0, dtype)
    if b.__class__ is Const:
        return add(a, Const(dtypes.round_to(-b.value, dtype), dtype))  # type: ignore[attr-defined]
    if a.__class__ is Binary and a.op == "+":  # type: ignore[attr-defined]
        if a.a is b:  # type: ignore[attr-defined]
            return a.b  # type: ignore[attr-defined]
        if a.b is b:  # type: ignore[attr-defined]
            return a.a  # type: ignore[attr-defined]
        if a.b.__class__ is Const:  # type: ignore[attr-defined]
            return add(sub(a.a, b), a.b)  # type: ignore[attr-defined]
    return Binary("-", a, b, dtype)


def mul(a: Operand, b: Operand) -> Expr:
    """`a * b`."""
    a, b = match(a, b)
    dtype = a.dtype
    if _foldable(a, b):
        return _fold(operator.mul, a, b, dtype)  # type: ignore[arg-type]
    if dtype == "bool":
        return logical_and(a, b)
    if a.__class__ is Const:
        a, b = b, a
    if b.__class__ is Const:
        if b.value == 1:  # type: ignore[attr-defined]
            return a
        if dtypes.is_float(dtype):
            return Binary("*", a, b, dtype)
        if b.value == 0:  # type: ignore[attr-defined]
            return b
        if a.__class__ is Binary and a.b.__class__ is Const:  # type: ignore[attr-defined]
            if a.op == "*":  # type: ignore[attr-defined]
                return mul(a.a, _fold(operator.mul, a.b, b, dtype))  # type: ignore[attr-defined, arg-type]
            if a.op == "+":  # type: ignore[attr-defined]
                return add(mul(a.a, b), _fold(operator.mul, a.b, b, dtype))  # type: ignore[attr-defined, arg-type]
    return Binary("*", a, b, dtype)


def div(a: Operand, b: Operand) -> Expr:
    """`a / b` of floats. Integers have floordiv and truncdiv."""
    a, b = match(a, b)
    if not dtypes.is_float(a.dtype):
        raise TypeError(f"/ on {a.dtype}: write floordiv (//), truncdiv, or cast to a float first")
    if b.__class__ is Const:
        if b.value == 1:  # type: ignore[attr-defined]
            return a
        if a.__class__ is Const and b.value != 0:  # type: ignore[attr-defined]
            return _fold(operator.truediv, a, b, a.dtype)  # type: ignore[arg-type]
    return Binary("/", a, b, a.dtype)


def _truncdiv(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _integer_division(op: str, a: Operand, b: Operand, fold: Callable[[int, int], int]) -> Expr:
    a, b = match(a, b)
    if b.__class__ is Const and b.value != 0:  # type: ignore[attr-defined]
        if a.__class__ is Const:
            return _fold(fold, a, b, a.dtype)  # type: ignore[arg-type]
        if b.value == 1:  # type: ignore[attr-defined]
            return a if op.endswith("div") else const(0, a.dtype)
    if a.__class__ is Const and a.value == 0 and b.__class__ is not Const:  # type: ignore[attr-defined]
        return a
    return Binary(op, a, b, a.dtype)


def floordiv(a: Operand, b: Operand) -> Expr:
    """Quotient rounded down; of floats: floor(a / b). Integer division by zero gives 0."""
    a, b = match(a, b)
    if dtypes.is_float(a.dtype):
        return Call("floor", (div(a, b),), a.dtype)
    if (
        b.__class__ is Const
        and b.value > 0  # type: ignore[attr-defined]
        and a.__class__ is Binary
        and a.op == "floordiv"  # type: ignore[attr-defined]
        and a.b.__class__ is Const  # type: ignore[attr-defined]
        and a.b.value > 0  # type: ignore[attr-defined]
    ):
        return floordiv(a.a, Const(a.b.value * b.value, a.dtype))  # type: ignore[attr-defined]
    return _integer_division("floordiv", a, b, operator.floordiv)


def floormod(a: Operand, b: Operand) -> Expr:
    """Remainder of floordiv: has the divisor's sign. Of floats: a - floor(a / b) * b."""
    a, b = match(a, b)
    if dtypes.is_float(a.dtype):
        return sub(a, mul(floordiv(a, b), b))
    return _integer_division("floormod", a, b, operator.mod)


def truncdiv(a: Operand, b: Operand) -> Expr:
    """Quotient of integers rounded towards zero; of floats: trunc(a / b). Integer division by zero gives 0."""
    a, b = match(a, b)
    if dtypes.is_float(a.dtype):
        return Call("trunc", (div(a, b),), a.dtype)
    return _integer_division("truncdiv", a, b, _truncdiv)


def truncmod(a: Operand, b: Operand) -> Expr:
    """Remainder of truncdiv: has the dividend's sign; of floats: fmod."""
    a, b = match(a, b)
    if dtypes.is_float(a.dtype):
        return Call("fmod", (a, b), a.dtype)
    return _integer_division("truncmod", a, b, lambda x, y: x - y * _truncdiv(x, y))


def minimum(a: Operand, b: Operand) -> Expr:
    """The smaller; where a float is NaN, the result is `b` unless `a < b`."""
    a, b = match(a, b)
    if a is b:
        return a
    if _foldable(a, b) and not dtypes.is_float(a.dtype):
        return _fold(min, a, b, a.dtype)  # type: ignore[arg-type]
    return Binary("min", a, b, a.dtype)


def maximum(a: Operand, b: Operand) -> Expr:
    """The larger; where a float is NaN, the result is `b` unless `a > b`."""
    a, b = match(a, b)
    if a is b:
        return a
    if _foldable(a, b) and not dtypes.is_float(a.dtype):
        return _fold(max, a, b, a.dtype)  # type: ignore[arg-type]
    return Binary("max", a, b, a.dtype)


def nan_minimum(a: Operand, b: Operand) -> Expr:
    """The smaller; NaN if either is (IEEE 754's `minimum`)."""
    return _propagating("minimum", minimum(a, b))


def nan_maximum(a: Operand, b: Operand) -> Expr:
    """The larger; NaN if either is (IEEE 754's `maximum`)."""
    return _propagating("maximum", maximum(a, b))


def _propagating(op: str, e: Expr) -> Expr:
    return Binary(op, e.a, e.b, e.dtype) if isinstance(e, Binary) and dtypes.is_float(e.dtype) else e


def _compare(op: str, a: Operand, b: Operand, fold: Callable[[Any, Any], bool]) -> Expr:
    a, b = match(a, b)
    if _foldable(a, b):
        return const(fold(a.value, b.value), "bool")  # type: ignore[attr-defined]
    if a is b and not dtypes.is_float(a.dtype):
        return const(op in ("<=", "=="), "bool")
    return Binary(op, a, b, "bool")


def less(a: Operand, b: Operand) -> Expr:
    """`a < b`."""
    return _compare("<", a, b, operator.lt)


def less_equal(a: Operand, b: Operand) -> Expr:
    """`a <= b`."""
    return _compare("<=", a, b, operator.le)


def equal(a: Operand, b: Operand) -> Expr:
    """`a == b`."""
    return _compare("==", a, b, operator.eq)


def not_equal(a: Operand, b: Operand) -> Expr:
    """`a != b`."""
    return _compare("!=", a, b, operator.ne)


def as_bool(value: Operand) -> Expr:
    """`value != 0` as a bool."""
    value = as_expr(value)
    return value if value.dtype == "bool" else not_equal(value, const(0, value.dtype))


def logical_and(a: Operand, b: Operand) -> Expr:
    """Both; `b` is evaluated only where `a` holds."""
    a, b = as_bool(a), as_bool(b)
    if a.__class__ is Const:
        return b if a.value else a  # type: ignore[attr-defined]
    if b.__class__ is Const:
        return a if b.value else b  # type: ignore[attr-defined]
    return a if a is b else Binary("and", a, b, "bool")


def logical_or(a: Operand, b: Operand) -> Expr:
    """Either; `b` is evaluated only where `a` does not hold."""
    a, b = as_bool(a), as_bool(b)
    if a.__class__ is Const:
        return a if a.value else b  # type: ignore[attr-defined]
    if b.__class__ is Const:
        return b if b.value else a  # type: ignore[attr-defined]
    return a if a is b else Binary("or", a, b, "bool")


_OPPOSITE = {"==": "!=", "!=": "=="}


def logical_not(value: Operand) -> Expr:
    """The opposite of a bool."""
    value = as_bool(value)
    if value.__class__ is Const:
        return const(not value.value, "bool")  # type: ignore[attr-defined]
    if value.__class__ is Not:
        return value.value  # type: ignore[attr-defined]
    if value.__class__ is Binary and not dtypes.is_float(value.a.dtype):  # type: ignore[attr-defined]
        op, a, b = value.op, value.a, value.b  # type: ignore[attr-defined]
        if op == "<":
            return less_equal(b, a)
        if op == "<=":
            return less(b, a)
        if op in _OPPOSITE:
            return Binary(_OPPOSITE[op], a, b, "bool")
    return Not(value)


def _bitwise(op: str, a: Operand, b: Operand, fold: Callable[[int, int], int]) -> Expr:
    a, b = match(a, b)
    if dtypes.is_float(a.dtype):
        raise TypeError(f"{op} on {a.dtype}")
    if _foldable(a, b):
        return _fold(fold, a, b, a.dtype)  # type: ignore[arg-type]
    return Binary(op, a, b, a.dtype)


def bitwise_and(a: Operand, b: Operand) -> Expr:
    """`a & b`."""
    return _bitwise("&", a, b, operator.and_)


def bitwise_or(a: Operand, b: Operand) -> Expr:
    """`a | b`."""
    return _bitwise("|", a, b, operator.or_)


def bitwise_xor(a: Operand, b: Operand) -> Expr:
    """`a ^ b`."""
    return _bitwise("^", a, b, operator.xor)


def bitwise_not(a: Operand) -> Expr:
    """`~a`."""
    return ~as_expr(a)


def shift_left(a: Operand, b: Operand) -> Expr:
    """`a << b` of integers."""
    return _bitwise("<<", a, b, lambda x, n: x << n if 0 <= n < 64 else 0)


def shift_right(a: Operand, b: Operand) -> Expr:
    """`a >> b` of integers; signed ones keep their sign."""
    return _bitwise(">>", a, b, lambda x, n: x >> max(0, min(n, 64)))


def cast(value: Operand, dtype: str) -> Expr:
    """`value` converted."""
    value = as_expr(value)
    if value.dtype == dtype:
        return value
    if dtype == "bool":
        return as_bool(value)
    if value.__class__ is Const:
        held = value.value  # type: ignore[attr-defined]
        if dtypes.is_float(dtype) or not isinstance(held, float):
            return const(held, dtype)
        if math.isfinite(held) and dtypes.int_range(dtype)[0] <= held <= dtypes.int_range(dtype)[1]:
            return const(int(held), dtype)
    return Cast(value, dtype)


def _branches(cond: Operand, then: Operand, other: Operand, lazy: bool) -> Expr:
    cond = as_bool(cond)
    then, other = match(then, other)
    if cond.__class__ is Const:
        return then if cond.value else other  # type: ignore[attr-defined]
    if then is other:
        return then
    return Select(cond, then, other, lazy)


def select(cond: Operand, then: Operand, other: Operand) -> Expr:
    """`then` where `cond` holds, else `other`; both may be evaluated, so both must be safe to."""
    return _branches(cond, then, other, False)


def if_then_else(cond: Operand, then: Operand, other: Operand) -> Expr:
    """`then` where `cond` holds, else `other`; only that branch is evaluated (it may guard a read)."""
    return _branches(cond, then, other, True)


def all_of(conditions: Iterable[Operand]) -> Expr:
    """Logical and of them all."""
    found: Expr = const(True)
    for c in conditions:
        found = logical_and(found, c)
    return found


def any_of(conditions: Iterable[Operand]) -> Expr:
    """Logical or of them all."""
    found: Expr = const(False)
    for c in conditions:
        found = logical_or(found, c)
    return found


BUILDERS: dict[str, Callable[[Operand, Operand], Expr]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": div,
    "floordiv": floordiv,
    "floormod": floormod,
    "truncdiv": truncdiv,
    "truncmod": truncmod,
    "min": minimum,
    "max": maximum,
    "minimum": nan_minimum,
    "maximum": nan_maximum,
    "<": less,
    "<=": less_equal,
    "==": equal,
    "!=": not_equal,
    "and": logical_and,
    "or": logical_or,
    "<<": shift_left,
    ">>": shift_right,
    "&": bitwise_and,
    "|": bitwise_or,
    "^": bitwise_xor,
}
