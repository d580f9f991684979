"""Sine, cosine and tangent of vectors, the same texts for both precisions, as C text (see `vector_math` for the placeholders).

Angles of tangents are reduced to -π/4 … π/4 by subtracting a multiple of π/2 in parts, whose products with the multiple are exact
with and without fused multiplication, so that the remainder is accurate even if nearly everything cancels. Angles of sines and
cosines are reduced by a multiple of π, so that one polynomial is enough; a cosine is a sine shifted by π/2. Larger angles are
rare; their lanes call the C library.
"""

from __future__ import annotations

from collections.abc import Sequence

from .polynomials import horner
from .templates import fill

# The sum `z` has the multiple in its lowest bits. What rounding takes from `b` is put back with the fourth part (subtracted, so that
# -0 stays).
_TURN = """IRT_INLINE {t} irt_vturn_{n}({t} x, {i} *quarters) {{
  {t} z = x * $quarters + $magic, k = z - $magic;
  {t} a = (x - k * $quarter_0) - k * $quarter_1, b = a - k * $quarter_2;
  *quarters = ({i})z;
  return b - (k * $quarter_3 - ((a - b) - k * $quarter_2));
}}"""
_FAR = """static __attribute__((noinline, unused)) {t} irt_vfar_${name}_{n}({t} x, {t} y) {{
  int k;
  for (k = 0; k < {lanes}; ++k)
    if (fabs{f}(x[k]) > $far) y[k] = ${name}{f}(x[k]);
  return y;
}}"""
_RESULT = """
  return irt_vany_beyond_{n}(x, $far) ? irt_vfar_${name}_{n}(x, y) : y;
}}"""
# sin(x - π half_turns). The sum is more accurate than a product would be, but gives 0 for -0.
_WAVE = """IRT_INLINE {t} irt_vwave_{n}({t} x, {t} half_turns) {{
  {t} k = half_turns, a = (x - k * $half_0) - k * $half_1, b = a - k * $half_2;
  {t} r = b - (k * $half_3 - ((a - b) - k * $half_2)), z = r * r;
  {t} y = r + r * (z * $wave);
  return ({t})(({i})y | (({i})r & $int_min));
}}"""
_SIN = """IRT_INLINE {t} irt_vsin_{n}({t} x) {{
  {t} z = x * $halves + $magic;
  {t} y = irt_vwave_{n}(x, z - $magic);
  y = ({t})(({i})y ^ (({i})z << $sign));"""
_COS = """IRT_INLINE {t} irt_vcos_{n}({t} x) {{
  {t} z = (x * $halves - 0.5{f}) + $magic;
  {t} y = irt_vwave_{n}(x, (z - $magic) + 0.5{f});
  y = ({t})(({i})y ^ (~({i})z << $sign));"""
# An odd number of quarters further on, the tangent is minus the inverse.
_TAN = """IRT_INLINE {t} irt_vtan_{n}({t} x) {{
  {i} q;
  {t} r = irt_vturn_{n}(x, &q), z = r * r, s = r * $over, c = $under;
  {i} odd = (q & 1) != 0;
  {t} y = $quotient;"""

_WORDS = {
    "float32": {
        "far": "12867.0f",
        "magic": "12582912.0f",
        "quarters": "0.63661977f",
        "quarter_0": "1.5703125f",
        "quarter_1": "4.837512969970703e-4f",
        "quarter_2": "7.549533620476723e-8f",
        "quarter_3": "2.5633440682570896e-12f",
        "halves": "0.318309886f",
        "half_0": "3.140625f",
        "half_1": "9.675025939941406e-4f",
        "half_2": "1.5099067240953446e-7f",
        "half_3": "5.126688136514519e-12f",
        "int_min": "INT32_MIN",
        "sign": "31",
        "quotient": "irt_vratio_{n}(irt_vselect_{n}(odd, -c, s), irt_vselect_{n}(odd, s, c))",
    },
    "float64": {
        "far": "1.0e6",
        "magic": "6755399441055744.0",
        "quarters": "0.63661977236758134308",
        "quarter_0": "1.5707963267341256",
        "quarter_1": "6.077100506303966e-11",
        "quarter_2": "2.0222662487111665e-21",
        "quarter_3": "8.478427660348229e-32",
        "halves": "0.31830988618379067154",
        "half_0": "3.1415926534682512",
        "half_1": "1.2154201012607932e-10",
        "half_2": "4.044532497422333e-21",
        "half_3": "1.6956855320696458e-31",
        "int_min": "INT64_MIN",
        "sign": "63",
        "quotient": "irt_vselect_{n}(odd, -c, s) / irt_vselect_{n}(odd, s, c)",
    },
}
"""π/2 and π in parts: 11 bits each for multiples below 2^13, 32 bits for multiples below 2^20, and a remainder."""

_NAMES = ("sin", "cos", "tan")


def waves(
    dtype: str, wave: Sequence[float], over: Sequence[float], under: Sequence[float]
) -> dict[tuple[str, str], str]:
    """The functions of a precision by name and dtype. `wave`: (sin r - r) / r³ as a polynomial of r², up to π/2; `over` and
    `under`: polynomials whose quotient, times r, is tan r, up to π/4."""
    suffix = "f" if dtype == "float32" else ""
    values = {
        **_WORDS[dtype],
        "wave": horner("z", wave, suffix),
        "over": horner("z", over, suffix),
        "under": horner("z", under, suffix),
    }
    functions = {"turn": fill(_TURN, **values), "wave": fill(_WAVE, **values)}
    for name, text in zip(_NAMES, (_SIN, _COS, _TAN), strict=True):
        functions[f"far_{name}"] = fill(_FAR, name=name, **values)
        functions[name] = fill(text + _RESULT, name=name, **values)
    return {(name, dtype): text for name, text in functions.items()}
