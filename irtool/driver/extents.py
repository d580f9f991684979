"""Extents as users write them: numbers, and lengths that a run decides within bounds.

    8   ?   ?<=8   batch   batch<=8   2<=batch<=8   h<=256:4   batch=1|4|8   4*h<=256   past+seq

A name stands for one length wherever it appears: its bounds are said once, or equally each time; a length without them has none. `h<=256:4` are the multiples of 4,
`batch=1|4|8` these three lengths alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..backends.base import length_names
from ..diagnostics import UsageError, nearest
from ..infer.extent_formulas import NAME, Formula, read_formula
from ..ir import Module
from ..symbolic_int import LARGEST, Symbol, choice_of, extent_of

ANONYMOUS = "?"
_CHOICES = re.compile(r"(?:([^<>=|]+)=)?\s*(\d+(?:\s*\|\s*\d+)+)\s*", re.ASCII)
_BOUNDED = re.compile(r"(?:([^<>=]*)<=)?([^<>=]+)<=([^<>=:]*)(?::([^<>=:]*))?")


@dataclass(frozen=True)
class Length:
    """A length that the run decides: its name in the model, or `?`, its bounds, None for one that is not said here, its step, and its only
    values if these are said."""

    name: str
    low: int | None = None
    high: int | None = None
    step: int = 1
    choices: tuple[int, ...] = ()

    @property
    def symbol(self) -> Symbol | None:
        """The length with its bounds, if there is an upper one."""
        if self.choices:
            return choice_of(self.name, self.choices)
        low = self.step if self.low is None else self.low
        return None if self.high is None else Symbol(self.name, low, self.high, self.step)

    @property
    def unbounded(self) -> Symbol:
        """The length with the largest bound that code can count to."""
        return Symbol(self.name, 1, LARGEST, is_bounded=False)

    def __str__(self) -> str:
        if self.choices:
            return f"{self.name}={'|'.join(map(str, self.choices))}"
        low = "" if self.low is None else f"{self.low}<="
        high = "" if self.high is None else f"<={self.high}"
        return f"{low}{self.name}{high}" + (f":{self.step}" if self.step > 1 else "")


@dataclass(frozen=True)
class Multiple:
    """The extent `4*h<=256`: a formula of a length, and the bounds that follow for the length."""

    formula: Formula
    length: Length


def read_bounds(text: str) -> Length | None:
    """A length from `NAME<=HIGH`, `LOW<=NAME<=HIGH`, `LOW<=NAME<=HIGH:STEP` or `NAME=1|4|8`; None for a text of another form.

    Raises UsageError for impossible bounds.
    """
    if (choices := _read_choices(text)) is not None:
        return choices if choices.name != ANONYMOUS else None
    match = _BOUNDED.fullmatch(text.strip())
    if match is None or not match[2].strip() or not match[3].strip():
        return None
    name = match[2].strip()
    step = 1 if match[4] is None else _bound(match[4], name)
    if step < 1:
        raise UsageError(f"the step of {name} is {step}, and must be positive", help=f"write {name}<=512:4")
    low = step if match[1] is None else _bound(match[1], name)
    high = _bound(match[3], name)
    if low < 0:
        raise UsageError(f"the least length of {name} is {low}: none is negative", help=f"write 0<={name}<=512")
    if high < 1:
        raise UsageError(f"the bound of {name} is {high}: nothing would be left to compute", help=f"write {name}<=512")
    if high > LARGEST:
        raise UsageError(f"the bound of {name} is {high}: the largest one is {LARGEST}")
    if low > high:
        raise UsageError(f"{name} is to be at least {low} and at most {high}: no length is both")
    if low % step or high % step:
        whole = f"{-(-low // step) * step}<={name}<={high // step * step}:{step}"
        raise UsageError(f"the bounds of {name} are no multiples of its step {step}", help=f"write {whole}")
    return Length(name, None if match[1] is None else low, high, step)


def _read_choices(text: str) -> Length | None:
    """A length from `NAME=1|4|8`, or one without a name from `1|4|8`; None for a text of another form.

    Raises UsageError for impossible values.
    """
    match = _CHOICES.fullmatch(text.strip())
    if match is None:
        return None
    name = (match[1] or ANONYMOUS).strip()
    values = [int(v) for v in match[2].split("|")]
    if len(set(values)) < len(values):
        raise UsageError(f"{text.strip()!r} has a value twice", help=f"write {name}=1|4|8")
    wrong = next((v for v in values if not 1 <= v <= LARGEST), None)
    if wrong is not None:
        raise UsageError(f"{name} cannot be {wrong}: lengths are from 1 to {LARGEST}", help=f"write {name}=1|4|8")
    return Length(name, choices=tuple(sorted(values)))


def _bound(text: str, name: str) -> int:
    number = text.strip()
    if not re.fullmatch(r"-?\d+", number, re.ASCII):
        raise UsageError(f"{number!r} is no bound of {name}", help=f"write {name}<=512")
    return int(number)


def read_extent(text: str) -> Extent | None:
    """An extent of a shape: a number, `?<=8`, `batch<=8`, `1|4|8`, `4*h<=256`, or a name or formula of lengths that have their bounds elsewhere; None
    for another text.

    Raises UsageError for impossible bounds.
    """
    text = text.strip()
    if text.isdecimal():
        return int(text)
    if text == ANONYMOUS:
        return Length(ANONYMOUS)
    if re.fullmatch(NAME, text, re.ASCII):
        return Length(text)
    if (formula := read_formula(text)) is not None:
        return formula
    length = _read_choices(text) or read_bounds(text)
    return length if length is None else _bounded(length)


def _bounded(length: Length) -> Length | Multiple:
    """The extent whose name may be a formula, `4*h`: the bounds are those of the formula."""
    formula = read_formula(length.name)
    if formula is None or re.fullmatch(NAME, length.name, re.ASCII):
        return length
    if formula.multiple is None or length.step > 1 or length.choices or length.high is None:
        raise UsageError(f"{length} has bounds of a formula", help="give bounds to each length: --dim 'seq<=512'")
    k, name = formula.multiple
    low, high = None if length.low is None else -(-length.low // k), length.high // k
    if high < (low or 1):
        raise UsageError(f"{length}: {name} would have no value")
    return Multiple(formula, Length(name, low, high))


Extent = int | Length | Formula | Multiple
Shapes = Mapping[str, Sequence[Extent]]
Dims = Mapping[str, Extent]


def settle_lengths(shapes: Shapes, dims: Dims) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Shapes and extents by name, with a symbolic extent for each length.

    A length whose bounds are said nowhere has none. Raises UsageError for bounds that differ.
    """
    named = {n: tuple(_named(d, f"{n}_{axis}") for axis, d in enumerate(s)) for n, s in shapes.items()}
    bounds: dict[str, Length] = {}
    written = [*dims.values(), *(d for s in named.values() for d in s)]
    lengths = [d.length if isinstance(d, Multiple) else d for d in written if isinstance(d, Length | Multiple)]
    numbers = {n: d for n, d in dims.items() if isinstance(d, int)}
    formulas = [d for d in written if isinstance(d, Formula)]
    for d in (*lengths, *(Length(n) for f in formulas for n in f.names if n not in numbers)):
        known = bounds.setdefault(d.name, d)
        if d.symbol is not None and known.symbol is None:
            bounds[d.name] = d
        elif d.symbol is not None and d.symbol != known.symbol:
            raise UsageError(f"{d.name} has two bounds: {known} and {d}", help="one length has one bound")
    for name, d in bounds.items():
        if name in numbers:
            raise UsageError(f"{name} is {numbers[name]} and a length of the run: {d}", help="give it one or the other")
    names = length_names(bounds)
    symbols = {n: d.symbol or d.unbounded for n, d in bounds.items()}
    extents: dict[str, int] = {n: extent_of(replace(s, name=names[n])) for n, s in symbols.items()}
    extents |= numbers

    def settled(d: Extent) -> int:
        if isinstance(d, Formula | Multiple):
            return (d.formula if isinstance(d, Multiple) else d).at(extents)
        return extents[d.name] if isinstance(d, Length) else d

    return {n: tuple(map(settled, s)) for n, s in named.items()}, {n: settled(d) for n, d in dims.items()}


