"""Fourier transforms in two steps, as products of matrices.

A signal of N = P Q samples is transformed in sums over P and over Q samples (Cooley and Tukey 1965), where the definition has sums over
N. With samples x[Q p + q] and frequencies f + P g:

    X[f + P g] = sum over q of exp(-2 pi i q g / Q) exp(-2 pi i q f / N) (sum over p of exp(-2 pi i p f / P) x[Q p + q])

In both steps the frequencies f lie side by side, and what samples are multiplied by is in tables, unless these were too large: a
length that is a large prime is summed in one step, with the waves of a single turn looked up one by one. Complex numbers lie as all real parts
and all imaginary ones, along an axis `part` of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any

from .. import te
from .waves import wave_expressions

_WIDTH = 16
"""Results that a step computes side by side: fewer take as long."""
_TURN = 8
"""Turning a sample takes as long as so many samples of a sum."""
MOST_IN_TABLE = 1 << 22
"""Elements of a table of waves."""


def factors(extent: int) -> tuple[int, int]:
    """P and Q with the fewest multiplications; Q is 1 where one step has as few."""

    def cost(p: int) -> float:
        q = extent // p
        return -(-p // _WIDTH) * _WIDTH / p * (p if q == 1 else p + q + _TURN)

    small = [n for n in range(1, isqrt(extent) + 1) if extent % n == 0]
    p = min((p for n in small for p in (n, extent // n)), key=lambda p: (cost(p), -p))
    return p, extent // p


def product(a: Any, b: Any) -> Any:
    """A product of indices, as an int64 expression."""
    return te.cast(a, "int64") * te.cast(b, "int64")


def wave(steps: Any, extent: int, part: Any, dtype: str, inverse: bool = False) -> Any:
    """A part of `exp(-2 pi i steps / extent)`, of its conjugate with `inverse`; `steps` is an int64 expression."""
    cos, sin = wave_expressions(steps, extent, dtype)
    return te.select(part.equal(0), cos, sin if inverse else -sin)


def waves_of(
    rows: int, columns: int, extent: int, dtype: str, inverse: bool = False
) -> Callable[[Any, Any, Any, Any], Any]:
    """`exp(-2 pi i row column / extent)`, the factors of parts of samples before their sum, by `(row, of, to, column)`: for the part `of`
    of a sample and the part `to` of a sum."""
    if 4 * rows * columns > MOST_IN_TABLE:
        single = single_waves(extent, dtype, inverse)

        def looked_up(row: Any, of: int, to: Any, column: Any) -> Any:
            sine = single(product(row, column), 1 - to if of else to)
            return te.select(to.equal(0), -sine, sine) if of else sine

        return looked_up

    def element(row: Any, of: Any, to: Any, column: Any) -> Any:
        sine = wave(product(row, column), extent, te.bitwise_xor(of, to), dtype, inverse)
        return te.select(te.all(of.equal(1), to.equal(0)), -sine, sine)

    table = te.compute((rows, 2, 2, columns), element, name="waves")
    return lambda row, of, to, column: table[row, of, to, column]


def single_waves(extent: int, dtype: str, inverse: bool = False) -> Callable[[Any, Any], Any]:
    """`wave` of a part by `(steps, part)`, from a table of one turn."""

    def element(part: Any, steps: Any) -> Any:
        return wave(te.cast(steps, "int64"), extent, part, dtype, inverse)

    table = te.compute((2, extent), element, name="waves_of_a_turn")
    return lambda steps, part: table[part, te.cast(te.floormod(steps, te.const(extent, "int64")), "int32")]


def turn(sums: Any, extent: int, inverse: bool) -> Any:
    """Sums of the first step, `[…, q, part, f]`, times the twiddle factors of their samples: the signal of the second."""
    turns = waves_of(sums.shape[-3], sums.shape[-1], extent, sums.dtype, inverse)

    def rotated(*i: Any) -> Any:
        *outer, q, to, f = i
        return sums[(*outer, q, 0, f)] * turns(q, 0, to, f) + sums[(*outer, q, 1, f)] * turns(q, 1, to, f)

    return te.compute(sums.shape, rotated, name="turned", tag="elemwise")


def second_step(signal: Any, count: int, inverse: bool = False) -> Any:
    """The first `count` frequencies g of a signal `[…, q, part, f]`: `[…, g, part, f]`."""
    *batch, extent, parts, frequencies = signal.shape
    waves = waves_of(extent, count, extent, signal.dtype, inverse)
    k = te.reduce_axis(extent, name="k")

    def element(*i: Any) -> Any:
        *outer, g, to, f = i
        return te.sum(
            signal[(*outer, k, 0, f)] * waves(k, 0, to, g) + signal[(*outer, k, 1, f)] * waves(k, 1, to, g), axis=k
        )

    return te.compute((*batch, count, parts, frequencies), element, name="second_step")


def not_a_number(shape: Sequence[int], extent: int, samples: Callable[[Any, tuple[Any, ...]], Sequence[Any]]) -> Any:
    """0 for a signal of finite samples, NaN for any other: sums would have infinities at some frequencies, which depend on the steps."""
    k = te.reduce_axis(extent, name="k")

    def element(*i: Any) -> Any:
        first, *others = (x * te.const(0, x.dtype) for x in samples(k, i))
        return te.sum(sum(others, first), axis=k)

    return te.compute(tuple(shape), element, name="not_a_number")
