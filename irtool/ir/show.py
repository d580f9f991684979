"""Short one-line forms of types and expressions for messages and debuggers (the printer makes the real text)."""

from __future__ import annotations

from collections.abc import Callable

from .dims import ANY, Int64
from .expr import Call, Constant, Constructor, Expr, GlobalVar, Op, TupleGetItem, Var
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
)


def show_dim(d: object) -> str:
    """One dimension as it stands in text."""
    if d is ANY:
        return "?"
    return f"{int(d)}i64" if isinstance(d, Int64) else str(d)


def show_leaf(t: object) -> str | None:
    """A type without parts as it stands in text, None for any other; a string is itself."""
    if isinstance(t, TensorType):
        if not t.shape:
            return t.dtype
        return f"Tensor[({', '.join(map(show_dim, t.shape))}), {t.dtype}]"
    if isinstance(t, TypeVar | GlobalTypeVar):
        return t.name
    if isinstance(t, IncompleteType):
        return "_"
    return t if isinstance(t, str) else None


def _commas(parts: tuple[Type, ...]) -> list[object]:
    out: list[object] = []
    for i, p in enumerate(parts):
        out += [", ", p] if i else [p]
    return out


def show_type(root: Type, leaf: Callable[[object], str | None] | None = None) -> str:
    """A type as it stands in text, on one line; `leaf` may write types without parts in another way."""
    leaf = leaf or show_leaf
    out: list[str] = []
    stack: list[object] = [root]
    while stack:
        t = stack.pop()
        text = leaf(t)
        if text is not None:
            out.append(text)
        elif isinstance(t, TupleType):
            stack += reversed(["(", *_commas(t.fields), ",)" if len(t.fields) == 1 else ")"])
        elif isinstance(t, FuncType):
            bound = ["[", *_commas(t.type_params), "]"] if t.type_params else []
            stack += reversed(["fn ", *bound, "(", *_commas(t.arg_types), ") -> ", t.ret_type])
        elif isinstance(t, RefType):
            stack += reversed(["ref(", t.value, ")"])
        elif isinstance(t, TypeCall):
            stack += reversed([t.func, "[", *_commas(t.args), "]"])
        else:
            out.append(type(t).__name__)
    return "".join(out)


def show_expr(e: Expr) -> str:
    """The head of an expression: enough to recognise it in a message."""
    if isinstance(e, Var):
        return f"%{e.name}"
    if isinstance(e, GlobalVar):
        return f"@{e.name}"
    if isinstance(e, Op | Constructor):
        return e.name
    if isinstance(e, Call):
        return f"{show_expr(e.op) if not isinstance(e.op, Call) else '(…)'}(…)"
    if isinstance(e, TupleGetItem):
        return f"….{e.index}"
    if isinstance(e, Constant):
        return "constant"
    return type(e).__name__
