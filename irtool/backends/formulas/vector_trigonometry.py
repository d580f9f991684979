"""Trigonometric functions of vectors in single precision, as C text (see `vector_math` for the placeholders)."""

from __future__ import annotations

from .polynomials import horner
from .vector_arcs import arcs
from .vector_waves import waves

_WAVE_TERMS = (-0.16666659712791443, 0.00833306647837162, -0.0001980959641514346, 2.605765757834888e-06)
"""(sin(r) - r) / r³ as a polynomial of r² up to π/2, by Remez's algorithm: the sine's relative error is 2^-27."""
_TAN_OVER, _TAN_UNDER = (1.0, -0.09578022993785955), (1.0, -0.4291140585538433, 0.009709111580757525)
"""tan r = r · over / under of r², up to π/4: the relative error is 2^-25. A minimax fit, by Remez' exchange for rationals."""
_ASIN_TERMS = (1.0, 0.16666752099990845, 0.074953094124794, 0.04546914994716644, 0.024184778332710266,
               0.042158305644989014)  # fmt: skip
"""asin(a) / a as a polynomial of a² up to a = 1/2."""
_ATAN_TERMS = (1.0, -0.33333298563957214, 0.1999852955341339, -0.14264015853405, 0.10950880497694016,
               -0.08399306237697601, 0.057881392538547516, -0.03109700232744217, 0.010868709534406662,
               -0.0017828319687396288)  # fmt: skip
"""atan(a) / a as a polynomial of a² up to a = 1."""

# asin a is π/2 - 2 asin √((1 - a) / 2) above 1/2, where the root is below 1/2 again.
_ASIN_HALF = (
    """IRT_INLINE {t} irt_vasin_half_{n}({t} a, {t} z) {{
  return a * """
    + horner("z", _ASIN_TERMS)
    + """;
}}"""
)
_ATAN_UNIT = (
    """IRT_INLINE {t} irt_vatan_unit_{n}({t} a) {{
  {t} z = a * a;
  return a * """
    + horner("z", _ATAN_TERMS)
    + """;
}}"""
)
_ATAN = """IRT_INLINE {t} irt_vatan_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x);
  {i} high = a > 1.0f;
  {t} y = irt_vatan_unit_{n}(irt_vselect_{n}(high, 1.0f / a, a));
  y = irt_vselect_{n}(high, 1.57079637f - (y + 4.37113883e-8f), y);
  return ({t})(({i})y | (({i})x & INT32_MIN));
}}"""
# The quotient of the smaller and the larger one; of equal ones (zeros and infinities, too) it is known.
_ATAN2 = """IRT_INLINE {t} irt_vatan2_{n}({t} y, {t} x) {{
  {t} a = irt_vfabs_{n}(y), b = irt_vfabs_{n}(x);
  {i} high = a > b;
  {t} q = irt_vselect_{n}(high, b, a) / irt_vselect_{n}(high, a, b);
  {t} r = irt_vatan_unit_{n}(irt_vselect_{n}(a == b, irt_vselect_{n}(a > 0.0f, 1.0f - ({t}){{0}}, a), q));
  r = irt_vselect_{n}(high, 1.57079637f - (r + 4.37113883e-8f), r);
  r = irt_vselect_{n}(({i})x < 0, 3.14159274f - (r + 8.74227766e-8f), r);
  return ({t})((({i})r & INT32_MAX) | (({i})y & INT32_MIN));
}}"""


FUNCTIONS: dict[tuple[str, str], str] = {
    **waves("float32", _WAVE_TERMS, _TAN_OVER, _TAN_UNDER),
    ("asin_half", "float32"): _ASIN_HALF,
    **arcs("float32"),
    ("atan_unit", "float32"): _ATAN_UNIT,
    ("atan", "float32"): _ATAN,
    ("atan2", "float32"): _ATAN2,
}
