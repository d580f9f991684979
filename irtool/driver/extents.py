"""Extents as users write them: numbers, and lengths that a run decides within bounds.

    8   ?<=8   batch<=8   2<=batch<=8   batch

A name stands for one length wherever it appears: its bounds are said once, or equally each time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..backends.base import length_names
from ..diagnostics import UsageError, nearest
from ..ir import Module
from ..symbolic_int import symbolic

LARGEST = (1 << 31) - 1
"""The largest bound: loops of kernels count in 32 bits."""

ANONYMOUS = "?"
_BOUNDED = re.compile(r"(?:([^<>=]*)<=)?([^<>=]+)<=([^<>=]*)")


@dataclass(frozen=True)
class Length:
    """A length that the run decides: its name in the model, or `?`, and its bounds; None for a bound that is not said here."""

    name: str
    low: int | None = None
    high: int | None = None

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Both bounds, if there is an upper one."""
        return None if self.high is None else (1 if self.low is None else self.low, self.high)

    def __str__(self) -> str:
        low = "" if self.low is None else f"{self.low}<="
        return f"{low}{self.name}" + ("" if self.high is None else f"<={self.high}")


def read_bounds(text: str) -> Length | None:
    """A length from `NAME<=HIGH` or `LOW<=NAME<=HIGH`; None for a text of another form. Raises UsageError for impossible bounds."""
    match = _BOUNDED.fullmatch(text.strip())
    if match is None or not match[2].strip() or not match[3].strip():
        return None
    name = match[2].strip()
    low = 1 if match[1] is None else _bound(match[1], name)
    high = _bound(match[3], name)
    if low < 1:
        raise UsageError(f"the least length of {name} is 1, not {low}", help=f"write 1<={name}<=512")
    if high < 1:
        raise UsageError(f"the bound of {name} is {high}: nothing would be left to compute", help=f"write {name}<=512")
    if high > LARGEST:
        raise UsageError(f"the bound of {name} is {high}: the largest one is {LARGEST}")
    if low > high:
        raise UsageError(f"{name} is to be at least {low} and at most {high}: no length is both")
    return Length(name, None if match[1] is None else low, high)


def _bound(text: str, name: str) -> int:
    number = text.strip()
    if not re.fullmatch(r"-?\d+", number, re.ASCII):
        raise UsageError(f"{number!r} is no bound of {name}", help=f"write {name}<=512")
    return int(number)


def read_extent(text: str) -> int | Length | None:
    """An extent of a shape: a number, `?<=8`, `batch<=8`, or the name of a length that has its bounds elsewhere; None for another text.

    Raises UsageError for impossible bounds, and for `?` alone."""
    text = text.strip()
    if text.isdecimal():
        return int(text)
    if text == ANONYMOUS:
        raise UsageError("? alone has no bound, and the memory of a build is planned for one", help="write ?<=512")
    if re.fullmatch(r"[A-Za-z_][\w.]*", text, re.ASCII):
        return Length(text)
    return read_bounds(text)


Extent = int | Length
Shapes = Mapping[str, Sequence[Extent]]
Dims = Mapping[str, Extent]


def settle_lengths(shapes: Shapes, dims: Dims) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Shapes and extents by name, with a symbolic extent for each length.

    Raises UsageError for a length whose bounds are said nowhere, or differ.
    """
    named = {n: tuple(_named(d, f"{n}_{axis}") for axis, d in enumerate(s)) for n, s in shapes.items()}
    bounds: dict[str, Length] = {}
    lengths = [d for d in (*dims.values(), *(d for s in named.values() for d in s)) if isinstance(d, Length)]
    for d in lengths:
        known = bounds.setdefault(d.name, d)
        if d.bounds is not None and known.bounds is None:
            bounds[d.name] = d
        elif d.bounds is not None and d.bounds != known.bounds:
            raise UsageError(f"{d.name} has two bounds: {known} and {d}", help="one length has one bound")
    for name, d in bounds.items():
        pinned = dims.get(name)
        if isinstance(pinned, int):
            raise UsageError(f"{name} is {pinned} and a length of the run: {d}", help="give it one or the other")
        if d.bounds is None:
            raise UsageError(
                f"{name} has no bound, and the memory of a build is planned for one", help=f"write {name}<=512"
            )
    names = length_names(bounds)
    extents: dict[str, int] = {n: symbolic(names[n], *d.bounds) for n, d in bounds.items() if d.bounds is not None}

    def settled(d: Extent) -> int:
        return extents[d.name] if isinstance(d, Length) else d

    return {n: tuple(map(settled, s)) for n, s in named.items()}, {n: settled(d) for n, d in dims.items()}


def _named(d: Extent, place: str) -> Extent:
    """The extent with a name for its place, if it has none."""
    return replace(d, name=place) if isinstance(d, Length) and d.name == ANONYMOUS else d


def read_given(
    shapes: Mapping[str, Sequence[int | str]], dims: Mapping[str, int | str]
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """The same for numbers and texts by name: `{"x": ("?<=8", 512)}`, `{"seq": "<=512"}`. Raises UsageError for other texts."""
    return settle_lengths(
        {n: tuple(_read(d, n, read_extent) for d in s) for n, s in shapes.items()},
        {n: _read(n + d if isinstance(d, str) and d.startswith("<") else d, n, _bounds_of(n)) for n, d in dims.items()},
    )


def _bounds_of(name: str) -> Callable[[str], Length | None]:
    """Reads the bounds of the length of that name alone."""

    def read(text: str) -> Length | None:
        length = read_bounds(text)
        return length if length is None or length.name == name else None

    return read


def with_given_extents(
    module: Module, entry: str, shapes: Mapping[str, Sequence[int | str]], dims: Mapping[str, int | str]
) -> Module:
    """The module in which the parameters of `entry` have these extents (see `read_given`).

    Raises UsageError for an extent that cannot be read, or a name that no dimension has; IrError for contradictions of what is written.
    """
    from ..infer import specialize
    from ..infer.named_extents import dim_names, with_named_extents

    known = dim_names(module, entry)
    for name in dims:
        if name not in known:
            listing = f"its dimensions: {', '.join(known)}" if known else "no dimension has a name: give shapes"
            raise UsageError(
                f"no dimension of a parameter of @{entry} is called {name}", help=nearest(name, known) or listing
            )
    fixed_shapes, fixed_dims = read_given(shapes, dims)
    module = with_named_extents(module, entry, fixed_dims) if dims else module
    return specialize(module, entry, fixed_shapes)


def _read(d: int | str, name: str, read: Callable[[str], Extent | None]) -> Extent:
    extent = read(d) if isinstance(d, str) else d
    if not isinstance(extent, int | Length) or (isinstance(extent, int) and extent < 0):
        raise UsageError(
            f"cannot read the extent {d!r} of {name}", help='write a number, or "<=512" for a length of the run'
        )
    return extent
