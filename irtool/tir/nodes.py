"""The nodes of scalar expressions, and Python's operators on them.

Nodes are slotted, immutable and compared by identity, so an expression is a DAG. `==`, `<` … on expressions build expressions;
whether two expressions are the same object is asked with `is`. Integers of any width wrap as two's complement;
`floordiv`/`floormod` round down (Python's `//` and `%`), `truncdiv`/`truncmod` towards zero (C's).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..hooks import Hook

_show_expr: Hook[[Expr], str] = Hook("tir.show_expr")

INDEX = "int32"
"""Dtype of loop variables. Backends widen it where a buffer has 2^31 elements or more."""

BUILDERS: dict[str, Callable[..., Expr]] = {}
"""What builds an operation, by its sign. `arithmetic` fills it: nodes know nothing of folding, and Python's operators ask here."""


class Expr:
    """Base of scalar expressions. `dtype` is the dtype of the value."""

    __slots__ = ("dtype",)
    dtype: str

    def __add__(self, other: Operand) -> Expr:
        return BUILDERS["+"](self, other)

    def __radd__(self, other: Operand) -> Expr:
        return BUILDERS["+"](other, self)

    def __sub__(self, other: Operand) -> Expr:
        return BUILDERS["-"](self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return BUILDERS["-"](other, self)

    def __mul__(self, other: Operand) -> Expr:
        return BUILDERS["*"](self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return BUILDERS["*"](other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return BUILDERS["/"](self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return BUILDERS["/"](other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return BUILDERS["floordiv"](self, other)

    def __rfloordiv__(self, other: Operand) -> Expr:
        return BUILDERS["floordiv"](other, self)

    def __mod__(self, other: Operand) -> Expr:
        return BUILDERS["floormod"](self, other)

    def __rmod__(self, other: Operand) -> Expr:
        return BUILDERS["floormod"](other, self)

    def __neg__(self) -> Expr:
        return BUILDERS["negative"](self)

    def __lshift__(self, other: Operand) -> Expr:
        return BUILDERS["<<"](self, other)

    def __rshift__(self, other: Operand) -> Expr:
        return BUILDERS[">>"](self, other)

    def __rlshift__(self, other: Operand) -> Expr:
        return BUILDERS["<<"](other, self)

    def __rrshift__(self, other: Operand) -> Expr:
        return BUILDERS[">>"](other, self)

    def __and__(self, other: Operand) -> Expr:
        return BUILDERS["&"](self, other)

    def __rand__(self, other: Operand) -> Expr:
        return BUILDERS["&"](other, self)

    def __or__(self, other: Operand) -> Expr:
        return BUILDERS["|"](self, other)

    def __ror__(self, other: Operand) -> Expr:
        return BUILDERS["|"](other, self)

    def __xor__(self, other: Operand) -> Expr:
        return BUILDERS["^"](self, other)

    def __rxor__(self, other: Operand) -> Expr:
        return BUILDERS["^"](other, self)

    def __invert__(self) -> Expr:
        return BUILDERS["~"](self)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]  # a comparison builds an expression
        return BUILDERS["=="](self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]  # a comparison builds an expression
        return BUILDERS["!="](self, other)

    def __lt__(self, other: Operand) -> Expr:
        return BUILDERS["<"](self, other)

    def __le__(self, other: Operand) -> Expr:
        return BUILDERS["<="](self, other)

    def __gt__(self, other: Operand) -> Expr:
        return BUILDERS["<"](other, self)

    def __ge__(self, other: Operand) -> Expr:
        return BUILDERS["<="](other, self)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value while the loop nest is built; use select or if_then_else")

    def astype(self, dtype: str) -> Expr:
        """This value converted to another dtype."""
        return BUILDERS["cast"](self, dtype)

    def equal(self, other: Operand) -> Expr:
        """`self == other` as an expression."""
        return BUILDERS["=="](self, other)

    def __repr__(self) -> str:
        return _show_expr(self)


class Const(Expr):
    """A literal. `value` is a Python int or float that the dtype holds exactly, or an extent that the run knows."""

    __slots__ = ("value",)

    def __init__(self, value: int | float, dtype: str) -> None:
        self.value = value
        self.dtype = dtype

    @property
    def int_value(self) -> int:
        """The value of an integer constant, with its formula if it has one; floats are cut."""
        return self.value if isinstance(self.value, int) else int(self.value)


class Var(Expr):
    """A variable: a loop's, a `Let`'s, or a parameter."""

    __slots__ = ("name",)

    def __init__(self, name: str, dtype: str = INDEX) -> None:
        self.name = name
        self.dtype = dtype


class Axis(Var):
    """A variable that runs over `begin … begin + extent - 1`: an axis of a tensor, or of a reduction; of the latter, `window` says
    that its steps are the elements of a window."""

    __slots__ = ("begin", "extent", "reduced", "window")

    def __init__(
        self,
        name: str,
        extent: int,
        begin: int = 0,
        reduced: bool = False,
        dtype: str = INDEX,
        *,
        window: bool = False,
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.begin = begin
        self.extent = extent
        self.reduced = reduced
        self.window = window

    @property
    def var(self) -> Axis:
        """The axis itself, for those used to an axis and its variable being two things."""
        return self


QUOTIENTS = ("floordiv", "truncdiv")
"""The divisions of integers among the `op`s of `Binary`; the others give remainders."""


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
