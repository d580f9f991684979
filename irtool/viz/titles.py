"""The text in the box of an expression: a title, and the attributes that tell it from others of its kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from ..ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Match,
    MissingData,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    Var,
    post_order,
)
from ..ir.show import show_expr
from .families import family_of
from .short_text import brief_type, cut

_LONGEST = 34
_MOST_LINES = 4
_MOST_OPERATORS = 3
_TITLES = {If: "if", Match: "match", RefCreate: "ref", RefRead: "ref_read", RefWrite: "ref_write", Tuple: "tuple"}


def title_of(e: Expr) -> str:
    """The title of the box of an expression."""
    if isinstance(e, Call):
        if isinstance(e.op, Function):
            return title_of_function(e.op)
        return e.op.name.removeprefix("nn.") if isinstance(e.op, Op) else cut(show_expr(e.op), _LONGEST)
    if isinstance(e, Function):
        return title_of_function(e)
    if isinstance(e, Constant | Var | GlobalVar | Op | Constructor):
        return cut(show_expr(e), _LONGEST)
    return _TITLES.get(type(e), type(e).__name__)


def title_of_function(f: Function) -> str:
    """The operators of a kernel; the purpose of another function."""
    if "Compiler" in f.attrs:
        return cut(f"{f.attrs['Compiler']}: {f.attrs.get('global_symbol', '')}", _LONGEST)
    if "Composite" in f.attrs:
        return cut(str(f.attrs["Composite"]), _LONGEST)
    if not f.attrs.get("Primitive"):
        return "fn"
    names = [e.op_name.rpartition(".")[2] for e in main_calls(f)]
    more = len(names) - _MOST_OPERATORS
    return cut(" · ".join(names[:_MOST_OPERATORS]) + (f" · +{more}" if more > 0 else ""), _LONGEST + 8) or "fused"


def main_calls(f: Function) -> list[Call]:
    """The calls of operators in a kernel, those left out that only change shapes, if there are others."""
    calls = [e for e in post_order(f.body) if isinstance(e, Call) and isinstance(e.op, Op)]
    return [c for c in calls if family_of(c.op_class) != "shape"] or calls


def details_of(e: Expr, weights: Iterator[tuple[str, Expr]]) -> tuple[str, ...]:
    """Lines below the title: attributes that differ from their defaults, and weights by the name of their place."""
    lines: list[str] = []
    line = ""
    for part in _attributes(e):
        if line and len(line) + len(part) + 2 > _LONGEST:
            lines.append(line)
            line = ""
        line = f"{line}, {part}" if line else cut(part, _LONGEST)
    lines += [line] if line else []
    lines += [cut(f"{name} {_value(w)}".strip(), _LONGEST) for name, w in weights]
    return tuple(lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], f"+{len(lines) - 3} more"])


def _attributes(e: Expr) -> Iterator[str]:
    attrs = e.attrs if isinstance(e, Call) else None
    if not dataclasses.is_dataclass(attrs):
        return
    for f in dataclasses.fields(attrs):
        value = getattr(attrs, f.name)
        if f.name not in _EVIDENT and value not in (None, "") and not _is_default(value, f.default):
            yield f"{f.name} {_shown(value, f.name)}"


_EVIDENT = ("channels", "units", "out_dtype", "newshape")
"""Attributes that the type of the result shows."""


def _is_default(value: Any, default: Any) -> bool:
    if repr(value) == repr(default):
        return True
    if not isinstance(value, tuple) or len(set(map(repr, value))) != 1:
        return False
    every = default if isinstance(default, tuple) else (default,)
    return {repr(value[0])} == set(map(repr, every))


def _shown(value: Any, name: str = "") -> str:
    if not isinstance(value, tuple):
        return str(value)
    if name.endswith("size"):
        return "×".join(map(_shown, value))
    if len(value) > 1 and len(set(map(repr, value))) == 1:
        return _shown(value[0])
    return f"({', '.join(map(_shown, value))})"


def _value(e: Expr) -> str:
    """A constant's value if it is a scalar, else the type."""
    if (
        isinstance(e, Constant)
        and not isinstance(e.data, MissingData)
        and e.data.ndim == 0
        and e.dtype == str(e.data.dtype)
    ):
        return f"{e.data.item():.6g}" if e.dtype == "float32" else str(e.data.item())
    t = e.checked_type or (e.type_annotation if isinstance(e, Constant) else None)
    return brief_type(t) or "constant"
