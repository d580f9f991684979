"""Arithmetic on dimensions, and the questions that type rules ask about types and axes.

A dimension is an int, `ANY`, a `DimVar` or a `DimExpr` of these (see `ir.dims`). `ANY` absorbs: every operation on it
gives `ANY`. Ints fold; one `Int64` operand, or one that needs 64 bits, makes the result an `Int64`. Symbolic sums and products are brought to a
polynomial with integer coefficients, so that `equal(2 * n + n, 3 * n)` holds.

Two notions of agreement are used by the rules, and they differ only where a dimension is not a number:
`equal` is "surely equal", `compatible` is "not surely different" (TVM's `AssertEQ`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..ir import IncompleteType, TensorType, TupleType, Type
from ..ir.dims import ANY, Dim, DimExpr, DimVar, Int64, is_number, plain
from ..symbolic_int import maximum as larger
from ..symbolic_int import minimum as smaller
from .base import RelationError
from .dtypes import is_float, is_integer

LIMIT = 2**63
"""Products of dimensions must stay below this: TVM's index type."""
_LIMIT_32 = 2**31


def tensor(type: Type, what: str = "the argument") -> TensorType | None:
    """`type` if it is a tensor type, None if it is unknown; RelationError if it is anything else."""
    if isinstance(type, TensorType):
        return type
    if isinstance(type, IncompleteType):
        return None
    raise RelationError(f"{what} must be a tensor, not {type}")


def tensor_fields(type: Type, what: str = "the argument") -> tuple[TensorType, ...] | None:
    """The fields of a tuple of tensors, None while any of them is unknown; RelationError for anything else."""
    if isinstance(type, IncompleteType):
        return None
    if not isinstance(type, TupleType):
        raise RelationError(f"{what} must be a tuple of tensors, not {type}")
    fields = [tensor(f, f"field {i} of {what}") for i, f in enumerate(type.fields)]
    known = [f for f in fields if f is not None]
    return tuple(known) if len(known) == len(fields) else None


def is_unknown(type: Type) -> bool:
    """True if nothing is known of the type."""
    return isinstance(type, IncompleteType)


def dim_dtype(dim: Dim) -> str:
    """The integer type that TVM holds the dimension in: `int32` or `int64`, which a number beyond 32 bits is read as."""
    if isinstance(dim, int):
        return "int64" if isinstance(dim, Int64) or not -_LIMIT_32 <= dim < _LIMIT_32 else "int32"
    if isinstance(dim, DimVar | DimExpr):
        return dim.dtype
    return "int32"


def _polynomial(dim: Dim) -> dict[tuple[Any, ...], int]:
    """Integer coefficients by monomial, a monomial being a tuple of atoms (variables and other expressions).

    The atoms of a monomial are sorted by how they print, so that `n * m` and `m * n` are one monomial.
    """
    if isinstance(dim, int):
        return {(): plain(dim)} if dim else {}
    # Post-order over Add, Sub, Mul and Cast; anything else is an atom.
    done: list[dict[tuple[Any, ...], int]] = []
    stack: list[tuple[Any, bool]] = [(dim, False)]
    while stack:
        d, ready = stack.pop()
        if isinstance(d, int):
            done.append({(): plain(d)} if d else {})
        elif isinstance(d, DimExpr) and d.op in ("Add", "Sub", "Mul") and len(d.operands) == 2:
            if not ready:
                stack += [(d, True), (d.operands[1], False), (d.operands[0], False)]
                continue
            b, a = done.pop(), done.pop()
            done.append(_times(a, b) if d.op == "Mul" else _plus(a, b, 1 if d.op == "Add" else -1))
        elif isinstance(d, DimExpr) and d.op == "Cast" and len(d.operands) == 1:
            stack.append((d.operands[0], False))
        else:
            done.append({(d,): 1})
    return done[0]


def _plus(a: dict, b: dict, sign: int) -> dict:
    total = dict(a)
    for monomial, factor in b.items():
        value = total.get(monomial, 0) + sign * factor
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)
    return total


def _times(a: dict, b: dict) -> dict:
    total: dict = {}
    for m, f in a.items():
        for n, g in b.items():
            key = tuple(sorted(m + n, key=repr))
            total[key] = total.get(key, 0) + f * g
    return {m: f for m, f in total.items() if f}


def equal(a: Dim, b: Dim) -> bool:
    """True if the two are surely equal. `ANY` is equal to nothing, not even to itself."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if a is ANY or b is ANY:
        return False
    if a is b:
        return True
    return _polynomial(a) == _polynomial(b)


def compatible(a: Dim, b: Dim) -> bool:
    """False only if the two are surely different: both numbers, and not the same."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if a is ANY or b is ANY:
        return True
    difference = sub(a, b)
    return not isinstance(difference, int) or difference == 0


