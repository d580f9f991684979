"""Double-precision exponentials of vectors: a family of `vector_math`, which lists the names that the texts may use.

The reductions are those of `vector_exponentials`, which also lists the functions that these call.
"""

from __future__ import annotations

from .polynomials import horner
from .vector_exponentials import SIGMOID

_EXP_TERMS = (1.0, 1.0, 0.5000000000000011, 0.16666666666666413, 0.041666666666530155, 0.008333333333494458,
              0.0013888888943630238, 0.00019841269506585394, 2.4801493098780542e-05, 2.755758636815543e-06,
              2.763024842292609e-07, 2.5000063312565172e-08)  # fmt: skip
"""exp by Remez's algorithm: up to log 2 / 2 its relative error is 2^-57; it is 0 at 0."""

# exp(x) = (2^k · exp r)² where x/2 = k · log 2 + r: 2^k is a normal number even where the result is subnormal or infinite. The first
# part of log 2 is short, so that its product with k is exact. The sum `z` has k + 1023 in its lowest bits.
_BOUNDED_EXP = (
    """IRT_INLINE {t} irt_vbounded_exp_{n}({t} x) {{
  {t} z = x * 0.72134752044448170368 + 6755399441056767.0, k = z - 6755399441056767.0;
  {t} r = (x * 0.5 - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  {t} p = """
    + horner("r", _EXP_TERMS, "")
    + """;
  p = p * ({t})(({i})z << 52);
  return p * p;
}}"""
)
_EXP = """IRT_INLINE {t} irt_vexp_{n}({t} x) {{
  return irt_vbounded_exp_{n}(irt_vclamp_{n}(x, -746.0, 710.0));
}}"""
# exp(x) = 2^k · exp r for x up to 0: 2^(k + 128) is a normal number, multiplying by 2^-128 rounds what becomes subnormal.
_FALLING_EXP = (
    """IRT_INLINE {t} irt_vfalling_exp_{n}({t} x) {{
  {t} y = irt_vmax_{n}(-746.0 - ({t}){{0}}, x);
  {t} z = y * 1.44269504088896340736 + 6755399441056895.0, k = z - 6755399441056895.0;
  {t} r = (y - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  {t} p = """
    + horner("r", _EXP_TERMS, "")
    + """ * ({t})(({i})z << 52);
  return p * 2.93873587705571876992e-39;
}}"""
)
_RATIO = "IRT_INLINE {t} irt_vratio_{n}({t} a, {t} b) {{ return a / b; }}"

FUNCTIONS: dict[tuple[str, str], str] = {
    ("bounded_exp", "float64"): _BOUNDED_EXP,
    ("exp", "float64"): _EXP,
    ("falling_exp", "float64"): _FALLING_EXP,
    ("ratio", "float64"): _RATIO,
    ("sigmoid", "float64"): SIGMOID,
}
