"""Fourier transforms of lengths with small factors, in a pass over the signal for each factor.

A pass transforms samples that lie M apart and turns the results; the rest is a transform of M samples for each of them:

    y[f, q] = exp(-2 pi i q f / (P M)) (sum over k of exp(-2 pi i k f / P) x[k M + q])        X[f + P g] = (transform of y[f])[g]

Results of each pass lie in the order of the frequencies so far, and of samples within. As long as many samples are left, vectors run
along these. Then frequencies and samples change places, and vectors run along the frequencies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from math import isqrt, prod
from typing import Any

from .. import te
from ..symbolic_int import is_known
from .butterflies import Complex, Signed, transform
from .fourier import product, wave

_LARGEST_FACTOR = 8
"""Samples that are transformed at once: their real and imaginary parts fill 16 registers."""
_SHORTEST = 16
"""Samples of the shortest signal: a product of matrices has more results side by side for shorter ones."""
_WIDTH = 16
"""Elements that are computed side by side."""
_TRANSPOSED = 4
"""Moving a complex number to another place takes as long as so many of its operations."""
_MOVED = 6
"""A pass loads and stores a complex number, and turns it, in the time of so many operations."""


@dataclass(frozen=True)
class Passes:
    """The factors of passes whose vectors run along samples, and of those whose vectors run along frequencies."""

    along_samples: tuple[int, ...]
    along_frequencies: tuple[int, ...]

    @property
    def cost(self) -> float:
        """Operations for each complex number of the signal, of vectors that are full."""
        left, right = prod(self.along_samples), prod(self.along_frequencies)
        extent, total = left * right, 0.0
        for factor in self.along_samples:
            extent //= factor
            total += _cost(factor) * _fill(extent)
        total += sum(_cost(factor) * _fill(left) for factor in self.along_frequencies)
        return total + (_TRANSPOSED if self.along_samples and self.along_frequencies else 0)


@cache
def passes_of(extent: int) -> Passes | None:
    """The passes with the fewest operations; None for a length with a large prime factor, and for a short one."""
    if extent < _SHORTEST or _largest_prime(extent) > _LARGEST_FACTOR:
        return None
    small = [n for n in range(1, isqrt(extent) + 1) if extent % n == 0]
    options = [Passes(_factors(left), _factors(extent // left)) for n in small for left in {n, extent // n}]
    return min(options, key=lambda p: (p.cost, prod(p.along_samples)))


def _largest_prime(extent: int) -> int:
    factor = 2
    while factor * factor <= extent:
        if extent % factor:
            factor += 1
        else:
            extent //= factor
    return extent


@cache
def _factors(extent: int) -> tuple[int, ...]:
    """The factors of a number without large primes that take the fewest operations, ascending."""
    if extent == 1:
        return ()
    steps = [n for n in range(2, _LARGEST_FACTOR + 1) if extent % n == 0]
    return min((tuple(sorted((n, *_factors(extent // n)))) for n in steps), key=lambda o: (sum(map(_cost, o)), o))


def _cost(factor: int) -> float:
    operations = {2: 2, 3: 5.4, 4: 4, 5: 9.6, 6: 9.4, 7: 13.8, 8: 7}
    return operations.get(factor, factor * 2) + _MOVED


def _fill(extent: int) -> float:
    """The time of an axis over that of full vectors: vectors of half and a quarter of the width follow these, and single elements."""
    whole, rest = divmod(extent, _WIDTH)
    halves, rest = divmod(rest, _WIDTH // 2)
    quarters, single = divmod(rest, _WIDTH // 4)
    return (whole + 0.6 * halves + 0.5 * quarters + 0.5 * single) * _WIDTH / extent


@dataclass(frozen=True)
class Signals:
    """Signals in some inputs.

    Attributes:
        inputs: tensors.
        batch: extents of the axes of signals.
        extent: samples of each.
        sample: the real and the imaginary part of a sample, from the buffers of the inputs, the indices of its signal, and its position;
            an imaginary part of None is zero.
        dtype: of sums.
    """

    inputs: Sequence[Any]
    batch: Sequence[int]
    extent: int
    sample: Callable[[Sequence[Any], tuple[Any, ...], Any], tuple[Any, Any]]
    dtype: str


@dataclass(frozen=True)
class Spectra:
    """The tensors of results.

    Attributes:
        inputs: tensors that results depend on beside the spectrum.
        shapes, dtypes: of the tensors.
        store: stores a result, to the buffers of the tensors: called with the builder, the buffers of the inputs and of the tensors, the
            indices of the signal, the frequency, and both parts.
    """

    inputs: Sequence[Any]
    shapes: Sequence[Sequence[int]]
    dtypes: Sequence[str]
    store: Callable[..., None]


@dataclass(frozen=True)
class _Signal:
    """The extents of a signal between passes: its real and imaginary parts are tensors `[…, frequency, sample, frequency of vectors]`."""

    frequencies: int
    samples: int
    vectors: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.frequencies, self.samples, self.vectors)

    def after(self, factor: int) -> _Signal:
        return _Signal(self.frequencies * factor, self.samples // factor, self.vectors)


def transform_in_passes(signals: Signals, passes: Passes, inverse: bool, spectra: Spectra) -> list[Any]:
    """The tensors of the spectra; an inverse transform is divided by the number of samples."""
    state = _Signal(1, signals.extent)
    data: Sequence[Any] = ()
    factors = (*passes.along_samples, *passes.along_frequencies)
    for number, factor in enumerate(factors):
        if number == len(passes.along_samples) and data:
            data, state = _transposed(data, signals.batch, state)
        is_last = number + 1 == len(factors)
        data = _pass(signals, data, state, factor, inverse, spectra if is_last else None)
        state = state.after(factor)
    return list(data)


def _transposed(data: Sequence[Any], batch: Sequence[int], state: _Signal) -> tuple[Sequence[Any], _Signal]:
    """The signal with its frequencies innermost."""
    after = _Signal(1, state.samples, state.frequencies)

    def transposed(x: Any) -> Any:
        def element(*i: Any) -> Any:
            *outer, _, sample, frequency = i
            return x[(*outer, frequency, sample, 0)]

        return te.compute((*batch, *after.shape), element, name="transposed")

    return [transposed(x) for x in data], after


def _pass(
    signals: Signals, data: Sequence[Any], state: _Signal, factor: int, inverse: bool, spectra: Spectra | None
) -> Sequence[Any]:
    """The signal after a pass; after the last one, the tensors of the spectra."""
    after, dtype, batch = state.after(factor), signals.dtype, tuple(signals.batch)
    rest = after.samples
    sources = list(data or signals.inputs)
    tables = []
    if rest > 1:

        def twiddle(part: Any, frequency: Any, sample: Any) -> Any:
            return wave(product(sample, frequency + 1), factor * rest, part, dtype, inverse)

        tables.append(te.compute((2, factor - 1, rest), twiddle, name="turns"))
    others = list(spectra.inputs) if spectra is not None else []

    def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
        with ExitStack() as loops:
            outer = tuple(_loop(loops, ib, n) for n in batch)
            row, sample, column = (_loop(loops, ib, n) for n in (state.frequencies, rest, state.vectors))

            def read(position: Any) -> Complex:
                if data:
                    return Complex(*(Signed(x[(*outer, row, position, column)]) for x in ins[:2]))
                return Complex(*map(Signed, signals.sample(ins[: len(sources)], outer, position)))

            results = transform([read(k * rest + sample) for k in range(factor)], inverse)
            for f, x in enumerate(results):
                if tables and f:
                    turns = ins[len(sources)]
                    x = x.times(turns[0, f - 1, sample], turns[1, f - 1, sample])
                frequency = row + f * state.frequencies
                if spectra is not None:
                    x = x.scaled(1 / signals.extent) if inverse else x
                    n = frequency * state.vectors + column
                    spectra.store(ib, ins[len(ins) - len(others) :], outs, outer, n, *_formulas(x, dtype))
                    continue
                for out, formula in zip(outs, _formulas(x, dtype), strict=True):
                    ib.store(out, (*outer, frequency, sample, column), formula)

    shapes, dtypes = [(*batch, *after.shape)] * 2, [dtype] * 2
    if spectra is not None:
        shapes, dtypes = list(map(tuple, spectra.shapes)), list(spectra.dtypes)
    tensors: Sequence[Any] = te.extern(shapes, [*sources, *tables, *others], fill, dtype=dtypes, name="pass")
    return tensors


def _loop(loops: ExitStack, ib: Any, extent: int) -> Any:
    """The variable of a loop; 0 in place of a loop of one step."""
    return te.const(0) if is_known(extent) and extent == 1 else loops.enter_context(ib.for_(extent))


def _formulas(x: Complex, dtype: str) -> tuple[Any, Any]:
    real, imaginary = (
        te.const(0, dtype) if s.formula is None else -s.formula if s.is_negative else s.formula
        for s in (x.real, x.imaginary)
    )
    return real, imaginary
