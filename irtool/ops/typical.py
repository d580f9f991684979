"""Typical values of an operator's arguments, for random inputs: weights scaled by the number of summands,
variances positive, indices in range.

`Operator.typical` says it of one call; `interp.value_hints` follows it back to the parameters of a function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..ir import TensorType, TupleType, Type


@dataclass(frozen=True)
class Range:
    """Numbers from `low` up to below `high`, each as likely as any other; `whole` numbers only, or all of double precision."""

    low: float
    high: float
    whole: bool = False

    def draw(self, rng: Any, shape: tuple[int, ...]) -> Any:
        """Such numbers from a `numpy.random.RandomState`."""
        if self.whole:
            return rng.randint(int(self.low), int(self.high), shape, dtype="int64")
        return rng.uniform(self.low, self.high, shape)


@dataclass(frozen=True)
class Typical:
    """A kind of values. Of two that one tensor is to have, the one that `counts` more is made."""

    counts: ClassVar[int] = 0

    def range(self, shape: tuple[int, ...], dtype: str) -> Range | None:
        """Range that each element is drawn from by itself; None if elements depend on each other."""
        return untold(shape, dtype)

    def draw(self, rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
        """Such values in double precision, or as integers, from a `numpy.random.RandomState`."""
        evenly = self.range(shape, dtype)
        assert evenly is not None, f"{type(self).__name__} draws elements that depend on each other"
        return evenly.draw(rng, shape)


@dataclass(frozen=True)
class NearZero(Typical):
    """Offsets and means: in [-0.25, 0.25)."""

    counts = 1

    def range(self, shape: tuple[int, ...], dtype: str) -> Range | None:
        return Range(-0.25, 0.25) if "float" in dtype else untold(shape, dtype)


@dataclass(frozen=True)
class Summed(Typical):
    """Weights of sums of `fan_in` products: uniform with variance 1 / fan_in, so that a sum is as large as its operands
    (LeCun, Bottou, Orr and Müller, "Efficient BackProp", 1998)."""

    fan_in: float
    counts = 2

    def range(self, shape: tuple[int, ...], dtype: str) -> Range | None:
        bound = math.sqrt(3 / max(self.fan_in, 1))
        return Range(-bound, bound) if "float" in dtype else untold(shape, dtype)


@dataclass(frozen=True)
class NearOne(Typical):
    """Variances, factors and divisors: in [0.75, 1.25); integers in [1, 8)."""

    counts = 3

    def range(self, shape: tuple[int, ...], dtype: str) -> Range | None:
        if dtype == "bool":
            return untold(shape, dtype)
        return Range(0.75, 1.25) if "float" in dtype else Range(1, 8, whole=True)


@dataclass(frozen=True)
class Below(Typical):
    """Indices, and lengths: in [0, size)."""

    size: int
    counts = 4

    def range(self, shape: tuple[int, ...], dtype: str) -> Range | None:
        if dtype == "bool":
            return untold(shape, dtype)
        most = min(self.size, 1 << (int(dtype.lstrip("uint")) - dtype.startswith("int")) if "int" in dtype else 1 << 24)
        return Range(0, max(most, 1), whole=True)


@dataclass(frozen=True)
class Rows(Typical):
    """The begin of each row of a sparse matrix of `size` elements: from 0 up to `size`, evenly."""

    size: int
    counts = 5

    def range(self, shape: tuple[int, ...], dtype: str) -> Range | None:
        return None

    def draw(self, rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
        import numpy as np

        n = math.prod(shape)
        return (np.arange(n, dtype="int64") * self.size // max(n - 1, 1)).reshape(shape)


@dataclass(frozen=True)
class Sorted(Typical):
    """Rows along the last axis whose elements do not get smaller."""

    counts = 5

    def range(self, shape: tuple[int, ...], dtype: str) -> Range | None:
        return untold(shape, dtype) if not shape or dtype == "bool" else None

    def draw(self, rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
        import numpy as np

        if self.range(shape, dtype) is not None:
            return super().draw(rng, shape, dtype)
        return np.sort(rng.uniform(-1, 1, shape) if "float" in dtype else rng.randint(0, 8, shape), axis=-1)


@dataclass(frozen=True)
class Regions(Typical):
    """Rows of an image's number and the corners of a box in it, `[n, x1, y1, x2, y2]`."""

    images: int
    height: float
    width: float
    counts = 5

    def range(self, shape: tuple[int, ...], dtype: str) -> Range | None:
        return None if len(shape) == 2 and shape[1] == 5 else untold(shape, dtype)

    def draw(self, rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
        import numpy as np

        if self.range(shape, dtype) is not None:
            return super().draw(rng, shape, dtype)
        corners = np.sort(rng.uniform(0, 1, (shape[0], 2, 2)), axis=1) * np.array([self.width, self.height])
        images = rng.randint(0, max(self.images, 1), (shape[0], 1))
        return np.concatenate([images, corners.reshape(-1, 4)], axis=1)


def untold(shape: tuple[int, ...], dtype: str) -> Range:
    """Default distribution of a tensor whose uses tell nothing: floats from [-1, 1), vectors of floats from [0.5, 1), integers from
    [0, 8), bools evenly.

    Vectors are positive because many stand for variances or scales, whose square roots and reciprocals are taken.
    """
    if "float" in dtype:
        return Range(0.5, 1) if len(shape) == 1 else Range(-1, 1)
    return Range(0, 2 if dtype == "bool" else 8, whole=True)


def of_both(a: Typical | None, b: Typical | None) -> Typical | None:
    """Typical values that suit both uses of one tensor."""
    if a is None or b is None or a == b:
        return a or b
    if a.counts != b.counts:
        return a if a.counts > b.counts else b
    if isinstance(a, Below) and isinstance(b, Below):
        return min(a, b, key=lambda x: x.size)
    if isinstance(a, Summed) and isinstance(b, Summed):
        return max(a, b, key=lambda x: x.fan_in)
    return a


def elements(t: Type | None) -> int | None:
    """The number of elements of a tensor whose shape is known."""
    shape = shape_of(t)
    return math.prod(shape) if shape is not None else None


def shape_of(t: Type | None) -> tuple[int, ...] | None:
    """The shape of a tensor, where it is known."""
    if not isinstance(t, TensorType) or not t.is_static:
        return None
    return t.static_shape


def summed(weights: Type | None, sums: Any) -> Summed | None:
    """Weights of `sums` sums: each weight goes into one of them, which gives the number of summands."""
    count = elements(weights)
    return Summed(count / sums) if count and isinstance(sums, int) and sums > 0 else None


def below(size: Any) -> Below | None:
    """Indices of an axis, if its extent is known."""
    return Below(int(size)) if isinstance(size, int) and size > 0 else None


def below_all(data: Type | None, tuples: Type | None, batch: int) -> Below | None:
    """Indices of any of the axes that tuples along axis 0 name, behind the first `batch`."""
    length = extent_of(tuples, 0)
    extents = shape_of(data)
    return below(min(extents[batch : batch + length], default=0)) if length is not None and extents else None


def extent_of(t: Type | None, axis: int | None) -> Any:
    """The extent of an axis, or the number of elements if it is None; None if it is not known."""
    shape = shape_of(t)
    if shape is None or axis is None:
        return elements(t)
    return shape[axis] if -len(shape) <= axis < len(shape) else None


def of_binary(name: str, types: Sequence[Type | None], hint: Typical | None) -> list[Typical | None]:
    """Of the operands of an elementwise operator, where one of them stands for many elements of the other."""
    left, right = (elements(t) for t in types)
    if left is None or right is None or isinstance(types[0], TupleType):
        return [None, None]
    small = (left < right, right < left)
    if name in _DIVIDES:
        return [hint if not small[0] else None, NearOne()]
    if name == "power":
        return [NearOne(), None]
    if name == "multiply":
        both = hint if isinstance(hint, NearOne | NearZero) else None
        return [NearOne() if small[n] else (hint if small[1 - n] else both) for n in (0, 1)]
    if name == "add" and isinstance(hint, NearOne):
        return [hint, hint]
    if name in ("add", "subtract"):
        both = hint if isinstance(hint, NearZero) else None
        return [NearZero() if small[n] else both for n in (0, 1)]
    return [None, None]


_DIVIDES = ("divide", "floor_divide", "trunc_divide", "mod", "floor_mod", "trunc_mod")


__all__ = [
    "Below",
    "NearOne",
    "NearZero",
    "Range",
    "Regions",
    "Rows",
    "Sorted",
    "Summed",
    "Typical",
    "below",
    "below_all",
    "elements",
    "extent_of",
    "of_binary",
    "of_both",
    "shape_of",
    "summed",
    "untold",
]
