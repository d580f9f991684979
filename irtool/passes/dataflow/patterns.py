"""The classes of dataflow patterns, and functions that build them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

from ...hooks import Hook
from ...ir import Expr, Type
from ...ops.base import op as operator_node

_matches: Hook[[DFPattern, Expr], bool] = Hook("passes.matches")
_partition: Hook[[DFPattern, Expr, Mapping[str, Any] | None, Any], Expr] = Hook("passes.partition")


class DFPattern:
    """Base of patterns. `p(a, b)` is a call of a callee that `p` matches, `p | q` either, `p + q` … calls of the operators."""

    def parts(self) -> tuple[DFPattern, ...]:
        """The patterns directly below, in the order in which the matched nodes are evaluated."""
        return ()

    def match(self, expr: Expr) -> bool:
        """True if this matches at the expression itself: TVM's word for `matches`."""
        return _matches(self, expr)

    def partition(self, expr: Expr, attrs: Mapping[str, Any] | None = None, check: Any = None) -> Expr:
        """`expr` with each match made a function and called: TVM's word for `dataflow.partition`."""
        return _partition(self, expr, attrs, check)

    def __call__(self, *args: DFPattern) -> CallPattern:
        return CallPattern(self, args)

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("divide")(self, other)

    def has_attr(self, **attrs: Any) -> AttrPattern:
        """The same, with these attributes."""
        return AttrPattern(self, attrs)

    def has_type(self, type: Type) -> TypePattern:
        """The same, of this type."""
        return TypePattern(self, type)

    def has_shape(self, shape: Iterable[Any]) -> ShapePattern:
        """The same, a tensor of this shape."""
        return ShapePattern(self, tuple(shape))

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """The same, a tensor of this dtype."""
        return DataTypePattern(self, dtype)

    def optional(self, wrap: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """This, or `wrap(this)`."""
        return AltPattern(self, wrap(self))

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """This pattern, if all paths to it come from `parent` through nodes that match `path`."""
        return DominatorPattern(parent, path or wildcard(), self)


C = TypeVar("C", bound=type)
Parts = tuple[DFPattern, ...]


@dataclass_transform(eq_default=False)
def _pattern(cls: C) -> C:
    return dataclass(eq=False, slots=True)(cls)  # type: ignore[return-value]  # mypy takes the decorator for one of the class that it is used on


@_pattern
class WildcardPattern(DFPattern):
    """Anything."""


@_pattern
class ConstantPattern(DFPattern):
    """A constant."""


@_pattern
class VarPattern(DFPattern):
    """A variable, of that name unless the name is empty."""

    name: str = ""


@_pattern
class ExprPattern(DFPattern):
    """This very expression, up to structure: mostly an operator."""

    expr: Expr


@_pattern
class CallPattern(DFPattern):
    """A call; any arguments if `args` is None. `add` and `multiply` match with their operands exchanged, too."""

    op: DFPattern
    args: Parts | None

    def parts(self) -> Parts:
        return (self.op, *(self.args or ()))


@_pattern
class FunctionPattern(DFPattern):
    """A function; any parameters if `params` is None."""

    params: Parts | None
    body: DFPattern

    def parts(self) -> Parts:
        return (*(self.params or ()), self.body)


@_pattern
class TuplePattern(DFPattern):
    """A tuple; any fields if `fields` is None."""

    fields: Parts | None

    def parts(self) -> Parts:
        return self.fields or ()


@_pattern
class TupleGetItemPattern(DFPattern):
    """A projection; of any field if `index` is None."""

    tuple: DFPattern
    index: int | None

    def parts(self) -> Parts:
        return (self.tuple,)


@_pattern
class IfPattern(DFPattern):
    """An `if`."""

    cond: DFPattern
    true_branch: DFPattern
    false_branch: DFPattern

    def parts(self) -> Parts:
        return (self.cond, self.true_branch, self.false_branch)


@_pattern
class LetPattern(DFPattern):
    """A `let`."""

    var: DFPattern
    value: DFPattern
    body: DFPattern

    def parts(self) -> Parts:
        return (self.var, self.value, self.body)


@_pattern
class AltPattern(DFPattern):
    """The left one, or else the right one."""

    left: DFPattern
    right: DFPattern

    def parts(self) -> Parts:
        return (self.left, self.right)


@_pattern
class AttrPattern(DFPattern):
    """Attributes of a call, of a function, or of an operator (`TOpPattern`, `TOpIsStateful` …)."""

    pattern: DFPattern
    attrs: Mapping[str, Any]

    def parts(self) -> Parts:
        return (self.pattern,)


@_pattern
class TypePattern(DFPattern):
    """A type."""

    pattern: DFPattern
    type: Type

    def parts(self) -> Parts:
        return (self.pattern,)


@_pattern
class ShapePattern(DFPattern):
    """A tensor's shape."""

    pattern: DFPattern
    shape: tuple[Any, ...]

    def parts(self) -> Parts:
        return (self.pattern,)


@_pattern
class DataTypePattern(DFPattern):
    """A tensor's dtype."""

    pattern: DFPattern
    dtype: str

    def parts(self) -> Parts:
        return (self.pattern,)


@_pattern
class DominatorPattern(DFPattern):
    """`child`, fed by `parent` through any number of nodes that match `path`, with nothing coming in from the side."""

    parent: DFPattern
    path: DFPattern
    child: DFPattern

    def parts(self) -> Parts:
        return (self.parent, self.path, self.child)


def wildcard() -> DFPattern:
    """Anything."""
    return WildcardPattern()


def is_constant() -> DFPattern:
    """A constant."""
    return ConstantPattern()


def is_var(name: str = "") -> DFPattern:
    """A variable, of that name if one is given."""
    return VarPattern(name)


def is_expr(expr: Expr) -> DFPattern:
    """This very expression, up to structure."""
    return ExprPattern(expr)


def is_op(name: str) -> DFPattern:
    """The operator of that name (not a call of it: `is_op("add")(x, y)` is one). Raises UsageError for an unknown one."""
    return ExprPattern(operator_node(name))


def is_call(op: DFPattern, args: Iterable[DFPattern] | None = None) -> DFPattern:
    """A call with any arguments, or with these."""
    return CallPattern(op, None if args is None else tuple(args))


def is_tuple(fields: Iterable[DFPattern] | None = None) -> DFPattern:
    """A tuple of any fields, or of these."""
    return TuplePattern(None if fields is None else tuple(fields))


def is_tuple_get_item(tuple: DFPattern, index: int | None = None) -> DFPattern:
    """A projection of any field, or of that one."""
    return TupleGetItemPattern(tuple, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> DFPattern:
    """An `if`."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> DFPattern:
    """A `let`."""
    return LetPattern(var, value, body)


def has_attr(pattern: DFPattern, attrs: Mapping[str, Any]) -> DFPattern:
    """The pattern, with these attributes."""
    return AttrPattern(pattern, dict(attrs))


def has_type(type: Type, pattern: DFPattern | None = None) -> DFPattern:
    """Anything, or the pattern, of this type."""
    return TypePattern(pattern or wildcard(), type)


def has_shape(shape: Iterable[Any], pattern: DFPattern | None = None) -> DFPattern:
    """Anything, or the pattern, of this shape."""
    return ShapePattern(pattern or wildcard(), tuple(shape))


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DFPattern:
    """Anything, or the pattern, of this dtype."""
    return DataTypePattern(pattern or wildcard(), dtype)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DFPattern:
    """`child`, fed by `parent` alone, through nodes that match `path`."""
    return DominatorPattern(parent, path, child)


def post_order(root: DFPattern) -> list[DFPattern]:
    """Every pattern below the root, once, parts before the whole."""
    seen: set[DFPattern] = set()
    order: list[DFPattern] = []
    stack: list[tuple[DFPattern, bool]] = [(root, False)]
    while stack:
        p, ready = stack.pop()
        if ready:
            order.append(p)
        elif p not in seen:
            seen.add(p)
            stack.append((p, True))
            stack.extend((q, False) for q in reversed(p.parts()))
    return order
