"""Inputs made for a function: random ones, from a seed; the same types in the same places give the same values."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from ..deferred import np
from ..diagnostics import IrError, Span
from ..ir import Function, Module, RefType, TensorType, TupleType, Type
from ..ir.conversion import marked
from ..ir.dtypes import numpy_dtype
from ..ir.example_shapes import example_shape
from ..ir.narrow import LIMITS, NARROW
from ..ir.ndarray import storage
from ..ops.typical import Range, Typical
from ..symbolic_int import bound
from ..trampoline import trampoline
from .random_data import RandomConstructors, is_data
from .value_hints import Uses
from .values import Data, Reference

_MOST = 2**30
"""Most elements of one value."""


@dataclass(frozen=True)
class RandomTensor:
    """Distribution and seed of one tensor.

    Attributes:
        typical: the kind of its values.
        seed: of the `numpy.random.RandomState` that draws this tensor alone, its elements in row-major order.
    """

    shape: tuple[int, ...]
    dtype: str
    typical: Typical
    seed: int

    @property
    def range(self) -> Range | None:
        """Range that each element is drawn from by itself; None if elements depend on each other."""
        return self.typical.range(self.shape, self.dtype)

    def values(self) -> Any:
        """The array, of the dtype."""
        if self.dtype in NARROW:
            low, high = LIMITS[self.dtype]
            numbers = np.random.RandomState(self.seed).randint(low, high + 1, self.shape)
            return marked(np.asarray(numbers).astype(storage(self.dtype)), self.dtype)
        drawn = self.typical.draw(np.random.RandomState(self.seed), self.shape, self.dtype)
        return np.asarray(drawn).astype(numpy_dtype(self.dtype))


def _no_uses(path: tuple[int, ...]) -> None:
    """No typical values: a parameter's uses are unknown."""


def random_value(
    ty: Type,
    name: str,
    seed: int,
    place: int | str,
    span: Span | None = None,
    typical: Callable[[tuple[int, ...]], Typical | None] = _no_uses,
    module: Module | None = None,
) -> Any:
    """A value of that type, each tensor of the kind that `typical` says for its place among the fields of a tuple.

    Where it says nothing, the values are those of `ops.typical.untold`. The numbers follow from
    the type, the kind, the seed and the place, which is that of a parameter among the others; the name is for messages
    alone, so that renaming changes no value.

    Values of data types need their `module`; the random numbers of their places draw the constructors.

    Raises IrError, at `span`, for a dynamic shape, a function, and a data type without finite values.
    """
    data = None if module is None else RandomConstructors(module)
    return trampoline(_draw(ty, name, seed, str(place), span, typical, (), RandomTensor.values, data))


def _draw(
    ty: Type,
    name: str,
    seed: int,
    place: str,
    span: Span | None,
    typical: Callable[[tuple[int, ...]], Typical | None],
    path: tuple[int, ...],
    value: Callable[[RandomTensor], Any],
    data: RandomConstructors | None,
    depth: int = 0,
) -> Generator[Any, Any, Any]:
    """The `value` of each tensor, in tuples as in the type, in data and references."""
    own = (zlib.crc32(place.encode()) + seed) & 0x7FFFFFFF
    if data is not None and isinstance(ty, RefType):
        inside = yield _draw(ty.value, name, seed, f"{place}.0", span, _no_uses, (), value, data, depth)
        return Reference(inside)
    if data is not None and is_data(ty):
        constructor, types = data.draw(ty, np.random.RandomState(own), depth, name, span)
        arguments = []
        for i, t in enumerate(types):
            arguments.append((yield _draw(t, name, seed, f"{place}.{i}", span, _no_uses, (), value, data, depth + 1)))
        return Data(constructor, arguments)
    if isinstance(ty, TupleType):
        fields = []
        for i, field in enumerate(ty.fields):
            fields.append(
                (yield _draw(field, f"{name}.{i}", seed, f"{place}.{i}", span, typical, (*path, i), value, data, depth))
            )
        return tuple(fields)
    if not isinstance(ty, TensorType):
        raise IrError(f"cannot make a random value for %{name}: its type is {ty!r}", span)
    if not ty.is_static:
        raise IrError(
            f"cannot make a random value for %{name}: its type is {ty!r}, a shape that is not static",
            span,
            help=f"give an array, or a shape, for example: {example_shape(name, ty)}",
        )
    shape = tuple(map(bound, ty.static_shape))  # of the greatest length
    if any(d < 0 for d in shape) or math.prod(shape) > _MOST:
        raise IrError(f"cannot make a random value for %{name}: there is no room for {ty!r}", span)
    return value(RandomTensor(shape, ty.dtype, typical(path) or Typical(), own))


def name_random(names: Sequence[str], total: int, seeds: Sequence[int] = (0,), of: str = "") -> str:
    """The sentence that names parameters with random values; empty without any.

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
    seed_text = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{len(names)} of {total} {parameters} {'is' if len(names) == 1 else 'are'} random ({seed_text}){which}"


_FEW = 5
"""Names that are listed."""


def random_inputs(
    function: Function, seed: int = 0, module: Module | None = None, numbering: Mapping[str, int] = MappingProxyType({})
) -> list[Any]:
    """One value per parameter, in order; which numbers a parameter gets depends on its type and place, not on its name.

    Where the `module` of the function is given, the values are of the kind that its uses tell (`interp.value_hints`). `numbering` has the
    places of parameters by name, where they stood elsewhere when there were weights among them.
    """
    return _of_parameters(function, seed, module, numbering, RandomTensor.values)


def random_tensors(function: Function, seed: int, module: Module, numbering: Mapping[str, int]) -> list[RandomTensor]:
    """Distributions of the tensors of all parameters, in order, fields of tuples one by one.

    Args:
        module: that of the function, whose uses of the parameters tell the kinds of their values.
        places: of parameters by name, where they stood elsewhere when there were weights among them.
    """
    tensors: list[RandomTensor] = []
    _of_parameters(function, seed, module, numbering, tensors.append)
    return tensors


def _of_parameters(
    function: Function,
    seed: int,
    module: Module | None,
    numbering: Mapping[str, int],
    value: Callable[[RandomTensor], Any],
) -> list[Any]:
    value_uses = Uses(function, module) if module is not None else None
    data = RandomConstructors(module) if module is not None else None
    values = []
    for place, p in enumerate(function.params):
        ty = p.checked_type or p.type_annotation
        if ty is None:
            raise IrError(f"the type of parameter %{p.name} is not known", p.span)
        typical = partial(value_uses.of, p) if value_uses else _no_uses
        own = str(numbering.get(p.name, place))
        values.append(trampoline(_draw(ty, p.name, seed, own, p.span, typical, (), value, data)))
    return values
