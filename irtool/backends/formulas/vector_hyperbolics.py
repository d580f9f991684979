"""Hyperbolic sine and cosine of vectors, the same texts for both precisions, as C text (see `vector_math` for the placeholders).

For |x| = k · log 2 + r, exp(|x|) is 2^k (cosh r + sinh r), and exp(-|x|) is 2^-k (cosh r - sinh r): two polynomials of r² give both,
without a division. With up = 2^(k-2) and down = 2^(-k-2), so that no part of a finite result overflows,

    cosh x = 2 ((up + down) cosh r + (up - down) sinh r)
    sinh x = 2 ((up - down) cosh r + (up + down) sinh r)

where sinh x is accurate even about 0, since up and down are equal there. cosh r is 1 plus a small number, which are multiplied
separately: the rounding of their sum would be visible if the terms have opposite signs.
"""

from __future__ import annotations

from .polynomials import horner
from .templates import fill

COSH_TERMS = {
    "float32": (0.5000000077884098, 0.041666270446001366, 0.0013946028510487339),
    "float64": (0.5000000000000012, 0.04166666666651638, 0.0013888888946734582, 2.4801490244992637e-05, 2.7631171350004027e-07),
}  # fmt: skip
"""(cosh r - 1) / r² as a polynomial of r² up to log 2 / 2, by Remez's algorithm: cosh r to 2^-34 and 2^-58."""
SINH_TERMS = {
    "float32": (1.0, 0.1666654347574567, 0.008366535454631886),
    "float64": (1.0, 0.16666666666666677, 0.008333333333321669, 0.00019841269886022945, 2.7557244316229956e-06, 2.5108999025944358e-08),
}  # fmt: skip
"""sinh r / r likewise: to 2^-26 and 2^-61."""

# The sums `up + down` and `up - down`; the parts of cosh r - 1 and of sinh r. From $alone on, exp(-|x|) does not matter to the result.
_PARTS = """IRT_INLINE {t} irt_vexp_parts_{n}({t} x, {t} *sum, {t} *difference, {t} *even) {{
  {t} a = irt_vfabs_{n}(x), y = irt_vmin_{n}($most - ({t}){{0}}, a), z = y * $inverse + $magic, k = z - $magic;
  {t} r = (y - k * $log) - k * $rest, s = r * r;
  {t} up = ({t})(({i})z << $shift), down = ({t})((($twice - ({i})z) << $shift) & (y < $alone));
  *sum = up + down;
  *difference = up - down;
  *even = s * $cosh;
  return r * $sinh;
}}"""
_COSH = """IRT_INLINE {t} irt_vcosh_{n}({t} x) {{
  {t} sum, difference, even, odd = irt_vexp_parts_{n}(x, &sum, &difference, &even);
  {t} y = sum + (even * sum + odd * difference);
  return y + y;
}}"""
_SINH = """IRT_INLINE {t} irt_vsinh_{n}({t} x) {{
  {t} sum, difference, even, odd = irt_vexp_parts_{n}(x, &sum, &difference, &even);
  {t} y = difference + (even * difference + odd * sum);
  return ({t})(({i})(y + y) | (({i})x & ~{int_max}));
}}"""

_WORDS = {
    "float32": {
        "most": "89.5f",
        "alone": "20.0f",
        "inverse": "1.44269504f",
        "magic": "12583037.0f",
        "log": "0.693359375f",
        "rest": "-2.12194440e-4f",
        "shift": "23",
        "twice": "250",
    },
    "float64": {
        "most": "710.5",
        "alone": "40.0",
        "inverse": "1.44269504088896340736",
        "magic": "6755399441056765.0",
        "log": "6.93147180369123816490e-01",
        "rest": "1.90821492927058770002e-10",
        "shift": "52",
        "twice": "2042",
    },
}
"""Words of the texts. The lowest bits of a sum with `magic` are k plus the exponent of ¼."""


def hyperbolics(dtype: str) -> dict[tuple[str, str], str]:
    """The functions of a precision by name and dtype."""
    suffix = "f" if dtype == "float32" else ""
    polynomials = {"cosh": horner("s", COSH_TERMS[dtype], suffix), "sinh": horner("s", SINH_TERMS[dtype], suffix)}
    parts = fill(_PARTS, **_WORDS[dtype], **polynomials)
    return {("exp_parts", dtype): parts, ("cosh", dtype): _COSH, ("sinh", dtype): _SINH}
