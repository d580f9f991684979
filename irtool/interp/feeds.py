"""Inputs made for a function: random ones, from a seed; the same types in the same places give the same values."""

from __future__ import annotations

import math
import zlib
from collections.abc import Generator
from typing import Any

from ..diagnostics import IrError, Span
from ..ir import ANY, Function, TensorType, TupleType, Type
from ..trampoline import trampoline

_MOST = 2**30
"""Most elements of one value."""


def random_value(ty: Type, name: str, seed: int, place: int | str, span: Span | None = None) -> Any:
    """A value of that type: floats in [-1, 1), vectors of floats in [0.5, 1), integers in [0, 8), bools evenly.

    Vectors are positive because many stand for variances or scales, whose square roots and reciprocals are taken. The
    numbers follow from the type, the seed and the place, which is that of a parameter among the others; the name is for
    messages alone, so that renaming changes no value.

    Raises IrError, at `span`, for a dynamic shape or a type that is neither tensor nor tuple.
    """
    return trampoline(_random_value(ty, name, seed, str(place), span))


def _random_value(ty: Type, name: str, seed: int, place: str, span: Span | None) -> Generator[Any, Any, Any]:
    import numpy as np

    if isinstance(ty, TupleType):
        fields = []
        for i, field in enumerate(ty.fields):
            fields.append((yield _random_value(field, f"{name}.{i}", seed, f"{place}.{i}", span)))
        return tuple(fields)
    if not isinstance(ty, TensorType):
        raise IrError(f"cannot make a random value for %{name}: its type is {ty!r}", span)
    if not ty.is_static:
        dims = ",".join(str(int(d)) if isinstance(d, int) and d is not ANY else "N" for d in ty.shape)
        raise IrError(
            f"cannot make a random value for %{name}: its type is {ty!r}, a shape that is not static",
            span,
            help=f"pin it with --shape {name}={dims}, or give an array",
        )
    rng = np.random.RandomState((zlib.crc32(place.encode()) + seed) & 0x7FFFFFFF)
    shape = tuple(int(d) for d in ty.shape)  # type: ignore[arg-type]
    if any(d < 0 for d in shape) or math.prod(shape) > _MOST:
        raise IrError(f"cannot make a random value for %{name}: there is no room for {ty!r}", span)
    if ty.dtype == "bool":
        return rng.randint(0, 2, shape).astype("bool")
    if ty.dtype.startswith(("int", "uint")):
        return rng.randint(0, 8, shape).astype(ty.dtype)
    values = rng.uniform(0.5, 1, shape) if len(shape) == 1 else rng.uniform(-1, 1, shape)
    if ty.dtype == "bfloat16":
        import ml_dtypes

        return values.astype(ml_dtypes.bfloat16)
    return values.astype(ty.dtype)


def random_inputs(function: Function, seed: int = 0) -> list[Any]:
    """One value per parameter, in order; which numbers a parameter gets depends on its place, not on its name."""
    values = []
    for place, p in enumerate(function.params):
        ty = p.checked_type or p.type_annotation
        if ty is None:
            raise IrError(f"the type of parameter %{p.name} is not known", p.span)
        values.append(random_value(ty, p.name, seed, place, p.span))
    return values
