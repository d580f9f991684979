"""Trigonometric functions of vectors in single precision, as C text (see `vector_math` for the placeholders).

Angles of tangents are brought to -π/4 … π/4 by taking away a multiple of π/2 that is given in parts: their products with the multiple
are exact with and without fused multiplication, so that what is left is accurate even where nearly everything cancels. For sines and
cosines it is a multiple of π, so that one polynomial does; a cosine is a sine half of π further on. Angles too large for that are
rare; their lanes ask the C library.
"""

from __future__ import annotations

from .polynomials import horner
from .templates import fill
from .vector_arcs import arcs

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

# The multiple is below 2^13, the first three parts of π/2 have 11 bits. The sum `z` has the multiple in its lowest bits.
# What rounding takes from `b` is put back with the fourth part (subtracted, so that -0 stays).
_TURN = """IRT_INLINE {t} irt_vturn_{n}({t} x, {i} *quarters) {{
  {t} z = x * 0.63661977f + 12582912.0f, k = z - 12582912.0f;
  {t} a = (x - k * 1.5703125f) - k * 4.837512969970703e-4f, b = a - k * 7.549533620476723e-8f;
  *quarters = ({i})z;
  return b - (k * 2.5633440682570896e-12f - ((a - b) - k * 7.549533620476723e-8f));
}}"""
_FAR = """static __attribute__((noinline, unused)) {t} irt_vfar_${name}_{n}({t} x, {t} y) {{
  int k;
  for (k = 0; k < {lanes}; ++k)
    if (fabsf(x[k]) > 12867.0f) y[k] = ${name}f(x[k]);
  return y;
}}"""
_RESULT = """
  return irt_vany_beyond_{n}(x, 12867.0f) ? irt_vfar_${name}_{n}(x, y) : y;
}}"""
# sin(x - π half_turns). The sum is more accurate than a product would be, but gives 0 for -0.
_WAVE = (
    """IRT_INLINE {t} irt_vwave_{n}({t} x, {t} half_turns) {{
  {t} k = half_turns, a = (x - k * 3.140625f) - k * 9.675025939941406e-4f, b = a - k * 1.5099067240953446e-7f;
  {t} r = b - (k * 5.126688136514519e-12f - ((a - b) - k * 1.5099067240953446e-7f)), z = r * r;
  {t} y = r + r * (z * """
    + horner("z", _WAVE_TERMS)
    + """);
  return ({t})(({i})y | (({i})r & INT32_MIN));
}}"""
)
_SIN = """IRT_INLINE {t} irt_vsin_{n}({t} x) {{
  {t} z = x * 0.318309886f + 12582912.0f;
  {t} y = irt_vwave_{n}(x, z - 12582912.0f);
  y = ({t})(({i})y ^ (({i})z << 31));""" + fill(_RESULT, name="sin")
_COS = """IRT_INLINE {t} irt_vcos_{n}({t} x) {{
  {t} z = (x * 0.318309886f - 0.5f) + 12582912.0f;
  {t} y = irt_vwave_{n}(x, (z - 12582912.0f) + 0.5f);
  y = ({t})(({i})y ^ (~({i})z << 31));""" + fill(_RESULT, name="cos")
# An odd number of quarters further on, the tangent is minus the inverse.
_TAN = (
    """IRT_INLINE {t} irt_vtan_{n}({t} x) {{
  {i} q;
  {t} r = irt_vturn_{n}(x, &q), z = r * r, s = r * """
    + horner("z", _TAN_OVER)
    + """, c = """
    + horner("z", _TAN_UNDER)
    + """;
  {i} odd = (q & 1) != 0;
  {t} y = irt_vratio_{n}(irt_vselect_{n}(odd, -c, s), irt_vselect_{n}(odd, s, c));"""
    + fill(_RESULT, name="tan")
)

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
    ("turn", "float32"): _TURN,
    **{(f"far_{name}", "float32"): fill(_FAR, name=name) for name in ("sin", "cos", "tan")},
    ("wave", "float32"): _WAVE,
    ("sin", "float32"): _SIN,
    ("cos", "float32"): _COS,
    ("tan", "float32"): _TAN,
    ("asin_half", "float32"): _ASIN_HALF,
    **arcs("float32"),
    ("atan_unit", "float32"): _ATAN_UNIT,
    ("atan", "float32"): _ATAN,
    ("atan2", "float32"): _ATAN2,
}

NEEDS: dict[str, tuple[str, ...]] = {
    **{name: ("wave", "any_beyond", f"far_{name}") for name in ("sin", "cos")},
    "tan": ("turn", "ratio", "select", "any_beyond", "far_tan"),
    "asin": ("fabs", "select", "sqrt", "asin_half"),
    "acos": ("fabs", "select", "sqrt", "asin_half"),
    "atan": ("fabs", "select", "atan_unit"),
    "atan2": ("fabs", "select", "atan_unit"),
}

EXACT: tuple[str, ...] = ()
