"""Single-precision logarithms and inverse hyperbolic functions of vectors: a family of `vector_math`, which lists the
names that the texts may use.
"""

from __future__ import annotations

from . import vector_bases
from .polynomials import horner

_LOG_TERMS = (-0.49999988079071045, 0.33333325386047363, -0.2500159740447998, 0.20002087950706482, -0.16608795523643494,
              0.14179255068302155, -0.1324271857738495, 0.1292194426059723, -0.07644987851381302)  # fmt: skip
"""(log(1 + f) - f) / f² for 1 + f from √½ to √2: the logarithm's relative error is 2^-27. A division would take as long."""
_ASINH_TERMS = (1.0, -0.16666580736637115, 0.07496880739927292, -0.04425881430506706, 0.028140386566519737,
                -0.015323144383728504, 0.004671250004321337)  # fmt: skip
_ACOSH_TERMS = (1.0, -0.0833330899477005, 0.018745049834251404, -0.0055463132448494434, 0.0017882519168779254,
                -0.0005068128230050206, 8.277749293483794e-05)  # fmt: skip
"""acosh(1 + t) / √(2t)"""
_ATANH_TERMS = (1.0, 0.33333298563957214, 0.20002524554729462, 0.14222638309001923, 0.1182483658194542,
                0.05131392553448677, 0.17675668001174927)  # fmt: skip

# A positive normal number is 2^k · (1 + f) with 1 + f from √½ to √2.
_LOG_SERIES = (
    """IRT_INLINE {t} irt_vlog_series_{n}({t} f) {{
  return f + (f * f) * """
    + horner("f", _LOG_TERMS)
    + """;
}}"""
)
_LOG_NORMAL = """IRT_INLINE {t} irt_vlog_normal_{n}({t} x, {t} *k) {{
  {i} bits = (({i})x & INT32_MAX) - 0x3f3504f3;
  *k = __builtin_convertvector(bits >> 23, {t});
  return irt_vlog_series_{n}(({t})((bits & 0x7fffff) + 0x3f3504f3) - 1.0f);
}}"""
# 1 + x = u + c, exactly where that matters; with k = 0, f is x.
_LOG1P = """IRT_INLINE {t} irt_vlog1p_{n}({t} x) {{
  {t} u = x + 1.0f, c = x - (u - 1.0f);
  {i} bits = (({i})u & INT32_MAX) - 0x3f3504f3, e = bits >> 23;
  {t} k = __builtin_convertvector(e, {t}), scale = ({t})((128 - e) << 23);
  {t} f = (({t})((bits & 0x7fffff) + 0x3f3504f3) - 1.0f) + c * (0.5f * scale);
  {t} y = k * 0.693359375f + (irt_vlog_series_{n}(f) - k * 2.12194440e-4f);
  return ({t})(({i})irt_vlog_ends_{n}(u, y) | (({i})x & INT32_MIN));
}}"""
# log(x + √(x² + sign)) where that is at least 2, and infinity and NaN; x² and 1 do not matter to each other beyond 4096.
_LOG_TWICE = """IRT_INLINE {t} irt_vlog_twice_{n}({t} x, {t} root) {{
  {i} big = x > 4096.0f;
  {t} k, l = irt_vlog_normal_{n}(irt_vselect_{n}(big, x, x + root), &k);
  k -= ({t})(big & ({i})(-1.0f - ({t}){{0}}));
  return irt_vselect_{n}(x < INFINITY, k * 0.693359375f + (l - k * 2.12194440e-4f), x);
}}"""
_ASINH = (
    """IRT_INLINE {t} irt_vasinh_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), z = x * x;
  {t} small = x * """
    + horner("z", _ASINH_TERMS)
    + """;
  {t} large = irt_vlog_twice_{n}(a, irt_vsqrt_{n}(z + 1.0f));
  large = ({t})(({i})large | (({i})x & INT32_MIN));
  return irt_vselect_{n}(a < 0.75f, small, large);
}}"""
)
_ACOSH = (
    """IRT_INLINE {t} irt_vacosh_{n}({t} x) {{
  {t} f = x - 1.0f;
  {i} near = f < 1.0f;
  {t} root = irt_vsqrt_{n}(irt_vselect_{n}(near, f + f, x * x - 1.0f));
  {t} small = root * """
    + horner("f", _ACOSH_TERMS)
    + """;
  return irt_vselect_{n}(near, small, irt_vlog_twice_{n}(x, root));
}}"""
)
# ½ log((1 + a) / (1 - a)) but near 0.
_ATANH = (
    """IRT_INLINE {t} irt_vatanh_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), z = x * x, k, l, large;
  {t} small = x * """
    + horner("z", _ATANH_TERMS)
    + """;
  l = irt_vlog_normal_{n}((1.0f + a) / (1.0f - a), &k);
  large = k * 0.3466796875f + (0.5f * l - k * 1.06097220e-4f);
  large = irt_vselect_{n}(a < 1.0f, large, irt_vselect_{n}(a == 1.0f, INFINITY - ({t}){{0}}, NAN - ({t}){{0}}));
  large = ({t})(({i})large | (({i})x & INT32_MIN));
  return irt_vselect_{n}(a < 0.5f, small, large);
}}"""
)

FUNCTIONS: dict[tuple[str, str], str] = {
    ("log_series", "float32"): _LOG_SERIES,
    ("log_normal", "float32"): _LOG_NORMAL,
    **vector_bases.bases("float32"),
    ("log_twice", "float32"): _LOG_TWICE,
    ("log1p", "float32"): _LOG1P,
    ("asinh", "float32"): _ASINH,
    ("acosh", "float32"): _ACOSH,
    ("atanh", "float32"): _ATANH,
}
