"""Layouts: how the axes of a tensor are stored, `NCHW16c`, and the maps between two of them.

An upper-case letter is a *primal* axis, a lower-case one with its factor a *subordinate* axis: the inner part of the
primal axis of the same letter. A letter may be split several times (`OIHW4i16o4i`); the parts are then digits of one
number, the most significant first, with the primal axis before them all.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ir.dims import ANY, Dim
from .base import RelationError
from .shapes import ceildiv, mul

if TYPE_CHECKING:
    import numpy as np


class LayoutError(RelationError):
    """A layout that is not one, or two layouts that cannot be converted into one another."""


@dataclass(frozen=True)
class LayoutAxis:
    """One axis of a layout: its letter, and its extent (0 for a primal axis, whose extent the tensor decides)."""

    letter: str
    factor: int = 0

    @property
    def is_primal(self) -> bool:
        return self.letter.isupper()

    @property
    def primal(self) -> str:
        return self.letter.upper()

    def __str__(self) -> str:
        return f"{self.factor or ''}{self.letter}"


@dataclass(frozen=True)
class Layout:
    """The order of axes in memory, outermost first. Make one with `Layout.parse`."""

    axes: tuple[LayoutAxis, ...]

    @staticmethod
    @functools.lru_cache(maxsize=1024)
    def parse(name: str) -> Layout:
        """The layout that `name` writes. Raises LayoutError if it is not one."""
        axes: list[LayoutAxis] = []
        factor = 0
        for c in name:
            if "0" <= c <= "9":
                factor = factor * 10 + int(c)
                continue
            if "A" <= c <= "Z":
                if factor:
                    raise LayoutError(f'layout "{name}" has the factor {factor} before the primal axis {c}')
            elif "a" <= c <= "z":
                if not factor:
                    raise LayoutError(f'layout "{name}" has no factor before the inner axis {c}')
            else:
                raise LayoutError(f'layout "{name}" contains {c!r}; axes are letters')
            axes.append(LayoutAxis(c, factor))
            factor = 0
        primal = {a.letter for a in axes if a.is_primal}
        for a in axes:
            if a.primal not in primal:
                raise LayoutError(f'layout "{name}" has the inner axis {a.letter} but no axis {a.primal}')
        return Layout(tuple(axes))

    @property
    def name(self) -> str:
        return "".join(map(str, self.axes))

    def __str__(self) -> str:
        return self.name

    def __len__(self) -> int:
        return len(self.axes)

    def __contains__(self, letter: str) -> bool:
        return self.index(letter) >= 0

    def index(self, letter: str) -> int:
        """Position of that axis, or -1. `c` is the inner axis, `C` the primal one."""
        return next((i for i, a in enumerate(self.axes) if a.letter == letter), -1)

    def factor(self, letter: str) -> int:
        """Product of the inner extents of that letter; -1 if it is not split."""
        inner = [a.factor for a in self.axes if a.letter == letter.lower()]
        product = 1
        for f in inner:
            product *= f
        return product if inner else -1

    @property
    def primals(self) -> str:
        """The primal letters in order."""
        return "".join(a.letter for a in self.axes if a.is_primal)

    def slice(self, start: int, length: int) -> Layout:
        """The layout of `length` axes from `start` on."""
        return Layout(self.axes[start : start + length])

    def split(self, letter: str, position: int, factor: int) -> Layout:
        """The layout with an inner axis of `letter` inserted at `position`. Raises LayoutError if it is split already."""
        if letter not in self or letter.lower() in self:
            raise LayoutError(f"axis {letter} of layout {self} cannot be split")
        return Layout((*self.axes[:position], LayoutAxis(letter.lower(), factor), *self.axes[position:]))

    def expand_primal(self, other: Layout) -> Layout:
        """This layout with the primal axes of `other` that it lacks put in front: `C` towards `NCHW4c` is `NHWC`."""
        missing = tuple(a for a in other.axes if a.is_primal and a.letter not in self)
        return Layout(missing + self.axes)


def convertible(source: Layout, target: Layout) -> bool:
    """True if each axis of one layout has its primal letter in the other, so that data can go both ways."""
    return bool(source.axes) and {a.primal for a in source.axes} == {a.primal for a in target.axes}


def _require_convertible(source: Layout, target: Layout) -> None:
    if not convertible(source, target):
        raise LayoutError(f'layout "{source}" cannot be converted to "{target}"')


def convert_shape(shape: Sequence[Dim], source: Layout | str, target: Layout | str) -> tuple[Dim, ...]:
    """The shape of a tensor of layout `source` after conversion to `target`; a split axis is rounded up.

    Raises LayoutError if the layouts do not convert, the rank is another, or an inner extent differs from its factor.
    A `?` at position i of the source makes position i of the result a `?` too, which loses dimensions when axes move;
    that is how TVM's types come out, and types must agree.
    """
    source, target = _as_layout(source), _as_layout(target)
    _require_convertible(source, target)
    if len(shape) != len(source):
        raise LayoutError(
            f'a tensor of rank {len(shape)} does not have the layout "{source}", which is of rank {len(source)}'
        )
    extent: dict[str, Dim] = {}
    for i, (d, axis) in enumerate(zip(shape, source.axes, strict=True)):
        if axis.is_primal:
            factor = source.factor(axis.letter)
            extent[axis.letter] = d if factor < 0 else mul(d, factor)
        elif isinstance(d, int) and d != axis.factor:
            raise LayoutError(f'axis {i} is {d}, but layout "{source}" says {axis.factor}')
    result: list[Dim] = []
    for i, axis in enumerate(target.axes):
        if not axis.is_primal:
            result.append(axis.factor)
        elif i < len(shape) and shape[i] is ANY:
            result.append(ANY)
        else:
            factor = target.factor(axis.letter)
            whole = extent[axis.letter]
            result.append(whole if factor < 0 else ceildiv(whole, factor))
    return tuple(result)


def source_indices(target_indices: Sequence[Any], source: Layout | str, target: Layout | str) -> tuple[Any, ...]:
    """Indices into the `source` layout of the element at `target_indices` of the converted tensor.

    Works on anything that has `*`, `+`, `//` and `%`: ints, arrays, index expressions.
    """
    source, target = _as_layout(source), _as_layout(target)
    _require_convertible(source, target)
    whole: dict[str, Any] = {}
    for letter in target.primals:
        for axis, index in zip(target.axes, target_indices, strict=True):
            if axis.primal == letter and axis.is_primal:
                whole[letter] = index
        for axis, index in zip(target.axes, target_indices, strict=True):
            if axis.letter == letter.lower():
                whole[letter] = whole[letter] * axis.factor + index
    return _digits(whole, source)


def _digits(whole: dict[str, Any], layout: Layout) -> tuple[Any, ...]:
    """The index of each axis of `layout`, where `whole` is the index along each unsplit axis."""
    result = []
    for i, axis in enumerate(layout.axes):
        below = 1
        for other in layout.axes[0 if axis.is_primal else i + 1 :]:
            if other.letter == axis.letter.lower():
                below *= other.factor
        index = whole[axis.primal]
        if below > 1:
            index = index // below
        if not axis.is_primal:
            index = index % axis.factor
        result.append(index)
    return tuple(result)


def convert(data: np.ndarray, source: Layout | str, target: Layout | str) -> np.ndarray:
    """The tensor in the other layout; a split axis that its factor does not divide is filled up with zeros."""
    import numpy as np

    source, target = _as_layout(source), _as_layout(target)
    convert_shape(data.shape, source, target)
    together = [i for p in target.primals for i in _parts(source, p)]
    merged = data.transpose(together).reshape([_extent(data.shape, source, p) for p in target.primals])
    padding = [(0, -e % max(target.factor(p), 1)) for p, e in zip(target.primals, merged.shape, strict=True)]
    if any(after for _, after in padding):
        merged = np.pad(merged, padding)
    split: list[int] = []
    positions: list[int] = []
    for p, e in zip(target.primals, merged.shape, strict=True):
        split.append(e // max(target.factor(p), 1))
        split += [a.factor for a in target.axes if a.letter == p.lower()]
        positions += _parts(target, p)
    return np.ascontiguousarray(merged.reshape(split).transpose(np.argsort(positions)))


def _parts(layout: Layout, letter: str) -> list[int]:
    """Positions of the axes of one letter, the most significant first."""
    inner = [i for i, a in enumerate(layout.axes) if a.letter == letter.lower()]
    return [layout.index(letter), *inner]


def _extent(shape: Sequence[int], layout: Layout, letter: str) -> int:
    return shape[layout.index(letter)] * max(layout.factor(letter), 1)


def _as_layout(layout: Layout | str) -> Layout:
    return Layout.parse(layout) if isinstance(layout, str) else layout
