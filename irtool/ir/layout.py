"""Layouts of tensors: `NCHW`, `NHWC`, `NCHW16c`, `OIHW4i16o4i`.

An upper-case letter is a *primal* axis; a number and a lower-case letter is a part of it that was split off: with
`NCHW16c`, channel 35 is at `C = 2`, `c = 3`. A letter may be split more than once; the earlier part is the more
significant one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .dims import ANY, Dim, DimExpr

if TYPE_CHECKING:
    import numpy as np


class LayoutAxis(NamedTuple):
    """One axis: its letter as written, and the extent that a split-off part has (0 for a primal axis)."""

    letter: str
    extent: int = 0

    @property
    def primal(self) -> str:
        """The upper-case letter."""
        return self.letter.upper()


class Layout:
    """A parsed layout; equal by name. Get one with `layout(name)`, which raises ValueError for a name that is none."""

    __slots__ = ("axes", "name")

    def __init__(self, axes: Sequence[LayoutAxis]) -> None:
        self.axes = tuple(axes)
        self.name = "".join(f"{a.extent}{a.letter}" if a.extent else a.letter for a in self.axes)

    def __len__(self) -> int:
        return len(self.axes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    def __contains__(self, letter: str) -> bool:
        return any(a.letter == letter for a in self.axes)

    def index(self, letter: str) -> int:
        """Position of the axis of that letter (the first of several parts); -1 if there is none."""
        return next((i for i, a in enumerate(self.axes) if a.letter == letter), -1)

    def factor(self, letter: str) -> int:
        """Product of the extents of the parts split off `letter`; 1 if it is not split."""
        product = 1
        for a in self.axes:
            if a.extent and a.primal == letter.upper():
                product *= a.extent
        return product

    @property
    def primal(self) -> Layout:
        """The primal axes alone, in order."""
        return Layout([a for a in self.axes if not a.extent])


@lru_cache(maxsize=4096)
def layout(name: str) -> Layout:
    """The layout of that name. Raises ValueError, with a sentence, where it is none."""
    axes: list[LayoutAxis] = []
    number = ""
    for c in name:
        if c.isascii() and c.isdigit():
            number += c
        elif c.isascii() and c.isupper():
            if number:
                raise ValueError(f"layout {name}: a number stands before the primal axis {c}")
            if any(a.letter == c for a in axes):
                raise ValueError(f"layout {name}: axis {c} occurs twice")
            axes.append(LayoutAxis(c))
        elif c.isascii() and c.islower():
            if not number or int(number) == 0:
                raise ValueError(f"layout {name}: axis {c} has no extent before it")
            axes.append(LayoutAxis(c, int(number)))
            number = ""
        else:
            raise ValueError(f"layout {name}: {c!r} is not an axis")
    if number:
        raise ValueError(f"layout {name} ends with a number")
    letters = {a.letter for a in axes}
    for a in axes:
        if a.primal not in letters:
            raise ValueError(f"layout {name}: axis {a.letter} is split off {a.primal}, which is missing")
    return Layout(axes)


def convertible(a: Layout, b: Layout) -> bool:
    """True if a tensor of one layout can be stored in the other: they have the same primal axes."""
    return bool(a.axes) and {x.primal for x in a.axes} == {x.primal for x in b.axes}


def convert_shape(shape: Sequence[Dim], source: Layout, target: Layout) -> tuple[Dim, ...]:
    """The shape of the same tensor in another layout; a split extent is rounded up.

    Raises ValueError where the rank or the extent of a split-off part does not fit `source`, or where the layouts are
    not convertible. Where axis `i` of the source is `?`, so is primal axis `i` of the target: the peer marks unknown
    dimensions by position, not by letter, and printed types agree with it only this way.
    """
    if len(shape) != len(source):
        raise ValueError(f"a tensor of rank {len(shape)} cannot have layout {source}")
    if not convertible(source, target):
        raise ValueError(f"layout {source} is not convertible to {target}")
    sizes: dict[str, Dim] = {}
    for i, (dim, axis) in enumerate(zip(shape, source.axes, strict=True)):
        if not axis.extent:
            sizes[axis.letter] = _times(dim, source.factor(axis.letter))
        elif isinstance(dim, int) and dim != axis.extent:
            raise ValueError(f"axis {i} of layout {source} has {axis.extent} elements, not {dim}")
    out: list[Dim] = []
    for i, axis in enumerate(target.axes):
        if axis.extent:
            out.append(axis.extent)
        elif i < len(shape) and shape[i] is ANY:
            out.append(ANY)
        else:
            out.append(_over(sizes[axis.letter], target.factor(axis.letter)))
    return tuple(out)


def convert_array(data: np.ndarray, source: Layout, target: Layout) -> np.ndarray:
    """The same tensor in another layout; where a split does not come out even, zeros are appended."""
    import numpy as np

    if source == target:
        return data
    primal = [a.letter for a in source.axes if not a.extent]
    groups = [[i for i, a in enumerate(source.axes) if a.primal == p and (a.extent or a.letter == p)] for p in primal]
    groups = [sorted(g, key=lambda i: (source.axes[i].extent > 0, i)) for g in groups]
    sizes = [int(np.prod([data.shape[i] for i in g])) for g in groups]
    data = data.transpose([i for g in groups for i in g]).reshape(sizes)
    split: list[int] = []
    at: dict[int, int] = {}
    pads = []
    for size, p in zip(sizes, primal, strict=True):
        parts = [i for i, a in enumerate(target.axes) if a.extent and a.primal == p]
        factor = target.factor(p)
        pads.append((0, -size % factor))
        for i in (target.index(p), *parts):
            at[i] = len(split)
            split.append(target.axes[i].extent or -(-size // factor))
    if any(after for _, after in pads):
        data = np.pad(data, pads)
    return np.ascontiguousarray(data.reshape(split).transpose([at[i] for i in range(len(target))]))


def _times(dim: Dim, factor: int) -> Dim:
    if isinstance(dim, int):
        return int(dim) * factor  # the peer's axes are 32 bits wide, so a 64-bit literal loses its mark here
    return dim if factor == 1 or dim is ANY else DimExpr("Mul", (dim, factor))


def _over(dim: Dim, factor: int) -> Dim:
    if isinstance(dim, int):
        return -(-dim // factor)
    if factor == 1 or dim is ANY:
        return dim
    return DimExpr("FloorDiv", (DimExpr("Add", (dim, factor - 1)), factor))