def _named(d: Extent, place: str) -> Extent:
    """The extent with a name for its place, if it has none."""
    return replace(d, name=place) if isinstance(d, Length) and d.name == ANONYMOUS else d


def read_given(
    shapes: Mapping[str, Sequence[int | str]], dims: Mapping[str, int | str]
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """The same for numbers and texts by name: `{"x": ("?<=8", 512)}`, `{"seq": "<=512", "batch": "1|4|8", "rows": "?"}`. Raises UsageError for other texts."""
    return settle_lengths(
        {n: tuple(_read(d, n, read_extent) for d in s) for n, s in shapes.items()},
        {
            n: _read(n + d if isinstance(d, str) and d.startswith("<") else d, n, _dim_reader(n))
            for n, d in dims.items()
        },
    )


def _dim_reader(name: str) -> Callable[[str], Length | Formula | None]:
    """Reads the bounds of the length of that name alone, or a formula of others."""

    def read(text: str) -> Length | Formula | None:
        if (choices := _read_choices(text)) is not None and choices.name == ANONYMOUS:
            return replace(choices, name=name)
        if text.strip() == ANONYMOUS:
            return Length(name)
        length = read_bounds(text)
        return read_formula(text) if length is None else length if length.name == name else None

    return read


def with_given_extents(
    module: Module, entry: str, shapes: Mapping[str, Sequence[int | str]], dims: Mapping[str, int | str]
) -> Module:
    """The module in which the parameters of `entry` have these extents (see `read_given`).

    Raises UsageError for an extent that cannot be read, or a name that no dimension has; IrError for contradictions of what is written.
    """
    from ..infer import specialize
    from ..infer.equal_lengths import with_equal_lengths
    from ..infer.named_extents import dim_names, with_named_extents, with_value_bounds

    fixed_shapes, fixed_dims = read_given(shapes, dims)
    module, fixed_dims = with_value_bounds(module, entry, fixed_dims)
    known = dim_names(module, entry)
    for name in fixed_dims:
        if name not in known:
            listing = f"its dimensions: {', '.join(known)}" if known else "no dimension has a name: give shapes"
            raise UsageError(
                f"no dimension of a parameter of @{entry} is called {name}", help=nearest(name, known) or listing
            )
    module = with_named_extents(module, entry, fixed_dims) if fixed_dims else module
    return specialize(module, entry, fixed_shapes) if shapes else with_equal_lengths(module, entry)


def _read(d: int | str, name: str, read: Callable[[str], Extent | None]) -> Extent:
    extent = read(d) if isinstance(d, str) else d
    if not isinstance(extent, Extent) or (isinstance(extent, int) and extent < 0):
        raise UsageError(
            f"cannot read the extent {d!r} of {name}", help='write a number, or "<=512" for a length of the run'
        )
    return extent
