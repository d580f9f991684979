"""Differences of two modules: the pairs of nodes in equal positions that are not the same, from the outside in.

The two are walked side by side as `structural_equal` compares them. Below a pair that differs nothing is compared, for there
nothing corresponds any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..diagnostics import Span
from .adt import Pattern, PatternConstructor, PatternTuple, PatternVar
from .attributes import described
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
    Tuple,
    TupleGetItem,
    Var,
    children,
)
from .module import Module
from .show import show_expr
from .structural import structural_equal

_KINDS = {
    Var: "a variable", Constant: "a constant", Call: "a call", Tuple: "a tuple", TupleGetItem: "a field of a tuple",
    Function: "a function", Let: "a let", If: "an if", Match: "a match", GlobalVar: "a function of the module",
}  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """One place where two modules differ.

    Attributes:
        function: the name of the function around it; empty for parts of the module.
        left, right: the nodes, None for a node that only the other side has.
        message: a sentence about the difference.
        left_span, right_span: where these nodes, or the innermost around them that have a place, stand.
    """

    function: str
    left: Any
    right: Any
    message: str
    left_span: Span | None = None
    right_span: Span | None = None


def differences(a: Module, b: Module) -> Iterator[Difference]:
    """Each place where the modules differ, in the order of the left one; none does not mean that they are equal:
    sharing may differ too."""
    for name in (*a.functions, *(n for n in b.functions if n not in a.functions)):
        f, g = a.functions.get(name), b.functions.get(name)
        if f is None or g is None:
            side = "right" if f is None else "left"
            spans = getattr(f, "span", None), getattr(g, "span", None)
            yield Difference(name, f, g, f"only the {side} module has this function", *spans)
        elif f is not g and not structural_equal(f, g):
            if isinstance(f, Function) and isinstance(g, Function):
                yield from _Walk(name).compare(f, g)
            else:
                yield Difference(name, f, g, "the functions differ, and at least one of them is no Relay")
    for name in (*a.type_definitions, *(n for n in b.type_definitions if n not in a.type_definitions)):
        s, t = a.type_definitions.get(name), b.type_definitions.get(name)
        if s is None or t is None:
            message = f"only the {'right' if s is None else 'left'} module has the type {name}"
            yield Difference("", s, t, message, getattr(s, "span", None), getattr(t, "span", None))
        elif not structural_equal(Module({}, {name: s}), Module({}, {name: t})):
            yield Difference("", s, t, f"the definitions of the type {name} differ", s.span, t.span)


class _Walk:
    """Walks two functions side by side, on a list of pairs, so that no depth needs Python's stack."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.partner: dict[Expr, Expr] = {}
        self.binder: dict[Var, Var] = {}
        self.bound: set[Var] = set()
        """Variables of the right side that are bound."""

    def compare(self, f: Function, g: Function) -> Iterator[Difference]:
        stack: list[tuple[Expr, Expr, Span | None, Span | None]] = [(f, g, f.span, g.span)]
        while stack:
            x, y, s, t = stack.pop()
            s, t = x.span or s, y.span or t
            if isinstance(x, Var) and isinstance(y, Var):
                message = self._variables(x, y)
            elif x in self.partner:
                # Nodes shared on both sides have been compared; others are another value, or the same value computed twice.
                message = "" if self.partner[x] is y or structural_equal(x, y) else "sharing differs"
                x_is_known = True
            else:
                x_is_known = False
                message = "" if x.__class__ is y.__class__ else f"{_kind(x)} on the left, {_kind(y)} on the right"
                message = message or self._own(x, y)
            if message:
                yield Difference(self.function, x, y, message, s, t)
            elif not isinstance(x, Var) and not x_is_known:
                self.partner[x] = y
                stack.extend((c, d, s, t) for c, d in reversed(list(zip(_parts(x), _parts(y), strict=True))))

    def _variables(self, x: Var, y: Var) -> str:
        if x in self.binder or y in self.bound:
            return "" if self.binder.get(x) is y else f"%{x.name} on the left, %{y.name} on the right"
        return "" if x.name == y.name else f"the free variables %{x.name} and %{y.name}"

    def _bind(self, bound_pairs: Any) -> str:
        for v, w in bound_pairs:
            self.binder[v] = w
            self.bound.add(w)
            if not _same_type(v.type_annotation, w.type_annotation):
                return f"the type of %{v.name}: {_type(v.type_annotation)} on the left, {_type(w.type_annotation)} on the right"
        return ""

    def _own(self, x: Any, y: Any) -> str:
        """The difference of the nodes themselves; binds their variables to each other."""
        if isinstance(x, Constant):
            return _constants(x, y)
        if isinstance(x, Op | Constructor | GlobalVar):
            return "" if x.name == y.name else f"{show_expr(x)} on the left, {show_expr(y)} on the right"
        if isinstance(x, Call):
            return _calls(x, y)
        if isinstance(x, TupleGetItem):
            return "" if x.index == y.index else f"field {x.index} on the left, field {y.index} on the right"
        if isinstance(x, Tuple):
            return _counts("fields", x.fields, y.fields)
        if isinstance(x, Function):
            return (
                _counts("parameters", x.params, y.params)
                or _counts("type parameters", x.type_params, y.type_params)
                or self._bind(zip(x.params, y.params, strict=True))
                or _attributes("the function's attribute", dict(x.attrs or {}), dict(y.attrs or {}))
                or ("" if _same_type(x.ret_type, y.ret_type) else _results(x, y))
            )
        if isinstance(x, Let):
            return self._bind([(x.var, y.var)])
        if isinstance(x, Match):
            if x.complete != y.complete or len(x.clauses) != len(y.clauses):
                return f"{len(x.clauses)} clauses on the left, {len(y.clauses)} on the right"
            for c, d in zip(x.clauses, y.clauses, strict=True):
                bound_pairs = _patterns(c.pattern, d.pattern)
                if bound_pairs is None:
                    return "the patterns differ"
                if reason := self._bind(bound_pairs):
                    return reason
        return ""


