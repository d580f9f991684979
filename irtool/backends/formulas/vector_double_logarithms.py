"""Double-precision logarithms, and hyperbolic functions in terms of exponentials: a family of `vector_math`.

`vector_math` lists the names that the texts may use; the families of single precision list the functions that they call.
"""

from __future__ import annotations

from .polynomials import horner
from .vector_bases import bases
from .vector_hyperbolics import hyperbolics

_LOG_TERMS = (0.6666666666666666, 0.4000000000000088, 0.28571428570803614, 0.22222222391713917, 0.18181795640132906,
              0.15386239702814658, 0.13268773138656886, 0.13086626147840102)  # fmt: skip
"""(log((1 + s) / (1 - s)) - 2 s) / s³ as a polynomial of s², for 1 + f from √½ to √2."""
_EXPM1_TERMS = (0.5000000000000001, 0.1666666666666667, 0.04166666666665229, 0.008333333333326153, 0.0013888888895597128,
                0.00019841269874765175, 2.480157453810438e-05, 2.7557255461738584e-06, 2.7567927171071744e-07,
                2.510519424338382e-08, 1.7687731855438966e-09)  # fmt: skip
"""(exp(r) - 1 - r) / r², by Remez's algorithm: the relative error of exp(r) - 1 is 2^-58."""
_LOG_SERIES = (
    """IRT_INLINE {t} irt_vlog_series_{n}({t} f) {{
  {t} s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
  {t} r = z * """
    + horner("z", _LOG_TERMS, "")
    + """;
  return f - (h - s * (h + r));
}}"""
)
# The exponent is in the upper half, where few bits are; from integers of 64 bits, few processors convert: the lowest bits of a
# number above 2^52 hold it.
_LOG_NORMAL = """IRT_INLINE {t} irt_vlog_normal_{n}({t} x, {t} *k) {{
  {i} bits = (({i})x & INT64_MAX) - 0x3fe6a09e667f3bcd;
  *k = ({t})((bits >> 52) + 0x4338000000000000) - 6755399441055744.0;
  return irt_vlog_series_{n}(({t})((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0);
}}"""
_LOG1P = """IRT_INLINE {t} irt_vlog1p_{n}({t} x) {{
  {t} u = x + 1.0, c = x - (u - 1.0);
  {i} bits = (({i})u & INT64_MAX) - 0x3fe6a09e667f3bcd, e = bits >> 52;
  {t} k = ({t})(e + 0x4338000000000000) - 6755399441055744.0, scale = ({t})((1024 - e) << 52);
  {t} f = (({t})((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0) + c * (0.5 * scale);
  {t} y = k * 6.93147180369123816490e-01 + (irt_vlog_series_{n}(f) + k * 1.90821492927058770002e-10);
  return ({t})(({i})irt_vlog_ends_{n}(u, y) | (({i})x & INT64_MIN));
}}"""
# 2^k · (exp r - 1 + (1 - 2^-k)); 2^k is taken in halves, because it may be too large.
_EXPM1 = (
    """IRT_INLINE {t} irt_vexpm1_{n}({t} x) {{
  {t} y = irt_vclamp_{n}(x, -40.0, 710.0), z = y * 1.44269504088896340736 + 6755399441056766.0, k = z - 6755399441056766.0;
  {t} r = (y - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  {t} p = r + (r * r) * """
    + horner("r", _EXPM1_TERMS, "")
    + """;
  p = p + (1.0 - 0.5 * ({t})((2046 - ({i})z) << 52));
  p = (p + p) * ({t})(({i})z << 52);
  return ({t})(({i})p | (({i})x & INT64_MIN));
}}"""
)
# t / (t + 2) for t = exp(2 a) - 1.
_TANH = """IRT_INLINE {t} irt_vtanh_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), t = irt_vexpm1_{n}(irt_vmin_{n}(40.0 - ({t}){{0}}, a + a));
  t = t / (t + 2.0);
  return ({t})(({i})t | (({i})x & INT64_MIN));
}}"""
FUNCTIONS: dict[tuple[str, str], str] = {
    ("log_series", "float64"): _LOG_SERIES,
    ("log_normal", "float64"): _LOG_NORMAL,
    **bases("float64"),
    ("log1p", "float64"): _LOG1P,
    ("expm1", "float64"): _EXPM1,
    ("tanh", "float64"): _TANH,
    **hyperbolics("float64"),
}
