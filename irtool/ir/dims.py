"""Dimensions of shapes, and integers in attributes: ints, 64-bit literals, `?`, symbolic variables and arithmetic on them.

A dimension is a plain `int` almost always. `Int64` is an int that was written `1i64` and prints so. `ANY` is `?`.
`DimVar` is a symbolic variable and `DimExpr` arithmetic on dimensions; both come from metadata sections.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeGuard

from ..symbolic_int import SymbolicInt


class Int64(int):
    """An int that TVM holds as a 64-bit literal: prints as `1i64`, equals and hashes as the int.

    Operands behind it see a plain int: Python asks a `SymbolicInt` for the result only where its class is derived from that of the
    operand before it.
    """

    __slots__ = ()


def _as_int(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)
    return lambda self, other: function(int(self), int(other) if other.__class__ is Int64 else other)


for _name in ["add", "sub", "mul", "floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge"]:
    setattr(Int64, f"__{_name}__", _as_int(_name))
Int64.__hash__ = int.__hash__  # type: ignore[method-assign]  # equal to the int, also as a key


def plain(d: int) -> int:
    """The int without the mark of a 64-bit literal; a formula stays one."""
    return int(d) if d.__class__ is Int64 else d


def is_number(d: object) -> TypeGuard[int]:
    """True for an int that is the same in all runs: numbers of axes, of fields, of taps."""
    return isinstance(d, int) and d.__class__ is not SymbolicInt


class _Any:
    """The unknown dimension. There is one, `ANY`; it equals itself only."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "?"

    def __reduce__(self) -> str:
        return "ANY"


ANY = _Any()


class DimVar:
    """A symbolic dimension, compared by identity. `nonnegative` marks TVM's `tir.SizeVar`.

    `missing` is `(key, index)` where it stands for a `meta[key][index]` that the text does not hold.
    """

    __slots__ = ("dtype", "missing", "name", "nonnegative")

    def __init__(
        self, name: str, dtype: str = "int32", nonnegative: bool = False, missing: tuple[str, int] | None = None
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.nonnegative = nonnegative
        self.missing = missing

    def __repr__(self) -> str:
        return self.name


class DimExpr:
    """Arithmetic on dimensions: `op` is TVM's node name without `tir.` (`Add`, `Mul`, `FloorDiv`, `Cast`, `Max` …)."""

    __slots__ = ("_hash", "dtype", "op", "operands")

    def __init__(self, op: str, operands: tuple[object, ...], dtype: str = "int32") -> None:
        self.op = op
        self.operands = operands
        self.dtype = dtype
        self._hash = hash((op, operands, dtype))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        stack: list[tuple[object, object]] = [(self, other)]
        while stack:
            a, b = stack.pop()
            if a is b:
                continue
            if isinstance(a, DimExpr):
                if (
                    not isinstance(b, DimExpr)
                    or a._hash != b._hash
                    or a.op != b.op
                    or a.dtype != b.dtype
                    or len(a.operands) != len(b.operands)
                ):
                    return False
                stack.extend(zip(a.operands, b.operands, strict=True))
            elif isinstance(b, DimExpr) or a != b:
                return False
        return True

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.operands))})"


Dim = int | _Any | DimVar | DimExpr


def is_dimension(value: object) -> bool:
    """True if `value` may stand in a shape: numbers are whole, not negative, and below 2^63."""
    if isinstance(value, int):
        return 0 <= value < 1 << 63 and value.__class__ is not bool
    return value is ANY or isinstance(value, DimVar | DimExpr)
