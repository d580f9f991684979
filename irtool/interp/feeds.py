"""Inputs made for a function: random ones, from a seed; the same types in the same places give the same values."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from ..diagnostics import IrError, Span
from ..ir import ANY, Function, Module, TensorType, TupleType, Type
from ..ir.dtypes import numpy_dtype
from ..ops.typical import Typical
from ..trampoline import trampoline
from .uses import Uses

_MOST = 2**30
"""Most elements of one value."""


def _untold(path: tuple[int, ...]) -> None:
    """Nothing is known of what a parameter is used for."""


def random_value(
    ty: Type,
    name: str,
    seed: int,
    place: int | str,
    span: Span | None = None,
    typical: Callable[[tuple[int, ...]], Typical | None] = _untold,
) -> Any:
    """A value of that type, each tensor of the kind that `typical` says for its place among the fields of a tuple.

    Where it says nothing: floats in [-1, 1), vectors of floats in [0.5, 1), integers in [0, 8), bools evenly. Vectors are
    positive because many stand for variances or scales, whose square roots and reciprocals are taken. The numbers follow from
    the type, the kind, the seed and the place, which is that of a parameter among the others; the name is for messages
    alone, so that renaming changes no value.

    Raises IrError, at `span`, for a dynamic shape or a type that is neither tensor nor tuple.
    """
    return trampoline(_random_value(ty, name, seed, str(place), span, typical, ()))


def _random_value(
    ty: Type,
    name: str,
    seed: int,
    place: str,
    span: Span | None,
    typical: Callable[[tuple[int, ...]], Typical | None],
    path: tuple[int, ...],
) -> Generator[Any, Any, Any]:
    if isinstance(ty, TupleType):
        fields = []
        for i, field in enumerate(ty.fields):
            fields.append((yield _random_value(field, f"{name}.{i}", seed, f"{place}.{i}", span, typical, (*path, i))))
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
    shape = ty.static_shape
    if any(d < 0 for d in shape) or math.prod(shape) > _MOST:
        raise IrError(f"cannot make a random value for %{name}: there is no room for {ty!r}", span)
    return _random_tensor(shape, ty.dtype, typical(path), (zlib.crc32(place.encode()) + seed) & 0x7FFFFFFF)


def _random_tensor(shape: tuple[int, ...], dtype: str, typical: Typical | None, seed: int) -> Any:
    import numpy as np

    rng = np.random.RandomState(seed)
    values = typical.draw(rng, shape, dtype) if typical is not None else None
    if values is None:
        if dtype == "bool":
            values = rng.randint(0, 2, shape)
        elif dtype.startswith(("int", "uint")):
            values = rng.randint(0, 8, shape)
        else:
            values = rng.uniform(0.5, 1, shape) if len(shape) == 1 else rng.uniform(-1, 1, shape)
    return np.asarray(values).astype(numpy_dtype(dtype))


def name_random(names: Sequence[str], total: int, seeds: Sequence[int] = (0,), of: str = "") -> str:
    """The sentence that names parameters whose values nobody gave; empty where there are none.

    Args:
        names: of the parameters.
        total: how many the function has.
        seeds: those of the values; more than one where several inputs were made.
        of: the function, where it is not the one that was asked for.
    """
    if not names:
        return ""
    which = f": {', '.join('%' + n for n in names)}" if len(names) <= _FEW else ""
    parameters = f"parameter{'' if total == 1 else 's'}" + (f" of @{of}" if of else "")
    said = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{len(names)} of {total} {parameters} {'is' if len(names) == 1 else 'are'} random ({said}){which}"


_FEW = 5
"""Names that are listed."""


def random_inputs(function: Function, seed: int = 0, module: Module | None = None) -> list[Any]:
    """One value per parameter, in order; which numbers a parameter gets depends on its type and place, not on its name.

    Where the `module` of the function is given, the values are of the kind that its uses tell (`interp.uses`).
    """
    uses = Uses(function, module) if module is not None else None
    values = []
    for place, p in enumerate(function.params):
        ty = p.checked_type or p.type_annotation
        if ty is None:
            raise IrError(f"the type of parameter %{p.name} is not known", p.span)
        values.append(random_value(ty, p.name, seed, place, p.span, partial(uses.of, p) if uses else _untold))
    return values
