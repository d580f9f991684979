"""The geometry of sliding windows: padding in its short and long forms, dilated kernels, number of positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ...ir.dims import ANY, Dim, is_number, plain
from ...symbolic_int import bound, signs
from ..base import RelationError
from ..layout import Layout, LayoutError, convert_shape, convertible
from ..shapes import add, floordiv, mul, sub

T = TypeVar("T")


def pad_amounts(padding: Sequence[T], rank: int) -> list[tuple[T, T]]:
    """Padding before and after each of `rank` axes.

    Three forms are understood: one number for all sides; one per axis; all the numbers before, then all those after.
    """
    if len(padding) == 1:
        return [(padding[0], padding[0])] * rank
    if len(padding) == rank:
        return [(p, p) for p in padding]
    if len(padding) == 2 * rank:
        return list(zip(padding[:rank], padding[rank:], strict=True))
    forms = "1 or 2" if rank == 1 else f"1, {rank} or {2 * rank}"
    raise RelationError(f"padding has {len(padding)} numbers; it takes {forms} for {rank} axes")


def per_axis(values: Sequence[T], rank: int, what: str, least: int = 1) -> Sequence[T]:
    """The values; RelationError unless there are `rank` of them, none of them less than `least`."""
    if len(values) != rank:
        raise RelationError(f"{what} has {len(values)} numbers; it takes {rank}")
    return require_least(values, what, least)


def require_least(values: Sequence[T], what: str, least: int = 1) -> Sequence[T]:
    """The values; RelationError if one of them is a number less than `least`."""
    for v in values:
        if isinstance(v, int) and v < least:
            raise RelationError(f"{what} must be at least {least}, not {v}")
    return values


def dilated(kernel: Dim, dilation: Dim) -> Dim:
    """Extent of a kernel whose taps are `dilation` apart."""
    return add(mul(sub(kernel, 1), dilation), 1)


def reached(
    sizes: Sequence[int],
    out: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    pads: Sequence[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Padding of each axis, with the part beyond it that windows reach in `ceil_mode`."""
    return [
        (before, _further(after, (o - 1) * s + (k - 1) * d + 1 - before - size))
        for size, o, k, s, d, (before, after) in zip(sizes, out, kernel, strides, dilation, pads, strict=True)
    ]


def _further(after: int, needed: int) -> int:
    """The larger one, or where the run decides it, as much as is ever needed: padding that no window reaches changes nothing."""
    return after if signs(after - needed) <= {0, 1} else max(after, bound(needed))


def positions(size: Dim, pad: Dim, kernel: Dim, stride: Dim) -> Dim:
    """The number of positions of a window of extent `kernel` (dilated) on an axis of `size`, with `pad` elements added in all.

    RelationError where the window is wider than the axis by more than a stride, so that the number would be negative.
    """
    if isinstance(kernel, int) and kernel < 0:
        raise RelationError("the taps of a kernel without extent cannot be dilated")
    if size is ANY:
        return ANY
    dim = add(floordiv(sub(add(size, pad), kernel), stride), 1)
    if isinstance(dim, int) and dim < 0:
        raise RelationError(f"a window of {kernel} does not fit into an axis of {size} padded by {pad}")
    return dim


def per_group(channels: Dim, groups: int, what: str) -> Dim:
    """Channels of one group; RelationError where `groups` is not positive or leaves a remainder."""
    if groups < 1:
        raise RelationError(f"groups must be positive, not {groups}")
    if isinstance(channels, int) and channels % groups:
        raise RelationError(f"{channels} {what} channels cannot be divided into {groups} groups")
    return floordiv(channels, groups)


def parse_layout(name: str, canonical: str, what: str) -> Layout:
    """The layout of that name; RelationError unless it is convertible to `canonical`."""
    try:
        layout = Layout.parse(name)
    except LayoutError as error:
        raise RelationError(f"{what}: {error}") from None
    if not convertible(layout, Layout.parse(canonical)):
        raise RelationError(f'{what} "{name}" is not convertible to "{canonical}"')
    return layout


def in_layout(shape: Sequence[Dim], source: Layout | str, target: Layout | str, what: str) -> tuple[Dim, ...]:
    """`convert_shape`, with `what` leading its error; 64-bit literals lose their mark, TVM's axes having 32 bits."""
    try:
        converted = convert_shape(shape, source, target)
    except LayoutError as error:
        raise RelationError(f"{what}: {error}") from None
    return tuple(plain(d) if isinstance(d, int) else d for d in converted)


def single_window(size: int, kernel: int, pad: tuple[int, int], dilation: int, out: int) -> int | None:
    """The end of the only window along an axis, counted from its first element, padding left out: some models pool over far
    more than the axis. None if `out` is not 1, or the window is dilated, starts inside the data, or is empty.
    """
    if out != 1 or dilation != 1 or min(pad) < 0 or not is_number(size):
        return None
    end = min(size, kernel - pad[0])
    return end if end > 0 else None
