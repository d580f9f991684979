"""Single-precision powers of vectors: a family of `vector_math`, which lists the names that the texts may use.

x^y is 2^(y · log2 x), where the logarithm needs eight bits more than a float has. It and its product with y are sums of two
floats: the rounding error of a product comes from one more multiply-add, or, without that instruction, from the halves of its
factors (Dekker, A Floating-Point Technique for Extending the Available Precision, 1971).
"""

from __future__ import annotations

from ...tir.expr import Call, Const
from .polynomials import horner
from .templates import fill
from .vector_exponentials import EXP2_TERMS
from .vector_remainders import remainders

_LOG2_TERMS = (0.9617967009544373, 0.5770828723907471, 0.41170623898506165, 0.34022024273872375)
"""log2((1 + s) / (1 - s)) without its linear part, divided by s³, as a polynomial of s², for s up to 0.172."""

# |x| = 2^k · m with m from √½ to √2. log2 m is a series in s = (m - 1) / (m + 1) and in `sl`, what the division leaves; `p` + `l`
# is their sum, and with k `h` + `l`. The product with y is `t` + `tl`. Given are the bits of |x| less those of √½, k and y; the
# value is what the product is off from the nearest integer, which the lowest bits of `w` have.
_POW_EXPONENT = (
    """IRT_INLINE {t} irt_vpow_exponent_{n}({i} bits, {t} k, {t} y, {t} *w, {t} *t) {{
  {t} m = ({t})((bits & 0x7fffff) + 0x3f3504f3), f = m - 1.0f, d = m + 1.0f;
  {t} inverse = irt_vinverse_{n}(d), q = f * inverse, s = q + q * (1.0f - d * inverse), z = s * s;
  {t} sl = irt_vless_{n}(f - 2.0f * s, s, f) * inverse, u = (s * z) * """
    + horner("z", _LOG2_TERMS)
    + """, p = s * 2.88539004f + u;
  {t} h = k + p, l = (u - irt_vless_{n}(p, s, 2.88539004f - ({t}){{0}})) + (s * 3.85192598e-8f + sl * (z * 2.88539004f + 2.88539004f));
  l = ((k - h) + p) + l;
  *t = y * h;
  l = y * l - irt_vless_{n}(*t, y, h);
  *w = *t + 12582912.0f;
  return (*t - (*w - 12582912.0f)) + l;
}}"""
)
# For any arguments. Where |x| is 0 or infinity, the sign of the sum says which of the two the result is; that of a y so
# large that it does not matter how large is kept small enough for finite sums. Below 2^23, the lowest bit of |y| + 2^23
# says if y is odd. Not part of the loop: its constants would take the registers of those that are always needed.
_FAR_POW = (
    """static __attribute__((noinline, unused)) {t} irt_vfar_pow_{n}({t} x, {t} y) {{
  {i} ax = ({i})x & INT32_MAX, ay = ({i})y & INT32_MAX, tiny = ax < 0x00800000;
  {i} bits = ({i})irt_vselect_{n}(tiny, ({t})ax * 33554432.0f, ({t})ax) - 0x3f3504f3;
  {t} most = irt_vselect_{n}(ay < 0x50800000, y, ({t})((({i})y & INT32_MIN) | 0x50800000)), w, sum;
  {t} r = irt_vpow_exponent_{n}(bits, __builtin_convertvector((bits >> 23) - (tiny & 25), {t}), most, &w, &sum);
  {i} value = ({i})irt_vscale_{n}("""
    + horner("r", EXP2_TERMS)
    + """, w);
  {i} low = ay < 0x4b000000;
  {t} whole = irt_vselect_{n}(low, ({t})ay + 8388608.0f, ({t})ay);
  {i} broken = low & (whole - 8388608.0f != ({t})ay);
  {i} odd = (({i})whole << 31) & (ay < 0x4b800000) & ~broken;
  {i} end = (((ax == 0) | (ax >= 0x7f800000)) & (ay != 0)) | ((({i})sum & INT32_MAX) > 0x43180000);
  value = (end & (sum > 0.0f) & 0x7f800000) | (~end & value) | (({i})x & odd);
  value |= (broken & (x < 0.0f) & (ax != 0x7f800000)) | ((ax > 0x7f800000) & (ay != 0));
  return ({t})(value | ((ay > 0x7f800000) & (x != 1.0f)));
}}"""
)
# Most vectors have positive normal numbers only, and so have their powers: from 2^-125 to 2^125 is what `w` tells.
_POW = (
    """IRT_INLINE {t} irt_vpow_{n}({t} x, {t} y) {{
  typedef uint32_t unsigned_bits __attribute__((vector_size(sizeof({t}))));
  {i} bits = ({i})((unsigned_bits)x - 0x3f3504f3u);
  {t} w, sum, r = irt_vpow_exponent_{n}(bits, __builtin_convertvector(bits >> 23, {t}), y, &w, &sum);
  {t} value = ({t})((unsigned_bits)"""
    + horner("r", EXP2_TERMS)
    + """ + ((unsigned_bits)w << 23));
  if (irt_vbeyond_{n}(({i})((unsigned_bits)x - 0x00800000u), 0x7f000000, ({i})((unsigned_bits)w - 0x4b3fff83u), 251)) value = irt_vfar_pow_{n}(x, y);
  return value;
}}"""
)

