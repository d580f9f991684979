"""Double-precision powers of vectors: a family of `vector_math`, which lists the names that the texts may use.

The steps are those of `vector_powers`, with a logarithm that has ten bits more than a double.
"""

from __future__ import annotations

from math import log

from .polynomials import horner
from .vector_remainders import remainders

_LOG2_TERMS = tuple(2 / log(2) / (2 * n + 3) for n in range(7))
"""log2((1 + s) / (1 - s)) without its linear part, divided by s³, as a Taylor polynomial of s². Up to s = 0.077 the error is
below 2^-54."""
_EXP2_TERMS = (1.0, 0.6931471805599457, 0.24022650695910097, 0.05550410866479037, 0.009618129107606985,
               0.0013333558153444099, 0.00015403530441600874, 1.5252727382686957e-05, 1.3215442657709824e-06,
               1.0180648146572666e-07, 7.072573949333621e-09, 4.078076593914105e-10)  # fmt: skip
"""2^r by Remez's algorithm: up to r = 1/2 the relative error is 2^-55; it is 0 at 0."""

# |x| = 2^k · m with m from √½ to √2, which is brought nearer to 1 by a factor `c` of a few bits, exactly: 1 + f. What is added to k
# for that are two numbers, the first of which is so short that the sum is exact.
_POW_EXPONENT = (
    """IRT_INLINE {t} irt_vpow_exponent_{n}({i} bits, {t} k, {t} y, {t} *w) {{
  {t} m = ({t})((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd), one = 1.0 - ({t}){{0}};
  {i} up = m > 1.1666, down = m < 0.89;
  {t} c = irt_vselect_{n}(up, 0.75 * one, irt_vselect_{n}(down, 1.25 * one, one));
  {t} e = k + ({t})((up & ({i})(0.4150374992786965 * one)) | (down & ({i})(-0.32192809488697094 * one)));
  {t} rest = ({t})((up & ({i})(1.4733181985781966e-13 * one)) | (down & ({i})(-3.914087556296025e-13 * one)));
  {t} f = -irt_vless_{n}(one, m, c), inverse = 1.0 / (2.0 + f), s = f * inverse, z = s * s;
  {t} sl = irt_vless_{n}(f - 2.0 * s, s, f) * inverse, u = (s * z) * """
    + horner("z", _LOG2_TERMS, "")
    + """, p = s * 2.8853900817779268 + u;
  {t} l = (u - irt_vless_{n}(p, s, 2.8853900817779268 * one)) + (s * 4.0710547481862066e-17 + sl * (z * 2.8853900817779268 + 2.8853900817779268));
  {t} h = e + p, t = y * h;
  l = ((e - h) + p) + (l + rest);
  l = y * l - irt_vless_{n}(t, y, h);
  *w = t + 6755399441055744.0;
  return (t - (*w - 6755399441055744.0)) + l;
}}"""
)
_FAR_POW = """static __attribute__((noinline, unused)) {t} irt_vfar_pow_{n}({t} x, {t} y) {{
  int k;
  for (k = 0; k < {lanes}; ++k) x[k] = pow(x[k], y[k]);
  return x;
}}"""
# Most vectors have positive normal numbers only, and so have their powers. Of others, the C library is asked.
_POW = (
    """IRT_INLINE {t} irt_vpow_{n}({t} x, {t} y) {{
  typedef uint64_t unsigned_bits __attribute__((vector_size(sizeof({t}))));
  {i} bits = ({i})((unsigned_bits)x - 0x3fe6a09e667f3bcdu);
  {t} w, r = irt_vpow_exponent_{n}(bits, ({t})((bits >> 52) + 0x4338000000000000) - 6755399441055744.0, y, &w);
  {t} value = ({t})((unsigned_bits)"""
    + horner("r", _EXP2_TERMS, "")
    + """ + ((unsigned_bits)w << 52));
  {i} start = ({i})((unsigned_bits)x - 0x0010000000000000u), end = ({i})((unsigned_bits)w - 0x4337fffffffffc04u);
  if (irt_vbeyond_{n}(start, 0x7fe0000000000000, end, 2041)) value = irt_vfar_pow_{n}(x, y);
  return value;
}}"""
)

FUNCTIONS: dict[tuple[str, str], str] = {
    **remainders("float64"),
    ("pow_exponent", "float64"): _POW_EXPONENT,
    ("far_pow", "float64"): _FAR_POW,
    ("pow", "float64"): _POW,
}