def same_shape(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """True if both have the same rank and no axis is surely different."""
    return len(a) == len(b) and all(compatible(x, y) for x, y in zip(a, b, strict=True))


def _number(value: int, *operands: Dim) -> int:
    if not -LIMIT <= value < LIMIT:
        raise RelationError(f"a shape calculation gives {value}, which does not fit 64 bits")
    return Int64(value) if value.__class__ is int and any(dim_dtype(o) == "int64" for o in operands) else value


def _symbolic(op: str, a: Dim, b: Dim) -> DimExpr:
    dtype = "int64" if "int64" in (dim_dtype(a), dim_dtype(b)) else "int32"
    return DimExpr(op, (a, b), dtype)


def _cancel(expr: DimExpr) -> Dim:
    """`expr`, or the number it always equals."""
    terms = _polynomial(expr)
    if not terms:
        return Int64(0) if expr.dtype == "int64" else 0
    if len(terms) == 1 and () in terms:
        return Int64(terms[()]) if expr.dtype == "int64" else terms[()]
    return expr


def add(a: Dim, b: Dim) -> Dim:
    """`a + b`."""
    if isinstance(a, int) and isinstance(b, int):
        return _number(plain(a) + plain(b), a, b)
    if a is ANY or b is ANY:
        return ANY
    if isinstance(a, int) and a == 0:
        return b
    if isinstance(b, int) and b == 0:
        return a
    return _cancel(_symbolic("Add", a, b))


def sub(a: Dim, b: Dim) -> Dim:
    """`a - b`."""
    if isinstance(a, int) and isinstance(b, int):
        return _number(plain(a) - plain(b), a, b)
    if a is ANY or b is ANY:
        return ANY
    if isinstance(b, int) and b == 0:
        return a
    return _cancel(_symbolic("Sub", a, b))


def mul(a: Dim, b: Dim) -> Dim:
    """`a * b`; RelationError where two numbers give 2^63 or more."""
    if isinstance(a, int) and isinstance(b, int):
        return _number(plain(a) * plain(b), a, b)
    if a is ANY or b is ANY:
        return ANY
    if isinstance(a, int) and a in (0, 1):
        return a if a == 0 else b
    if isinstance(b, int) and b in (0, 1):
        return b if b == 0 else a
    return _symbolic("Mul", a, b)


def floordiv(a: Dim, b: Dim) -> Dim:
    """`a // b`, rounded down; RelationError where `b` is 0."""
    if isinstance(b, int) and b == 0:
        raise RelationError(f"{a} is divided by 0")
    if isinstance(a, int) and isinstance(b, int):
        return _number(plain(a) // plain(b), a, b)
    if a is ANY or b is ANY:
        return ANY
    if isinstance(b, int):
        if b == 1:
            return a
        terms = _polynomial(a)
        if terms and all(f % b == 0 for f in terms.values()):
            return _from_polynomial({m: f // b for m, f in terms.items()}, dim_dtype(a))
    if equal(a, b):
        return 1
    return _symbolic("FloorDiv", a, b)


def floormod(a: Dim, b: Dim) -> Dim:
    """`a mod b`, with the sign of `b`; RelationError where `b` is 0."""
    if isinstance(b, int) and b == 0:
        raise RelationError(f"{a} is divided by 0")
    if isinstance(a, int) and isinstance(b, int):
        return _number(plain(a) % plain(b), a, b)
    if a is ANY or b is ANY:
        return ANY
    if isinstance(b, int) and all(f % b == 0 for f in _polynomial(a).values()):
        return 0
    return _symbolic("FloorMod", a, b)


def ceildiv(a: Dim, b: Dim) -> Dim:
    """`a / b`, rounded up."""
    return floordiv(add(a, sub(b, 1)), b)


def minimum(a: Dim, b: Dim) -> Dim:
    """The smaller of the two."""
    if isinstance(a, int) and isinstance(b, int):
        return _number(smaller(plain(a), plain(b)), a, b)
    if a is ANY or b is ANY:
        return ANY
    return a if equal(a, b) else _symbolic("Min", a, b)


def maximum(a: Dim, b: Dim) -> Dim:
    """The larger of the two."""
    if isinstance(a, int) and isinstance(b, int):
        return _number(larger(plain(a), plain(b)), a, b)
    if a is ANY or b is ANY:
        return ANY
    return a if equal(a, b) else _symbolic("Max", a, b)


def _from_polynomial(terms: dict[tuple[Any, ...], int], dtype: str) -> Dim:
    total: Dim | None = None
    for monomial, factor in terms.items():
        term: Dim = Int64(factor) if dtype == "int64" and not monomial else factor
        for atom in monomial:
            term = atom if isinstance(term, int) and term == 1 else DimExpr("Mul", (atom, term), dtype)
        total = term if total is None else DimExpr("Add", (total, term), dtype)
    return 0 if total is None else total


def product(dims: Iterable[Dim]) -> Dim:
    """The product of the dimensions, 1 for none; RelationError where it is 2^63 or more."""
    total: Dim = 1
    for d in dims:
        total = mul(total, d)
    return total


def sum_of(dims: Iterable[Dim]) -> Dim:
    """The sum of the dimensions, 0 for none."""
    total: Dim = 0
    for d in dims:
        total = add(total, d)
    return total


def normalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """`axis` counted from the front; RelationError unless `-rank <= axis < rank`."""
    if not -rank <= axis < rank:
        raise RelationError(f"{what} {int(axis)} is out of range for a tensor of rank {rank}")
    return int(axis) + rank if axis < 0 else int(axis)


def normalize_axes(axes: Iterable[int], rank: int, what: str = "axis") -> tuple[int, ...]:
    """Each axis counted from the front, in the order given; RelationError where one is out of range or named twice."""
    normalized: list[int] = []
    for axis in axes:
        positive_axis = normalize_axis(axis, rank, what)
        if positive_axis in normalized:
            raise RelationError(f"{what} {int(axis)} is named twice")
        normalized.append(positive_axis)
    return tuple(normalized)


MOST_AXES = 10_000
"""Axes that a type rule makes out of a number: types are written out axis by axis, and a billion would fill the memory."""


def require_few_axes(count: int, what: str) -> None:
    """RelationError if `what` asks for more than `MOST_AXES` axes."""
    if count > MOST_AXES:
        raise RelationError(f"{what} is {count}, more than the {MOST_AXES} axes that fit a type")


def require_rank(type: TensorType, rank: int, what: str = "the argument") -> None:
    """RelationError unless the tensor has that rank."""
    if len(type.shape) != rank:
        raise RelationError(f"{what} must have rank {rank}, not {len(type.shape)} ({type})")


def require_scalar(type: TensorType | None, what: str) -> None:
    """RelationError if the tensor, where it is known, has axes."""
    if type is not None and type.shape:
        raise RelationError(f"{what} must be a scalar, not {type}")


def require_one_number(type: TensorType | None, what: str) -> None:
    """RelationError if the tensor, where its shape is known, has not exactly one element."""
    if type is not None and isinstance(elements := product(type.shape), int) and elements != 1:
        raise RelationError(f"{what} is one number, not {type}")


def require_floats(type: TensorType | None, what: str = "the argument") -> None:
    """RelationError if the tensor, where it is known, holds anything but floating-point numbers."""
    if type is not None and not is_float(type.dtype):
        raise RelationError(f"{what} must hold floating-point numbers, not {type.dtype}")


def require_integers(type: TensorType | None, what: str = "the argument") -> None:
    """RelationError if the tensor, where it is known, holds anything but integers."""
    if type is not None and not is_integer(type.dtype):
        raise RelationError(f"{what} must hold integers, not {type.dtype}")


def require_numbers(type: TensorType | None, what: str = "the argument") -> None:
    """RelationError if the tensor, where it is known, holds booleans or pointers, on which there is no arithmetic."""
    if type is not None and type.dtype.startswith(("bool", "handle")):
        raise RelationError(f"{what} must hold numbers, not {type.dtype}")


def require_number(d: Dim, what: str) -> None:
    """RelationError for an extent that only the run knows."""
    if not is_number(d):
        raise RelationError(f"{what} is {d}: a number is needed")


def require_compatible(a: Dim, b: Dim, what: str) -> None:
    """RelationError, `what` leading the sentence, if the two dimensions surely differ."""
    if not compatible(a, b):
        raise RelationError(f"{what}: {a} and {b} differ")


__all__ = [
    "ANY",
    "LIMIT",
    "add",
    "ceildiv",
    "compatible",
    "dim_dtype",
    "equal",
    "floordiv",
    "floormod",
    "is_unknown",
    "maximum",
    "minimum",
    "mul",
    "normalize_axes",
    "normalize_axis",
    "product",
    "require_compatible",
    "require_floats",
    "require_integers",
    "require_numbers",
    "require_rank",
    "require_scalar",
    "same_shape",
    "sub",
    "sum_of",
    "tensor",
    "tensor_fields",
]
