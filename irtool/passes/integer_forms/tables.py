"""Functions of one byte: elementwise operators between a dequantize and a quantize become a table of 256 bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...deferred import np
from ...ir import Call, Constant, Expr, TensorType
from ...ops.base import Pattern, call, called_operator, is_call_to
from ..core.arithmetic import divide
from ..core.constants import array_constant, has_data
from .requantize import Grid, rounded
from .tensors import BYTES, parameters

_MOST = 64
"""Operators of a function."""

TypeOf = Callable[[Expr], Any]


@dataclass(frozen=True, eq=False)
class Tabulated:
    """Bytes that are `table[source]`; `table` is in the order of the source's bits."""

    source: Expr
    table: np.ndarray

    def looked_up(self, dtype: str) -> Call:
        """The expression. `dtype` is the source's."""
        index = self.source if dtype == "uint8" else call("reinterpret", self.source, dtype="uint8")
        table = array_constant(np.asarray(self.table), str(self.table.dtype))
        return call("take", table, index, axis=0, mode="fast")


def tabulate(e: Expr, grid: Grid, type_of: TypeOf, known: dict[Expr, Tabulated]) -> Tabulated | None:
    """The table of an expression, if it is an elementwise function of one tensor of bytes; None for any other.

    `known` has the tensors that are such functions of another one: what is computed from these is one of that.
    """
    order = _elementwise(e, type_of)
    if order is None:
        return None
    source, values = None, dict[Expr, Expr]()
    for x in order:
        if is_call_to(x, "qnn.dequantize") and not isinstance(x.args[0], Constant):
            tabulated = known.get(x.args[0], Tabulated(x.args[0], _identity(type_of(x.args[0]).dtype)))
            if source not in (None, tabulated.source):
                return None
            source = tabulated.source
            values[x] = call("qnn.dequantize", array_constant(tabulated.table, str(tabulated.table.dtype)), *x.args[1:])
        elif isinstance(x, Constant):
            values[x] = array_constant(np.asarray(x.data).reshape(()), x.dtype)
        elif isinstance(x, Call):
            values[x] = Call(x.op, tuple(values[a] for a in x.args), x.attrs)
    if source is None:
        return None
    from ...interp.evaluate import evaluate_expr

    scaled = divide(values[e], array_constant(np.asarray(grid.scale), "float32"))
    with np.errstate(all="ignore"):
        table = np.asarray(evaluate_expr(rounded(scaled, grid).expr))
    return Tabulated(source, table) if table.shape == (256,) else None


def _identity(dtype: str) -> np.ndarray:
    return np.arange(256, dtype=np.uint8).view(dtype)


def _elementwise(e: Expr, type_of: TypeOf) -> list[Expr] | None:
    """The operators of an elementwise function, operands first, down to dequantized bytes; None for any other."""
    whole = type_of(e)
    order: dict[Expr, None] = {}
    stack: list[tuple[Expr, bool]] = [(e, False)]
    while stack:
        x, ready = stack.pop()
        if ready:
            order[x] = None
            continue
        if x in order:
            continue
        stack.append((x, True))
        if isinstance(x, Constant):
            if not has_data(x) or np.asarray(x.data).size != 1:
                return None
        elif is_call_to(x, "qnn.dequantize"):
            if not _are_bytes(x, whole, type_of):
                return None
            stack += [(a, False) for a in x.args if isinstance(x.args[0], Constant)]
        elif isinstance(x, Call) and _is_elementwise(x, whole, type_of) and len(order) + len(stack) < _MOST:
            stack += [(a, False) for a in x.args]
        else:
            return None
    return list(order)


def _are_bytes(e: Call, whole: Any, type_of: TypeOf) -> bool:
    """True for bytes of the whole's shape with one scale and zero point, and for a number that is dequantized."""
    if isinstance(e.args[0], Constant):
        return True
    t, quantities = type_of(e.args[0]), parameters(*e.args[1:])
    if quantities is None or quantities[0].ndim or quantities[1].ndim:
        return False
    return isinstance(t, TensorType) and t.dtype in BYTES and t.shape == whole.shape


def _is_elementwise(e: Call, whole: Any, type_of: TypeOf) -> bool:
    operator = called_operator(e)
    if operator is None or operator.pattern not in (Pattern.ELEMWISE, Pattern.BROADCAST):
        return False
    t = type_of(e)
    return isinstance(t, TensorType) and t.shape == whole.shape
