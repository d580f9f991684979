"""The lengths of a run, from the shapes of its inputs.

Each length is read where a shape has it alone, `[seq, 64]`, or solved where a formula has no other unknown one, `[2 * seq + 1]`. All other
extents are compared with their formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from ..diagnostics import IrError
from ..ir.mistakes import ValueDoesNotFit
from ..symbolic_int import MOST_POINTS, Symbol, SymbolicInt, symbol_of, symbols_of, value_at
from ..tir.program import StateLength


class WrongLength(IrError, ValueError):
    """A shape that no lengths of the run give."""


class StateFull(IrError, ValueError):
    """A step for which the states of an instance have no room."""


Source = tuple[int, int, SymbolicInt]
"""The number of a tensor, one of its axes, and the formula of its extent there."""


class Lengths:
    """Solves the lengths of an entry for shapes of its inputs.

    Args:
        entry: its name, for messages.
        symbols: its lengths, in the order in which the compiled function takes them.
        names: the names of its inputs, and `shapes` theirs.
        demands: pairs of extents, as inputs have them and as the function computes with, that are equal in each run.
        state_lengths: those that an instance keeps between steps.
    """

    def __init__(
        self,
        entry: str,
        symbols: Sequence[Symbol],
        names: Sequence[str],
        shapes: Sequence[Sequence[int]],
        demands: Sequence[tuple[int, int]] = (),
        state_lengths: Sequence[StateLength] = (),
    ) -> None:
        positions = [x.symbol for x in state_lengths if x.is_position]
        self.symbols = (*symbols, *positions)
        self._own = len(symbols)
        self._entry = entry
        self._names = names
        self._shapes = shapes
        self._demands = demands
        formulas = [(n, k, d) for n, s in enumerate(shapes) for k, d in enumerate(s) if isinstance(d, SymbolicInt)]
        sources, checks = _order(formulas, positions)
        # A call takes a few microseconds: places in a tuple are faster than symbols as keys.
        self._place = {s: n for n, s in enumerate(self.symbols)}
        self._sources = [
            (self._place[s], s, source, symbol_of(source[2]) is not None, s.least, s.high, s.step, s.choices)
            for s, source in sources
        ]
        self._checks = [(n, k, d, self._place_of(d)) for n, k, d in checks]
        self._unknown = [s for s in symbols if s not in {s for s, _ in sources}]
        self._is_position = [x.is_position for x in state_lengths]
        self._next = [(x, self.extent(x.next)) for x in state_lengths if x.is_position]
        self._same = [None if x.is_position else self._place[x.symbol] for x in state_lengths]

    def solve(self, shapes: Sequence[Sequence[int]], instance: Sequence[int] = ()) -> tuple[int, ...]:
        """The lengths, in the order of `symbols`, for inputs of these shapes, whose ranks and constant extents have been compared, and for
        the values of `state_lengths` in an instance.

        Raises WrongLength for a length outside of its bounds, extents that contradict each other, or a length other than in the steps
        before; StateFull for a step for which the states have no room.
        """
        if self._unknown:
            names = ", ".join(s.name for s in self._unknown)
            raise WrongLength(f"the shapes of inputs of @{self._entry} do not decide {names}", code=ValueDoesNotFit)
        lengths = [0] * self._own + [x for x, own in zip(instance, self._is_position) if own]
        for place, symbol, (n, axis, formula), is_length, low, high, step, choices in self._sources:
            extent = shapes[n][axis]
            value = extent if is_length else _solve(formula, symbol, self.values(lengths), extent)
            if value is None or not low <= value <= high or value % step or (choices and value not in choices):
                words = "" if is_length else f"with {symbol.name} "
                raise self._refuse(n, axis, extent, f"{formula}, {words}{symbol.range}")
            lengths[place] = value
        if instance:
            self._check_kept(lengths, instance)
        for n, axis, formula, same in self._checks:
            expected = lengths[same] if same is not None else value_at(formula, self.values(lengths))
            if shapes[n][axis] != expected:
                values = self.values(lengths)
                known = ", ".join(f"{s.name} = {values[s]}" for s in symbols_of([formula]))
                requirement = known if same is not None else f"{formula} = {expected} ({known})"
                raise self._refuse(n, axis, shapes[n][axis], requirement)
        if self._demands:
            self._check_demands(self.values(lengths))
        return tuple(lengths)

    def _check_kept(self, lengths: Sequence[int], instance: Sequence[int]) -> None:
        """Raises StateFull or WrongLength for lengths that do not fit those of an instance."""
        for x, extent in self._next:
            if (size := extent(lengths)) > x.capacity:
                raise StateFull(
                    f"the states of @{self._entry} have no room for the step: {x.next} would be {size}, and at most {x.capacity} is "
                    "possible",
                    help="begin anew: reset()",
                    code=ValueDoesNotFit,
                )
        for place, before in zip(self._same, instance):
            if place is not None and before not in (0, lengths[place]):
                raise WrongLength(
                    f"{self.symbols[place].name} is {lengths[place]} in this step of @{self._entry}, and was {before} in the steps before",
                    help="begin anew: reset()",
                    code=ValueDoesNotFit,
                )

    def passed(self, lengths: Sequence[int]) -> Sequence[int]:
        """The lengths that the compiled function takes: those that an instance keeps are not among them."""
        return lengths[: self._own]

    def _check_demands(self, values: Mapping[Symbol, int]) -> None:
        """Raises WrongLength for extents that have to be equal, and are not."""
        for declared, extent in self._demands:
            sizes = value_at(declared, values), value_at(extent, values)
            if sizes[0] != sizes[1]:
                used = symbols_of([declared, extent])
                both = [s for s in self.symbols if s in used]
                places = [
                    f"%{self._names[n]} is [{', '.join(map(str, shape))}]"
                    for n, shape in enumerate(self._shapes)
                    if any(s in both for s in symbols_of(shape))
                ]
                known = ", ".join(f"{s.name} = {values[s]}" for s in both)
                raise WrongLength(
                    f"{declared} must be {extent} in @{self._entry}, and {known}: {', '.join(places)}",
                    code=ValueDoesNotFit,
                )

    def values(self, lengths: Sequence[int]) -> dict[Symbol, int]:
        """The lengths by symbol."""
        return dict(zip(self.symbols, lengths, strict=True))

    def extent(self, d: int) -> Callable[[Sequence[int]], int]:
        """The extent as a function of the lengths."""
        if not isinstance(d, SymbolicInt):
            return lambda lengths: d
        if (place := self._place_of(d)) is not None:
            return itemgetter(place)
        return lambda lengths: max(0, value_at(d, self.values(lengths)))

    def _place_of(self, d: int) -> int | None:
        """The place among the lengths of the one that the extent is."""
        symbol = symbol_of(d)
        return None if symbol is None else self._place[symbol]

    def _refuse(self, n: int, axis: int, extent: int, expected: str) -> WrongLength:
        shape = ", ".join(map(str, self._shapes[n]))
        return WrongLength(
            f"%{self._names[n]} of @{self._entry} is [{shape}]: its axis {axis} must be {expected}, and it is {extent}",
            code=ValueDoesNotFit,
        )


def _order(
    formulas: Sequence[Source], positions: Sequence[Symbol] = ()
) -> tuple[list[tuple[Symbol, Source]], list[Source]]:
    """The extents that lengths are solved from, each with one length beside those that are kept, those alone first; and the others."""
    left = sorted(formulas, key=lambda f: symbol_of(f[2]) is None)
    sources: list[tuple[Symbol, Source]] = []
    known: set[Symbol] = set(positions)
    while True:
        unknown = {n: set(f[2].symbols() - known) for n, f in enumerate(left)}
        number = next((n for n, missing in unknown.items() if len(missing) == 1), None)
        if number is None:
            return sources, left
        symbol = unknown[number].pop()
        sources.append((symbol, left.pop(number)))
        known.add(symbol)


def _solve(formula: SymbolicInt, symbol: Symbol, values: Mapping[Symbol, int], extent: int) -> int | None:
    """The least length with that extent; None without one."""
    import numpy as np

    if symbol.high // symbol.step > MOST_POINTS and not symbol.choices:
        return _solve_monotone(formula, symbol, values, extent)
    lengths = symbol.lengths(symbol.least)
    (equal,) = np.nonzero(np.broadcast_to(formula.at({**values, symbol: lengths}), lengths.shape) == extent)
    return int(lengths[equal[0]]) if len(equal) else None


def _solve_monotone(formula: SymbolicInt, symbol: Symbol, values: Mapping[Symbol, int], extent: int) -> int | None:
    """The same for a length with many values, and a formula that grows with it: by bisection."""
    low, high = 0, symbol.high // symbol.step
    while low < high:
        middle = (low + high) // 2
        if formula.at({**values, symbol: middle * symbol.step}) < extent:
            low = middle + 1
        else:
            high = middle
    length = low * symbol.step
    return length if length >= symbol.least and formula.at({**values, symbol: length}) == extent else None
