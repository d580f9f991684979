"""Double-precision logarithms, and hyperbolic functions made of exponentials: a family of `vector_math`, which says what the texts may
name. What they call is said by the families of single precision.
"""

from __future__ import annotations

from math import factorial

from .polynomials import horner
from .vector_doubles import EXP_TERMS
from .vector_exponentials import COSH

_LOG_TERMS = (0.6666666666666666, 0.4000000000000088, 0.28571428570803614, 0.22222222391713917, 0.18181795640132906,
              0.15386239702814658, 0.13268773138656886, 0.13086626147840102)  # fmt: skip
"""(log((1 + s) / (1 - s)) - 2 s) / s³ as a polynomial of s², for 1 + f from √½ to √2."""
_EXPM1_TERMS = tuple(1 / factorial(n) for n in range(2, 15))
_SINH_TERMS = tuple(1 / factorial(2 * n + 1) for n in range(10))
"""Taylor's."""

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
_LOG_PARTS = """IRT_INLINE {t} irt_vlog_parts_{n}({t} x, {t} *k) {{
  {i} tiny = x < 2.2250738585072014e-308;
  {t} l = irt_vlog_normal_{n}(irt_vselect_{n}(tiny, x * 18014398509481984.0, x), k);
  *k -= ({t})(tiny & ({i})(54.0 - ({t}){{0}}));
  return l;
}}"""
_LOG_ENDS = """IRT_INLINE {t} irt_vlog_ends_{n}({t} x, {t} y) {{
  y = irt_vselect_{n}(x == INFINITY, x, irt_vselect_{n}(x == 0.0, -INFINITY - ({t}){{0}}, y));
  return irt_vselect_{n}(x >= 0.0, y, NAN - ({t}){{0}});
}}"""
_LOG = """IRT_INLINE {t} irt_vlog_{n}({t} x) {{
  {t} k, l = irt_vlog_parts_{n}(x, &k);
  return irt_vlog_ends_{n}(x, k * 6.93147180369123816490e-01 + (l + k * 1.90821492927058770002e-10));
}}"""
_LOG2 = """IRT_INLINE {t} irt_vlog2_{n}({t} x) {{
  {t} k, l = irt_vlog_parts_{n}(x, &k);
  return irt_vlog_ends_{n}(x, k + l * 1.44269504088896340736);
}}"""
_LOG10 = """IRT_INLINE {t} irt_vlog10_{n}({t} x) {{
  {t} k, l = irt_vlog_parts_{n}(x, &k);
  return irt_vlog_ends_{n}(x, k * 0.3010299955494702 + (l * 0.43429448190325182765 + k * 1.1451100898021838e-10));
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
  {t} y = irt_vselect_{n}(x > 710.0, 710.0 - ({t}){{0}}, x), z, k, r, p;
  y = irt_vselect_{n}(x < -40.0, -40.0 - ({t}){{0}}, y);
  z = y * 1.44269504088896340736 + 6755399441056766.0;
  k = z - 6755399441056766.0;
  r = (y - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  p = r + (r * r) * """
    + horner("r", _EXPM1_TERMS, "")
    + """;
  p = p + (1.0 - 0.5 * ({t})((2046 - ({i})z) << 52));
  p = (p + p) * ({t})(({i})z << 52);
  return ({t})(({i})p | (({i})x & INT64_MIN));
}}"""
)
# t / (t + 2) for t = exp(2 a) - 1.
_TANH = """IRT_INLINE {t} irt_vtanh_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), t = irt_vexpm1_{n}(irt_vselect_{n}(a > 20.0, 40.0 - ({t}){{0}}, a + a));
  t = t / (t + 2.0);
  return ({t})(({i})t | (({i})x & INT64_MIN));
}}"""
_HALF_EXP = (
    """IRT_INLINE {t} irt_vhalf_exp_{n}({t} a) {{
  {t} y = irt_vselect_{n}(a > 711.0, 711.0 - ({t}){{0}}, a);
  {t} z = y * 1.44269504088896340736 + 6755399441056765.0, k = z - 6755399441056765.0;
  {t} r = (y - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  {t} p = """
    + horner("r", EXP_TERMS, "")
    + """ * ({t})(({i})z << 52);
  return p + p;
}}"""
)
_SINH = (
    """IRT_INLINE {t} irt_vsinh_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), z = x * x, e = irt_vhalf_exp_{n}(a);
  {t} small = x * """
    + horner("z", _SINH_TERMS, "")
    + """;
  {t} large = e - 0.25 / e;
  large = ({t})(({i})large | (({i})x & INT64_MIN));
  return irt_vselect_{n}(a < 1.0, small, large);
}}"""
)

FUNCTIONS: dict[tuple[str, str], str] = {
    ("log_series", "float64"): _LOG_SERIES,
    ("log_normal", "float64"): _LOG_NORMAL,
    ("log_parts", "float64"): _LOG_PARTS,
    ("log_ends", "float64"): _LOG_ENDS,
    ("log", "float64"): _LOG,
    ("log2", "float64"): _LOG2,
    ("log10", "float64"): _LOG10,
    ("log1p", "float64"): _LOG1P,
    ("expm1", "float64"): _EXPM1,
    ("tanh", "float64"): _TANH,
    ("half_exp", "float64"): _HALF_EXP,
    ("sinh", "float64"): _SINH,
    ("cosh", "float64"): COSH,
}

NEEDS: dict[str | tuple[str, str], tuple[str, ...]] = {("tanh", "float64"): ("expm1", "fabs", "select")}

EXACT: tuple[str, ...] = ()
