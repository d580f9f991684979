"""Types of Relay in the notation of Relax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import FuncType, RefType, TensorType, TupleType, Type, TypeCall
from ...ir.dims import DimVar
from ...ir.types import type_children
from .literals import parenthesized

DTYPES = frozenset(
    ("bool", "float16", "float32", "float64", "bfloat16")
    + tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
)
"""The dtypes that a tensor of Relax may have and TVM compiles."""

Symbol = Callable[[Any], str]
"""What a dimension that is no number is called; the empty string where it has no name."""


def nameless(dim: Any) -> str:
    """No dimension has a name."""
    return ""


def type_text(root: Type, symbol: Symbol = nameless, in_body: bool = False) -> str:
    """The annotation: `R.Tensor((1, "n"), dtype="float32")`; a function is `R.Any`, as closures are values of no other type.

    In the body of a function, names of dimensions are variables; in its head they stand in quotes.
    """
    done: dict[int, str] = {}
    stack: list[tuple[Type, bool]] = [(root, False)]
    while stack:
        t, ready = stack.pop()
        if isinstance(t, TupleType):
            if not ready:
                stack.append((t, True))
                stack.extend((f, False) for f in t.fields)
            else:
                done[id(t)] = f"R.Tuple({', '.join(done[id(f)] for f in t.fields)})"
        elif isinstance(t, TensorType):
            done[id(t)] = _tensor(t, symbol, in_body)
        else:
            assert isinstance(t, FuncType), f"{t} is no type of Relax"
            done[id(t)] = "R.Any"
    return done[id(root)]


def _tensor(t: TensorType, symbol: Symbol, in_body: bool) -> str:
    dims = [str(int(d)) if isinstance(d, int) else symbol(d) for d in t.shape]
    if not all(dims):
        return f'R.Tensor(dtype="{t.dtype}", ndim={len(dims)})'
    shown = [d if d.isdigit() or in_body else f'"{d}"' for d in dims]
    return f'R.Tensor({parenthesized(shown)}, dtype="{t.dtype}")' if dims else f'R.Tensor((), dtype="{t.dtype}")'


def is_settled(root: Type) -> bool:
    """True if every shape is known and there are no functions: Relax must infer an equal type."""
    stack = [root]
    while stack:
        t = stack.pop()
        if isinstance(t, FuncType) or (isinstance(t, TensorType) and not t.is_static):
            return False
        stack.extend(type_children(t))
    return True


def why_not(root: Type) -> tuple[str, str]:
    """The part of a type without a form in Relax, and the reason; empty if all of it has one."""
    stack = [root]
    while stack:
        t = stack.pop()
        if isinstance(t, RefType):
            return "a reference", "Relax has no mutable cells"
        if isinstance(t, TensorType):
            if t.dtype not in DTYPES:
                return f"the dtype {t.dtype or 'void'}", "TVM compiles no tensors of it"
            if any(not isinstance(d, int) and isinstance(d, DimVar) and d.missing for d in t.shape):
                return "a dimension of the metadata section", "the section was cut off"
        elif isinstance(t, TupleType | FuncType):
            if isinstance(t, FuncType) and t.type_params:
                return "a polymorphic function as a value", "functions of Relax have no type parameters"
            stack.extend(type_children(t))
        elif isinstance(t, TypeCall) or t is not None:
            return f"the type {t}", "Relax has no algebraic data types"
    return "", ""
