"""Single-precision powers of vectors: a family of `vector_math`, which says what the texts may name.

x^y is 2^(y · log2 x), where the logarithm needs eight bits more than a float has. It and its product with y are sums of
two floats: of the first one, only the upper half of the bits is used, so that products of such numbers are exact, with
contraction to one rounding and without.
"""

from __future__ import annotations

from ...tir.expr import Call, Const
from .polynomials import horner
from .templates import fill
from .vector_exponentials import EXP2_TERMS

_LOG2_TERMS = (0.961796760559082, 0.5770391821861267, 0.41864436864852905)
"""log2((1 + s) / (1 - s)) without its linear part, divided by s³: of s², for s up to 0.102."""

# |x| = 2^k · m with m from 0.8165 to 1.633. log2 m is log2 c for a c of 1 or 1.5, and a series in s = (m - c) / (m + c):
# s is `sh` (12 bits) + `sl`, the division's remainder. The logarithm is `h` (12 bits) + `l`, the product `t` + `tl`. Given
# are the bits of |x| less those of the least m, k and y; the value is what the sum is off from the nearest integer.
_POW_EXPONENT = (
    """IRT_INLINE {t} irt_vpow_exponent_{n}({i} bits, {t} k, {t} y, {t} *sum) {{
  {t} m = ({t})((bits & 0x7fffff) + 0x3f510625);
  {i} up = m > 1.22474487f;
  {t} c = irt_vselect_{n}(up, 1.5f - ({t}){{0}}, 1.0f - ({t}){{0}}), f = m - c, d = m + c, inverse = irt_vratio_{n}(1.0f - ({t}){{0}}, d);
  {t} s = f * inverse, z = s * s, sh = ({t})(({i})s & -4096), dh = ({t})(({i})d & -4096);
  {t} sl = ((f - sh * dh) - sh * (m - (dh - c))) * inverse, p = sh * 2.884765625f;
  {t} pl = sh * 6.24456477e-4f + (sl * 2.88539008f + (s * z) * """
    + horner("z", _LOG2_TERMS)
    + """);
  {t} e = k + ({t})(up & ({i})(0.5849609375f - ({t}){{0}}));
  {t} h = ({t})(({i})(e + p) & -4096);
  {t} l = ((e - h) + p) + (pl + ({t})(up & ({i})(1.56318833e-6f - ({t}){{0}})));
  {t} yh = ({t})(({i})y & -4096), t = yh * h, tl = (y - yh) * h + y * l;
  *sum = t + tl;
  return (t - ((*sum + 12582912.0f) - 12582912.0f)) + tl;
}}"""
)
# For any arguments. Where |x| is 0 or infinity, the sign of the sum says which of the two the result is; that of a y so
# large that it does not matter how large is kept small enough for finite sums. Below 2^23, the lowest bit of |y| + 2^23
# says if y is odd.
_ANY_POW = (
    """IRT_INLINE {t} irt_vany_pow_{n}({t} x, {t} y) {{
  {i} ax = ({i})x & INT32_MAX, ay = ({i})y & INT32_MAX, tiny = ax < 0x00800000;
  {i} bits = ({i})irt_vselect_{n}(tiny, ({t})ax * 33554432.0f, ({t})ax) - 0x3f510625;
  {t} most = irt_vselect_{n}(ay < 0x50800000, y, ({t})((({i})y & INT32_MIN) | 0x50800000)), sum;
  {t} r = irt_vpow_exponent_{n}(bits, __builtin_convertvector((bits >> 23) - (tiny & 25), {t}), most, &sum);
  {i} value = ({i})irt_vscale_{n}("""
    + horner("r", EXP2_TERMS)
    + """, sum + 12582912.0f);
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
# Most vectors have positive normal numbers only, and so have their powers: these are done with in half of the time.
_POW = (
    """IRT_INLINE {t} irt_vpow_{n}({t} x, {t} y) {{
  {i} bits = (({i})x & INT32_MAX) - 0x3f510625, special = (({i})x < 0x00800000) | (({i})x > 0x7f7fffff);
  {t} sum, r;
  if (irt_vany_{n}(special)) return irt_vany_pow_{n}(x, y);
  r = irt_vpow_exponent_{n}(bits, __builtin_convertvector(bits >> 23, {t}), y, &sum);
  if (irt_vany_{n}((({i})sum & INT32_MAX) > 0x42fa0000)) return irt_vany_pow_{n}(x, y);
  return ({t})(({i})"""
    + horner("r", EXP2_TERMS)
    + """ + (({i})(sum + 12582912.0f) << 23));
}}"""
)

# Powers that are cheap, with the ends as pow has them: the square root of -∞ is ∞, that of -0 is +0.
_ROOT_OF = """IRT_INLINE {t} irt_vroot_of_{n}({t} x) {{
  return irt_vselect_{n}(x == -INFINITY, INFINITY - ({t}){{0}}, x + 0.0f);
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
    -1.5: ("pow_minus_3_2", "(1.0f / a) / q"),
    -0.75: ("pow_minus_3_4", "irt_vselect_{n}((a == 0.0f) | (a == INFINITY), 1.0f - ({t}){{0}}, irt_vsqrt_{n}(q)) / a"),
    -0.5: ("pow_minus_1_2", "1.0f / q"),
    -0.25: ("pow_minus_1_4", "1.0f / irt_vsqrt_{n}(q)"),
    0.5: ("pow_1_2", "q"),
    0.25: ("pow_1_4", "irt_vsqrt_{n}(q)"),
    0.75: ("pow_3_4", "q * irt_vsqrt_{n}(q)"),
    1.5: ("pow_3_2", "a * q"),
    2.5: ("pow_5_2", "a * a * q"),
}
_OF_PRODUCTS = {
    -3.0: ("pow_minus_3", "x * x", "(1.0f / x) / q"),
    -2.0: ("pow_minus_2", "1.0f / x", "q * q"),
    -1.0: ("pow_minus_1", "1.0f / x", "q"),
    1.0: ("pow_1", "x", "q"),
    2.0: ("pow_2", "x", "q * q"),
    3.0: ("pow_3", "x * x", "q * x"),
    4.0: ("pow_4", "x * x", "q * q"),
}

CHEAP: dict[float, str] = {e: entry[0] for table in (_OF_ROOTS, _OF_PRODUCTS) for e, entry in table.items()}
"""Exponents for which a function of one argument gives the power."""
_BASES = {2.0: "exp2", 10.0: "exp10"}


def cheapest(call: Call) -> tuple[str, tuple[int, ...]]:
    """The function of floats that gives the value of a call, and which of its arguments that takes."""
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

FUNCTIONS: dict[tuple[str, str], str] = {
    ("pow_exponent", "float32"): _POW_EXPONENT,
    ("any_pow", "float32"): _ANY_POW,
    ("pow", "float32"): _POW,
    ("hypot", "float32"): _HYPOT,
    ("root_of", "float32"): _ROOT_OF,
    **{(name, "float32"): fill(_ROOTS, text=text) for name, text in _OF_ROOTS.values()},
    **{(n, "float32"): fill(_PRODUCTS, first=q, text=text) for n, q, text in _OF_PRODUCTS.values()},
}

NEEDS: dict[str, tuple[str, ...]] = {
    "pow_exponent": ("select", "ratio"),
    "any_pow": ("pow_exponent", "scale", "select"),
    "pow": ("pow_exponent", "any_pow", "any"),
    "hypot": ("select", "fabs", "sqrt"),
    "root_of": ("select",),
    **{name: ("root_of", "sqrt") for name, _ in _OF_ROOTS.values()},
}

EXACT: tuple[str, ...] = ()