def _parts(x: Expr) -> tuple[Expr, ...]:
    """The nodes to compare next; variables of a function or a `let` have been compared."""
    if isinstance(x, Function):
        return (x.body,)
    if isinstance(x, Let):
        return x.value, x.body
    return tuple(children(x))


def _kind(x: Expr) -> str:
    head = show_expr(x) if isinstance(x, Call | Var | GlobalVar | Op | Constructor) else ""
    return head or _KINDS.get(x.__class__, type(x).__name__)


def _calls(x: Call, y: Call) -> str:
    if isinstance(x.op, Op) and isinstance(y.op, Op) and x.op.name != y.op.name:
        return f"{x.op.name} on the left, {y.op.name} on the right"
    reason = _counts("arguments", x.args, y.args)
    if reason or (x.attrs is None and y.attrs is None):
        return reason
    return _attributes("attribute", _described(x.attrs), _described(y.attrs))


def _described(attrs: Any) -> dict[str, Any]:
    if attrs is None:
        return {}
    if isinstance(attrs, dict) or not hasattr(attrs, "__dataclass_fields__"):
        return dict(attrs) if isinstance(attrs, dict) else {"attributes": attrs}
    return dict(described(attrs))


def _attributes(what: str, x: dict[str, Any], y: dict[str, Any]) -> str:
    missing = object()
    for key in (*x, *(k for k in y if k not in x)):
        v, w = x.get(key, missing), y.get(key, missing)
        if v is missing or w is missing:
            return (
                f"{what} {key} is {_value(w if v is missing else v)} on the {'right' if v is missing else 'left'} only"
            )
        if v is not w and not structural_equal(v, w):
            return f"{what} {key}: {_value(v)} on the left, {_value(w)} on the right"
    return ""


def _value(value: Any) -> str:
    text = f"{list(value)!r}" if isinstance(value, tuple) else f"{value!r}"
    return text if len(text) <= 60 else text[:59] + "…"


def _counts(what: str, x: Any, y: Any) -> str:
    return "" if len(x) == len(y) else f"{len(x)} {what} on the left, {len(y)} on the right"


def _same_type(s: Any, t: Any) -> bool:
    return s is t or s == t or (s is not None and t is not None and structural_equal(s, t))


def _type(t: Any) -> str:
    return "none" if t is None else repr(t)


def _results(x: Function, y: Function) -> str:
    return f"the type of the result: {_type(x.ret_type)} on the left, {_type(y.ret_type)} on the right"


def _patterns(x: Pattern, y: Pattern) -> list[tuple[Var, Var]] | None:
    """The variables that two patterns bind in the same places, or None if the patterns differ."""
    bound_pairs: list[tuple[Var, Var]] = []
    stack = [(x, y)]
    while stack:
        p, q = stack.pop()
        if p.__class__ is not q.__class__:
            return None
        if isinstance(p, PatternVar) and isinstance(q, PatternVar):
            bound_pairs.append((p.var, q.var))
        elif isinstance(p, PatternConstructor | PatternTuple) and isinstance(q, PatternConstructor | PatternTuple):
            names = [r.constructor.name for r in (p, q) if isinstance(r, PatternConstructor)]
            if len(set(names)) > 1 or len(p.patterns) != len(q.patterns):
                return None
            stack.extend(zip(p.patterns, q.patterns, strict=True))
    return bound_pairs


def _constants(x: Constant, y: Constant) -> str:
    """The difference of two constants: in type, or the number of different elements, the largest difference and its place."""
    if isinstance(x.data, MissingData) or isinstance(y.data, MissingData):
        return "" if structural_equal(x, y) else "a value is not in the text, so the two cannot be compared"
    import numpy as np

    a, b = np.asarray(x.data), np.asarray(y.data)
    if x.dtype != y.dtype or a.shape != b.shape:
        return f"{x.dtype}{list(a.shape)} on the left, {y.dtype}{list(b.shape)} on the right"
    if structural_equal(x, y):
        return ""
    if not a.shape:
        return f"{a.item()!r} on the left, {b.item()!r} on the right"
    if a.dtype.kind in "fV":  # bfloat16 is of no kind that numpy knows
        p, q = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(invalid="ignore"):
            gap = np.abs(p - q)
        gap = np.where(p == q, 0.0, np.where(np.isnan(p) & np.isnan(q), 0.0, np.where(np.isnan(gap), np.inf, gap)))
        differ = gap != 0
    else:
        differ = a != b
        gap = np.where(differ, np.abs(a.astype(np.float64) - b.astype(np.float64)), 0.0)
    count = int(np.count_nonzero(differ))
    if not count:
        return f"the {a.size} elements are equal, but for the signs of zeros"
    indices = [int(i) for i in np.unravel_index(int(np.argmax(np.where(differ, gap, -1.0))), a.shape)]
    largest = f"largest {float(gap[tuple(indices)]):.6g} at {indices}: {a[tuple(indices)].item()!r} on the left, {b[tuple(indices)].item()!r} on the right"
    return f"{count} of {a.size} elements differ, {largest}"
