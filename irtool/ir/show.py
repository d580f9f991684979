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
    free_type_vars,
    type_variables,
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
    """A type as it stands in text, on one line; `leaf` may write types without parts in another way.

    A type parameter that would hide another type variable of its name is counted up: `fn [T1](T1) -> T`.
    """
    leaf = leaf or show_leaf
    out: list[str] = []
    stack: list[object] = [root]
    inside: dict[Type, list[str]] = {}
    """The names of type parameters of the function types around, where names are not told apart by themselves."""
    alike: bool | None = None
    while stack:
        t = stack.pop()
        if isinstance(t, TypeVar) and inside.get(t):
            out.append(inside[t][-1])
            continue
        text = leaf(t)
        if text is not None:
            out.append(text)
        elif isinstance(t, TupleType):
            stack += reversed(["(", *_commas(t.fields), ",)" if len(t.fields) == 1 else ")"])
        elif isinstance(t, FuncType):
            bound = ["[", *_commas(t.type_params), "]"] if t.type_params else []
            if t.type_params:
                alike = _has_homonyms(root, leaf) if alike is None else alike
                if alike:
                    _name_apart(t, inside, leaf)
                    stack.append(_Left(t))
            stack += reversed(["fn ", *bound, "(", *_commas(t.arg_types), ") -> ", t.ret_type])
        elif isinstance(t, RefType):
            stack += reversed(["ref(", t.value, ")"])
        elif isinstance(t, TypeCall):
            stack += reversed([t.func, "[", *_commas(t.args), "]"])
        elif isinstance(t, _Left):
            for v in t.function.type_params:
                inside[v].pop()
        else:
            out.append(type(t).__name__)
    return "".join(out)


class _Left:
    """Stands behind all of a function type: its type parameters are out of scope."""

    __slots__ = ("function",)

    def __init__(self, function: FuncType) -> None:
        self.function = function


def _has_homonyms(root: Type, leaf: Callable[[object], str | None]) -> bool:
    """True if two type variables in a type, bound or free, have one name."""
    variables = type_variables(root)
    return len({leaf(v) for v in variables}) < len(variables)


def _name_apart(t: FuncType, inside: dict[Type, list[str]], leaf: Callable[[object], str | None]) -> None:
    """Gives the type parameters of a function type names that nothing free in it has."""
    taken = {inside[v][-1] if inside.get(v) else leaf(v) for v in free_type_vars(t)}
    for v in t.type_params:
        stem = name = leaf(v) or v.name
        count = 0
        while name in taken:
            count += 1
            name = f"{stem}{count}"
        taken.add(name)
        inside.setdefault(v, []).append(name)


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
