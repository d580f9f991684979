"""Memory limits of a model: the sizes of its tensors, and of arrays made of its extents during import.

A number in a model can be as large as 2^63 - 1. Whatever is as large as such a number says is asked for here first, so that a
damaged model is refused wherever it is imported, however much memory there is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...ir import TensorType, Type, tuple_leaves
from ...ir.attributes import formulas
from ...symbolic_int import nominal
from .mistakes import DamagedModel, UnknownExtent, UnsupportedNode

MOST_ELEMENTS = 1 << 48
"""Elements of a tensor; of one with an extent of 0, what the others have room for."""
MOST_AXES = 32
MOST_MADE = 1 << 26
"""Elements of an array that is made while importing."""
MOST_NODES = 1 << 12
"""Expressions that one node may become for each of its extents."""


def has_room(shape: Sequence[Any]) -> bool:
    """True if a tensor can have that shape; extents that are not known are taken for 1, lengths without bounds for usual ones."""
    extents = [nominal(d) for d in shape if isinstance(d, int)]
    return all(d >= 0 for d in extents) and _room(extents) <= MOST_ELEMENTS and len(shape) <= MOST_AXES


def shown(shape: Sequence[Any]) -> str:
    """A shape in a message, in which long ones are cut."""
    more = ", …" if len(shape) > MOST_AXES else ""
    return f"({', '.join(map(str, shape[:MOST_AXES]))}{more})"


def require_shape(shape: Sequence[Any], what: str) -> None:
    """Raises IrError for a shape that no tensor can have; `what` names the tensor in it."""
    if not has_room(shape):
        raise IrError(f"{what} has the shape {shown(shape)}", code=DamagedModel)


def require_tensors(t: Type, what: str) -> None:
    """Raises IrError for a type with a tensor that is too large; `what` names the tensor in it."""
    for leaf in tuple_leaves(t):
        if isinstance(leaf, TensorType):
            require_shape(leaf.shape, what)


def require_room(shape: Sequence[int], what: str) -> None:
    """Raises IrError unless an array of that shape may be made while importing."""
    require_numbers(shape, what)
    if any(d < 0 for d in shape) or _room(shape) > MOST_MADE:
        raise IrError(
            f"{what} would be an array of the shape {shown(shape)}: more than {MOST_MADE} elements",
            code=UnsupportedNode,
        )


def require_numbers(extents: Sequence[int], what: str) -> None:
    """Raises IrError if one of these extents is a length that only the run knows."""
    if formulas(list(extents)):
        raise IrError(f"{what}: {shown(extents)} has lengths that only the run knows", code=UnknownExtent)


def require_steps(count: int, what: str) -> None:
    """Raises IrError unless so many expressions may be made of one node."""
    if formulas([count]):
        raise IrError(f"{what} would be {count} expressions, a number that only the run knows", code=UnknownExtent)
    if count > MOST_NODES:
        raise IrError(f"{what} would be {count} expressions, more than {MOST_NODES}", code=UnsupportedNode)


def _room(shape: Sequence[int]) -> int:
    return math.prod(max(d, 1) for d in shape)


def counted(count: int, what: str, dtype: str = "int64") -> np.ndarray:
    """0, 1, 2 …: `count` numbers. Raises IrError if these are too many."""
    require_room((count,), what)
    return np.arange(count, dtype=dtype)


def diagonal(rows: int, columns: int, k: int, what: str) -> np.ndarray:
    """1 on a diagonal, `k` above the main one, else 0. Raises IrError if the matrix would be too large."""
    require_room((rows, columns), what)
    return np.eye(rows, columns, k, "uint8")


def spread(low: float, high: float, count: int, what: str) -> np.ndarray:
    """`count` numbers evenly from `low` to `high`, both included. Raises IrError if these are too many."""
    require_room((count,), what)
    return np.linspace(low, high, count)


def filled(shape: int | Sequence[int], value: Any, what: str, dtype: str | None = None) -> np.ndarray:
    """An array of one number. Raises IrError if it would be too large."""
    require_room((shape,) if isinstance(shape, int) else shape, what)
    return np.full(shape, value, dtype)
