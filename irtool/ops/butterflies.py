"""Fourier transforms of a few samples, as formulas in which no factor is 0, 1 or -1.

A transform of P Q samples is Q transforms of P samples, whose results are turned, and P transforms of Q of these (Cooley and Tukey
1965). One of a prime number of samples adds and subtracts the samples of opposite angles first, which halves its products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te


@dataclass(frozen=True)
class Signed:
    """A real number: a formula, or its negative, which takes no operation as long as the number is added to others.

    A formula of None is zero.
    """

    formula: Any
    is_negative: bool = False

    def __neg__(self) -> Signed:
        return Signed(self.formula, not self.is_negative)

    def __add__(self, other: Signed) -> Signed:
        if self.formula is None or other.formula is None:
            return other if self.formula is None else self
        if self.is_negative == other.is_negative:
            return Signed(self.formula + other.formula, self.is_negative)
        positive, negative = (other, self) if self.is_negative else (self, other)
        return Signed(positive.formula - negative.formula)

    def __sub__(self, other: Signed) -> Signed:
        return self + -other

    def times(self, factor: Any) -> Signed:
        """The product by a formula."""
        return self if self.formula is None else Signed(self.formula * factor, self.is_negative)

    def scaled(self, factor: float) -> Signed:
        """The product by a constant."""
        if self.formula is None or factor == 0:
            return Signed(None)
        size = self if abs(factor) == 1 else self.times(te.const(abs(factor), self.formula.dtype))
        return -size if factor < 0 else size


@dataclass(frozen=True)
class Complex:
    """A complex number."""

    real: Signed
    imaginary: Signed

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.real + other.real, self.imaginary + other.imaginary)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.real - other.real, self.imaginary - other.imaginary)

    def rotated(self, steps: int, extent: int) -> Complex:
        """The product by `exp(-2 pi i steps / extent)`."""
        cos, sin = _wave(steps, extent)
        if abs(abs(cos) - abs(sin)) < 1e-15:  # an eighth of a turn: two products in place of four
            right, down = math.copysign(1, cos), math.copysign(1, sin)
            real = self.real.scaled(right) + self.imaginary.scaled(down)
            imaginary = self.imaginary.scaled(right) - self.real.scaled(down)
            return Complex(real.scaled(abs(cos)), imaginary.scaled(abs(cos)))
        real = self.real.scaled(cos) + self.imaginary.scaled(sin)
        return Complex(real, self.imaginary.scaled(cos) - self.real.scaled(sin))

    def scaled(self, factor: float) -> Complex:
        """The product by a real number."""
        return Complex(self.real.scaled(factor), self.imaginary.scaled(factor))

    def times(self, cos: Any, sin: Any) -> Complex:
        """The product by `cos + i sin`, which are formulas."""
        real = self.real.times(cos) - self.imaginary.times(sin)
        return Complex(real, self.imaginary.times(cos) + self.real.times(sin))

    def conjugated(self) -> Complex:
        """The conjugate."""
        return Complex(self.real, -self.imaginary)


def transform(samples: Sequence[Complex], inverse: bool = False) -> list[Complex]:
    """The transform of all samples, not divided by their number if it is inverse."""
    if inverse:
        return [x.conjugated() for x in transform([x.conjugated() for x in samples])]
    return _transform(samples)


def _transform(samples: Sequence[Complex]) -> list[Complex]:
    count = len(samples)
    if count <= 2:
        return [samples[0] + samples[1], samples[0] - samples[1]] if count == 2 else list(samples)
    first = 4 if count % 4 == 0 else next(p for p in range(2, count + 1) if count % p == 0)
    if first == count:
        return _four(samples) if count == 4 else _prime(samples)
    second = count // first
    rows = [_transform(samples[j::second]) for j in range(second)]
    columns = [_transform([rows[j][f].rotated(j * f, count) for j in range(second)]) for f in range(first)]
    return [columns[n % first][n // first] for n in range(count)]


def _four(samples: Sequence[Complex]) -> list[Complex]:
    a, b, c, d = samples
    even, odd, first, second = a + c, b + d, a - c, (b - d).rotated(1, 4)
    return [even + odd, first + second, even - odd, first - second]


def _prime(samples: Sequence[Complex]) -> list[Complex]:
    """A transform of an odd number of samples: sums over pairs of opposite angles."""
    count, half = len(samples), len(samples) // 2
    sums = [samples[j] + samples[count - j] for j in range(1, half + 1)]
    differences = [samples[j] - samples[count - j] for j in range(1, half + 1)]
    first = samples[0]
    for x in sums:
        first = first + x
    results = [first] * count
    for n in range(1, half + 1):
        even, odd = samples[0], Complex(Signed(None), Signed(None))
        for j, (x, y) in enumerate(zip(sums, differences, strict=True), 1):
            cos, sin = _wave(j * n, count)
            even = even + x.scaled(cos)
            odd = odd + Complex(y.imaginary.scaled(sin), -y.real.scaled(sin))
        results[n], results[count - n] = even + odd, even - odd
    return results


def _wave(steps: int, extent: int) -> tuple[float, float]:
    """The cosine and the sine of `2 pi steps / extent`, exact at quarters of a turn."""
    steps %= extent
    if 4 * steps % extent == 0:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[4 * steps // extent]
    angle = 2 * math.pi * steps / extent
    return math.cos(angle), math.sin(angle)
