"""Single-precision powers of 16 lanes, whose logarithm begins with a table: a part of `vector_powers`, which states the formula.

One instruction selects from 32 numbers in each of sixteen lanes, so that the table replaces a division, as in Tang, Table-Driven
Implementation of the Logarithm Function, 1990. |x| = 2^k · m with m from √½ to √2. c, of few bits, approximates 1/m, so that r =
m · c - 1 is exact; log2 |x| = k - log2 c + log2(1 + r).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from math import log, log2

from ...selection.vectors.types import VectorType
from .polynomials import horner

_LANES = 16
_ENTRIES = 32
_FIRST = 0x3F3504F3
"""The bits of √½."""
_STEP = (1 << 23) // _ENTRIES
_SHORT = 1 << 15
"""The inverse of the unit to which log2 c is rounded, so that k - log2 c is exact; a second number has the remainder."""
_TERMS = tuple((-1) ** (n + 1) / (n * log(2)) for n in range(2, 7))
"""log2(1 + r) without its linear part, divided by r², as a Taylor polynomial: up to r = 0.024 the error is below 2^-39."""

_PICK = """IRT_INLINE {t} irt_vpick_{n}({t} low, {t} high, {i} at) {{
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
  return __builtin_shuffle(low, high, at);
#else
  {t} v;
  int k;
  for (k = 0; k < {lanes}; ++k) v[k] = at[k] & {lanes} ? high[at[k] & ({lanes} - 1)] : low[at[k] & ({lanes} - 1)];
  return v;
#endif
}}"""
# log2 |x| is `h` + `l`: what rounding takes away from r · log2 e, and from its sum with k - log2 c, is added to `l`. That may be a
# hundredth of `h`, so that the nearest integer is that to both of the product's parts. See `vector_powers` for arguments and value.
_EXPONENT = """IRT_INLINE {t} irt_vpow_exponent_{n}({i} bits, {t} k, {t} y, {t} *w, {t} *t) {{
  const {t} c0 = %s;
  const {t} c1 = %s;
  const {t} g0 = %s;
  const {t} g1 = %s;
  const {t} d0 = %s;
  const {t} d1 = %s;
  {t} m = ({t})((bits & 0x7fffff) + 0x3f3504f3), one = 1.0f - ({t}){{0}};
  {i} at = bits >> 18;
  {t} r = irt_vless_{n}(-one, -m, irt_vpick_{n}(c0, c1, at)), e = k + irt_vpick_{n}(g0, g1, at);
  {t} p = r * 1.44269502f, h = e + p;
  {t} l = (r * r) * %s + ((r * 1.92596303e-8f - irt_vless_{n}(p, r, 1.44269502f * one)) + irt_vpick_{n}(d0, d1, at));
  l = ((e - h) + p) + l;
  *t = y * h;
  l = y * l - irt_vless_{n}(*t, y, h);
  *w = (*t + l) + 12582912.0f;
  return (*t - (*w - 12582912.0f)) + l;
}}"""


def written(name: str, t: VectorType) -> str:
    """The text of a function that differs for 16 lanes; empty for others."""
    if t != VectorType("float32", _LANES):
        return ""
    if name == "pick":
        return _PICK
    return _EXPONENT % (*_vectors(), horner("r", _TERMS)) if name == "pow_exponent" else ""


def factors() -> list[tuple[float, float, float]]:
    """The largest and the least m of each entry, which the upper bits of m select, and its c."""
    segments = []
    for n in range(_ENTRIES):
        least, most = (_float(_FIRST + entry) for entry in (n * _STEP, (n + 1) * _STEP - 1))
        c = 1.0 if least <= 1.0 <= most else next(c for c in _nearest(least, most) if _is_exact(least, most, c))
        segments.append((most, least, c))
    return segments


def _nearest(least: float, most: float) -> Iterable[float]:
    """Numbers of few bits near the inverse of the middle, the nearest first."""
    return (round(2 * parts / (least + most)) / parts for parts in (64, 32))


def _is_exact(least: float, most: float, c: float) -> bool:
    """True if m · c - 1 has no more bits than a float for every 24-bit m of an entry."""
    parts = 32 if (c * 32).is_integer() else 64
    last = 2.0 ** (-24 if most < 1.0 else -23) / parts
    return max(abs(least * c - 1), abs(most * c - 1)) < last * 2.0**24


def _float(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def _vectors() -> list[str]:
    """c, and - log2 c in two numbers, each as two vectors."""
    inverses = [c for _, _, c in factors()]
    short = [round(-log2(c) * _SHORT) / _SHORT for c in inverses]
    rest = [-log2(c) - s for c, s in zip(inverses, short)]
    return [
        f"{{{{{', '.join(f'{x!r}f' for x in table[start : start + _LANES])}}}}}"
        for table in (inverses, short, rest)
        for start in (0, _LANES)
    ]