# Powers that are cheap, with the ends as pow has them: the square root of -∞ is ∞, that of -0 is +0.
_ROOT_OF = """IRT_INLINE {t} irt_vroot_of_{n}({t} x) {{
  return irt_vselect_{n}(x == -INFINITY, INFINITY - ({t}){{0}}, x + 0.0{f});
}}"""
_ROOTS = """IRT_INLINE {t} irt_v{name}_{n}({t} x) {{
  {t} a = irt_vroot_of_{n}(x), q = irt_vsqrt_{n}(a);
  return $text;
}}"""
_PRODUCTS = """IRT_INLINE {t} irt_v{name}_{n}({t} x) {{
  {t} q = $first;
  return $text;
}}"""
_OF_ROOTS = {
    -1.5: ("pow_minus_3_2", "(1.0{f} / a) / q"),
    -0.75: (
        "pow_minus_3_4",
        "irt_vselect_{n}((a == 0.0{f}) | (a == INFINITY), 1.0{f} - ({t}){{0}}, irt_vsqrt_{n}(q)) / a",
    ),
    -0.5: ("pow_minus_1_2", "1.0{f} / q"),
    -0.25: ("pow_minus_1_4", "1.0{f} / irt_vsqrt_{n}(q)"),
    0.5: ("pow_1_2", "q"),
    0.25: ("pow_1_4", "irt_vsqrt_{n}(q)"),
    0.75: ("pow_3_4", "q * irt_vsqrt_{n}(q)"),
    1.5: ("pow_3_2", "a * q"),
    2.5: ("pow_5_2", "a * a * q"),
}
_OF_PRODUCTS = {
    -3.0: ("pow_minus_3", "x * x", "(1.0{f} / x) / q"),
    -2.0: ("pow_minus_2", "1.0{f} / x", "q * q"),
    -1.0: ("pow_minus_1", "1.0{f} / x", "q"),
    1.0: ("pow_1", "x", "q"),
    2.0: ("pow_2", "x", "q * q"),
    3.0: ("pow_3", "x * x", "q * x"),
    4.0: ("pow_4", "x * x", "q * q"),
}

CHEAP: dict[float, str] = {e: entry[0] for table in (_OF_ROOTS, _OF_PRODUCTS) for e, entry in table.items()}
"""Exponents for which a function of one argument computes the power."""
_BASES = {2.0: "exp2", 10.0: "exp10"}


def cheapest(call: Call) -> tuple[str, tuple[int, ...]]:
    """The function of floats that computes a call, and the numbers of the arguments that it takes."""
    if call.name == "pow":
        base, exponent = call.args
        if isinstance(exponent, Const) and exponent.value in CHEAP:
            return CHEAP[float(exponent.value)], (0,)
        if isinstance(base, Const) and base.value in _BASES:
            return _BASES[float(base.value)], (1,)
    return call.name, tuple(range(len(call.args)))


_HYPOT = """IRT_INLINE {t} irt_vhypot_{n}({t} x, {t} y) {{
  {t} a = irt_vfabs_{n}(x), b = irt_vfabs_{n}(y), most = irt_vselect_{n}(a < b, b, a), one = 1.0f - ({t}){{0}};
  {i} large = most > 1.0e18f, small = most < 1.0e-16f;
  {t} down = irt_vselect_{n}(large, 0x1p-70f - ({t}){{0}}, irt_vselect_{n}(small, 0x1p100f - ({t}){{0}}, one));
  {t} up = irt_vselect_{n}(large, 0x1p70f - ({t}){{0}}, irt_vselect_{n}(small, 0x1p-100f - ({t}){{0}}, one));
  {t} u = a * down, v = b * down, r = irt_vsqrt_{n}(u * u + v * v) * up;
  return irt_vselect_{n}((a == INFINITY) | (b == INFINITY), INFINITY - ({t}){{0}}, r);
}}"""

_EACH = ("float32", "float64")

FUNCTIONS: dict[tuple[str, str], str] = {
    **remainders("float32"),
    ("pow_exponent", "float32"): _POW_EXPONENT,
    ("far_pow", "float32"): _FAR_POW,
    ("pow", "float32"): _POW,
    ("hypot", "float32"): _HYPOT,
    **{("root_of", d): _ROOT_OF for d in _EACH},
    **{(name, d): fill(_ROOTS, text=text) for name, text in _OF_ROOTS.values() for d in _EACH},
    **{(n, d): fill(_PRODUCTS, first=q, text=text) for n, q, text in _OF_PRODUCTS.values() for d in _EACH},
}
