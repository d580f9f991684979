"""What keeps the unrolling of recursive functions finite.

Each time a function is applied inside its own body, its arguments must have become smaller: older (a part of a value that
was there before is older than a new value) or a smaller non-negative integer. The pairs of (time, integer) of all
arguments form a semilattice without infinite descending chains.
"""

from __future__ import annotations

from .values import Partial, StaticTensor

Fuel = tuple[tuple[int, int], ...] | None
"""A pair for each argument; None is the top element, from which any application is progress."""


def fuel_of(value: Partial) -> tuple[int, int]:
    """When the value was made, and the integer that it is, if it is known to be a positive one (else 0)."""
    known = value.known
    if isinstance(known, StaticTensor) and known.constant.is_scalar and known.constant.dtype in ("int32", "int64"):
        return value.created, max(0, int(known.constant.data))  # type: ignore[arg-type]  # a scalar has data
    return value.created, 0


def meet(fuel: Fuel, other: tuple[tuple[int, int], ...]) -> tuple[Fuel, bool]:
    """The elementwise minimum, and whether it is smaller than `fuel` anywhere."""
    if fuel is None:
        return other, True
    lower = tuple((min(a, c), min(b, d)) for (a, b), (c, d) in zip(fuel, other, strict=True))
    return lower, any(x < a or y < b for (x, y), (a, b) in zip(lower, fuel, strict=True))
