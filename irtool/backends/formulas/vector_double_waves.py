"""Double-precision trigonometric functions of vectors: a family of `vector_math`, which lists the names that the texts may use."""

from __future__ import annotations

from .polynomials import horner
from .vector_arcs import arcs
from .vector_waves import waves

_TAN_OVER = (1.0, -0.12828248774391832, 0.0028058087404027256, -7.482573592718479e-06)
_TAN_UNDER = (1.0, -0.4616158210772497, 0.02334441576609392, -0.00020843231966559823)
"""tan r = r · over / under of r², up to π/4: the relative error is 2^-55. A minimax fit, by Remez' exchange for rationals."""
_WAVE_TERMS = (-0.16666666666666666, 0.008333333333333194, -0.00019841269841209215, 2.7557319211136695e-06,
               -2.5052106872748678e-08, 1.6058939703147173e-10, -7.642991415944075e-13, 2.721174170670253e-15)  # fmt: skip
"""(sin(r) - r) / r³ as a polynomial of r² up to π/2, by Remez's algorithm: the sine's relative error is 2^-61."""
_ATAN_TERMS = (-0.3333333333333333, 0.199999999999998, -0.14285714285659326, 0.11111111105106705, -0.09090908751076636,
               0.0769229630497447, -0.06666423628069258, 0.058789145444006215, -0.052303478730160745,
               0.04551108126325172, -0.034558092551413795, 0.01627194475162406)  # fmt: skip
"""(atan(a) / a - 1) / a² as a polynomial of a² up to a = √2 - 1."""
_ASIN_TERMS = (0.16666666666666669, 0.07499999999998433, 0.04464285714635543, 0.030381944138531247, 0.02237217294214989,
               0.017352392720869973, 0.013971212973552933, 0.011479177415184906, 0.01032281435018578, 0.005457506718640358,
               0.01740087944269402, -0.014851887071247204, 0.028757851367421566)  # fmt: skip
"""(asin(a) / a - 1) / a² as a polynomial of a² up to a = 1/2."""

# atan b less b.
_ATAN_UNIT = (
    """IRT_INLINE {t} irt_vatan_unit_{n}({t} b) {{
  {t} z = b * b;
  return b * (z * """
    + horner("z", _ATAN_TERMS, "")
    + """);
}}"""
)
# atan a is π/4 + atan((a - 1) / (a + 1)) from √2 - 1 to √2 + 1, and π/2 - atan(1 / a) beyond. What π/4 and π/2 are more than
# their double is added to what is small.
_ATAN = """IRT_INLINE {t} irt_vatan_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), one = 1.0 - ({t}){{0}}, zero = {{0}};
  {i} low = a < 0.41421356237309503, high = a > 2.414213562373095;
  {t} u = irt_vselect_{n}(low, a, irt_vselect_{n}(high, -one, a - 1.0));
  {t} b = u / irt_vselect_{n}(low, one, irt_vselect_{n}(high, a, a + 1.0));
  {t} base = irt_vselect_{n}(low, zero, irt_vselect_{n}(high, 1.5707963267948966 - zero, 0.78539816339744828 - zero));
  {t} rest = irt_vselect_{n}(low, zero, irt_vselect_{n}(high, 6.123233995736766e-17 - zero, 3.061616997868383e-17 - zero));
  {t} y = base + (b + (irt_vatan_unit_{n}(b) + rest));
  return ({t})(({i})y | (({i})x & INT64_MIN));
}}"""

# asin a is π/2 - 2 asin √((1 - a) / 2) above 1/2, where the root is below 1/2 again.
_ASIN_HALF = (
    """IRT_INLINE {t} irt_vasin_half_{n}({t} a, {t} z) {{
  return a + a * (z * """
    + horner("z", _ASIN_TERMS, "")
    + """);
}}"""
)


FUNCTIONS: dict[tuple[str, str], str] = {
    **waves("float64", _WAVE_TERMS, _TAN_OVER, _TAN_UNDER),
    ("atan_unit", "float64"): _ATAN_UNIT,
    ("atan", "float64"): _ATAN,
    ("asin_half", "float64"): _ASIN_HALF,
    **arcs("float64"),
}
