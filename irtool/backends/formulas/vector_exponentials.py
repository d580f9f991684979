"""Single-precision exponentials of vectors, and functions of them: a family of `vector_math`, which lists the names of the texts."""

from __future__ import annotations

from . import vector_hyperbolics
from .polynomials import horner

_EXP_TERMS = (1.0, 1.0, 0.49999991059303284, 0.16666416823863983, 0.04166824370622635, 0.008375036530196667,
              0.001383656752295792)  # fmt: skip
_SHORT_EXP_TERMS = (1.0, 0.9999997019767761, 0.4999914765357971, 0.1666763871908188, 0.04189816117286682,
                    0.008290271274745464)  # fmt: skip
"""exp, with a relative error of 9.3e-8, which is 0 at 0."""
EXP2_TERMS = (1.0, 0.6931471824645996, 0.24022647738456726, 0.05550331249833107, 0.009618442505598068,
              0.0013399391900748014, 0.00015352944319602102)  # fmt: skip
_EXP10_TERMS = (1.0, 2.3025851249694824, 2.6509487628936768, 2.03464937210083, 1.1712931394577026, 0.5420420169830322,
                0.20631715655326843)  # fmt: skip
_EXPM1_TERMS = (0.5, 0.1666666716337204, 0.041666481643915176, 0.008333281613886356, 0.001393354614265263,
                0.00019910042465198785)  # fmt: skip
_TANH_TERMS = (1.0, -0.3333325982093811, 0.13331128656864166, -0.05372109264135361, 0.02059105411171913,
               -0.005660051014274359)  # fmt: skip
_ERF_TERMS = (1.1283791065216064, -0.3761262595653534, 0.1128358542919159, -0.026853812858462334,
              0.005188330076634884, -0.0008010214078240097, 7.853924034861848e-05)  # fmt: skip
_LOG2_ERFC_TERMS = (-0.0038543427363038063, -1.6121233701705933, -0.944227397441864, -0.12787248194217682,
                    0.021320460364222527, -0.0016597273061051965)  # fmt: skip
"""log2(1 - erf x) from 1 to 3.95; beyond, erf is 1 in single precision."""
_ERFCX_OVER = (0.9999999403953552, 0.974834680557251, 0.4386533498764038, 0.08333858847618103)
_ERFCX_UNDER = (1.0, 2.1032068729400635, 1.8119632005691528, 0.7764617800712585, 0.14775711297988892)
"""exp(x²) erfc x = over / under of x, from 0 to 9.4. A minimax fit by Lawson's iteration, more exact for small x."""
_SHORT_EXP2_TERMS = (1.0, 0.6931469440460205, 0.24022239446640015, 0.05550775304436684, 0.009671607054769993,
                     0.0013252822682261467)  # fmt: skip
"""2^x, with a relative error of 9.6e-8, which is 0 at 0."""

# exp(x) = (2^k · exp r)² where x/2 = k · log 2 + r: k is half as large, so that 2^k is a normal number even where the
# result is subnormal or infinite. The sum `z` has k + 127 in its lowest bits.
_BOUNDED_EXP = (
    """IRT_INLINE {t} irt_vbounded_exp_{n}({t} x) {{
  {t} z = x * 0.72134752f + 12583039.0f, k = z - 12583039.0f;
  {t} r = (x * 0.5f - k * 0.693359375f) + k * 2.12194440e-4f;
  {t} p = """
    + horner("r", _EXP_TERMS)
    + """;
  p = p * ({t})(({i})z << 23);
  return p * p;
}}"""
)
_EXP = """IRT_INLINE {t} irt_vexp_{n}({t} x) {{
  return irt_vbounded_exp_{n}(irt_vclamp_{n}(x, -104.0f, 89.0f));
}}"""
# exp(x) for x up to 0: 2^(k + 64) is a normal number, multiplying by 2^-64 rounds what becomes subnormal.
_FALLING_EXP = (
    """IRT_INLINE {t} irt_vfalling_exp_{n}({t} x) {{
  {t} y = irt_vmax_{n}(-104.0f - ({t}){{0}}, x);
  {t} z = y * 1.44269504f + 12583103.0f, k = z - 12583103.0f;
  {t} r = (y - k * 0.693359375f) + k * 2.12194440e-4f;
  {t} p = """
    + horner("r", _EXP_TERMS)
    + """ * ({t})(({i})z << 23);
  return p * 5.42101086e-20f;
}}"""
)
# exp(x) for x from -87 to 0, where no part of it overflows or is subnormal, and 0 below; of NaN NaN.
_FLUSHED_EXP = (
    """IRT_INLINE {t} irt_vflushed_exp_{n}({t} x) {{
  {t} z = x * 1.44269504f + 12583039.0f, k = z - 12583039.0f;
  {t} r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
  {t} p = """
    + horner("r", _SHORT_EXP_TERMS)
    + """ * ({t})(({i})z << 23);
  return ({t})(({i})p & ~(x < -87.0f));
}}"""
)
# 1 / (1 + exp(-x)) as exp(x) / (1 + exp(x)) below 0, where exp(-x) would be infinite although the result is subnormal.
SIGMOID = """IRT_INLINE {t} irt_vsigmoid_{n}({t} x) {{
  {t} e = irt_vfalling_exp_{n}(-irt_vfabs_{n}(x));
  return irt_vratio_{n}(irt_vselect_{n}(x < 0.0{f}, e, 1.0{f} - ({t}){{0}}), 1.0{f} + e);
}}"""
# 1 / b to 14 bits at least, for b neither subnormal nor near the largest number.
_INVERSE = """IRT_INLINE {t} irt_vinverse_{n}({t} b) {{
#if defined(__AVX512F__) && defined(__AVX512VL__) && (defined(__GNUC__) || defined(__clang__))
  {t} y;
  __asm__("vrcp14ps %1, %0" : "=v"(y) : "v"(b));
  return y;
#else
  return 1.0f / b;
#endif
}}"""
# a / b for b neither subnormal nor near the largest number. A division of 16 lanes takes as long as 16 multiply-adds; an approximation
# to 14 bits and one of Newton's steps take 4, and leave an error of 2^-24.
_RATIO = """IRT_INLINE {t} irt_vratio_{n}({t} a, {t} b) {{
#if defined(__AVX512F__) && defined(__AVX512VL__) && (defined(__GNUC__) || defined(__clang__))
  {t} y;
  __asm__("vrcp14ps %1, %0" : "=v"(y) : "v"(b));
  return a * (y + y * (1.0f - b * y));
#else
  return a / b;
#endif
}}"""
# 2^x for x from -126 to 127, where neither it nor 2^k is subnormal or infinite, and 0 about -127. The sum `z` has k + 127 in its lowest bits.
_NORMAL_EXP2 = (
    """IRT_INLINE {t} irt_vnormal_exp2_{n}({t} x) {{
  {t} z = x + 12583039.0f, r = x - (z - 12583039.0f);
  return """
    + horner("r", _SHORT_EXP2_TERMS)
    + """ * ({t})(({i})z << 23);
}}"""
)
# From 0.625 on 1 - 2 / (exp(2a) + 1), which is 1 in single precision from 9.02 on.
_TANH = (
    """IRT_INLINE {t} irt_vtanh_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), z = x * x;
  {t} small = x * """
    + horner("z", _TANH_TERMS)
    + """;
  {t} c = irt_vmin_{n}(9.02f - ({t}){{0}}, a);
  {t} large = 1.0f - irt_vratio_{n}(2.0f - ({t}){{0}}, irt_vnormal_exp2_{n}(c * 2.88539008f) + 1.0f);
  large = ({t})(({i})large | (({i})x & INT32_MIN));
  return irt_vselect_{n}(a < 0.625f, small, large);
}}"""
)
_ERF = (
    """IRT_INLINE {t} irt_verf_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), z = x * x;
  {t} small = x * """
    + horner("z", _ERF_TERMS)
    + """;
  {t} c = irt_vmin_{n}(3.95f - ({t}){{0}}, a);
  {t} large = 1.0f - irt_vnormal_exp2_{n}("""
    + horner("c", _LOG2_ERFC_TERMS)
    + """);
  large = ({t})(({i})large | (({i})x & INT32_MIN));
  return irt_vselect_{n}(a < 1.0f, small, large);
}}"""
)
# erfc(a) = 2^(-a² · log2 e) · over / under, and erfc(-a) = 2 - erfc(a). Where a is 9.38, the power of two is 0. A step of a² moves the
# result by a² of its own steps, as a step of x does: the relative error is up to (8 + 3 x²) · 2^-24.
_ERFC = (
    """IRT_INLINE {t} irt_verfc_{n}({t} x) {{
  {t} a = irt_vmin_{n}(9.38f - ({t}){{0}}, irt_vfabs_{n}(x));
  {t} y = irt_vnormal_exp2_{n}(a * a * -1.44269504f) * irt_vratio_{n}("""
    + horner("a", _ERFCX_OVER)
    + """, """
    + horner("a", _ERFCX_UNDER)
    + """);
  return irt_vselect_{n}(x < 0.0f, 2.0f - y, y);
}}"""
)
# 2^k · p for a `p` about 1 and w = k + 1.5 · 2^23, whose lowest bits hold k: the half of k, rounded down, is added to the
# exponent of p, a multiplication by the rest of 2^k rounds what becomes subnormal. Of a NaN it makes any number, so that
# the bits are unsigned: they may overflow.
_SCALE = """IRT_INLINE {t} irt_vscale_{n}({t} p, {t} w) {{
  typedef uint32_t bits __attribute__((vector_size(sizeof({t}))));
  bits low = (bits)((({i})w >> 1) << 23);
  return ({t})((bits)p + low) * ({t})(((bits)w << 23) - low + 0x3f800000u);
}}"""
_EXP2 = (
    """IRT_INLINE {t} irt_vexp2_{n}({t} x) {{
  {t} y = irt_vclamp_{n}(x, -152.0f, 130.0f), w = y + 12582912.0f, r = y - (w - 12582912.0f);
  return ({t})((x != x) | ({i})irt_vscale_{n}("""
    + horner("r", EXP2_TERMS)
    + """, w));
}}"""
)
# 10^x = 2^k · 10^r where x = k · log10 2 + r; the first part of log10 2 is short, so that its product with k is exact.
_EXP10 = (
    """IRT_INLINE {t} irt_vexp10_{n}({t} x) {{
  {t} y = irt_vclamp_{n}(x, -46.0f, 39.0f), w = y * 3.32192809f + 12582912.0f, k = w - 12582912.0f;
  {t} r = (y - k * 0.301025390625f) - k * 4.60503898e-6f;
  return ({t})((x != x) | ({i})irt_vscale_{n}("""
    + horner("r", _EXP10_TERMS)
    + """, w));
}}"""
)
# 2^k · (exp r - 1 + (1 - 2^-k)); 2^k is taken in halves, because it may be too large.
_EXPM1 = (
    """IRT_INLINE {t} irt_vexpm1_{n}({t} x) {{
  {t} y = irt_vclamp_{n}(x, -18.0f, 89.0f), z = y * 1.44269504f + 12583038.0f, k = z - 12583038.0f;
  {t} r = (y - k * 0.693359375f) + k * 2.12194440e-4f;
  {t} p = r + (r * r) * """
    + horner("r", _EXPM1_TERMS)
    + """;
  p = p + (1.0f - 0.5f * ({t})((254 - ({i})z) << 23));
  p = (p + p) * ({t})(({i})z << 23);
  return ({t})(({i})p | (({i})x & INT32_MIN));
}}"""
)
FUNCTIONS: dict[tuple[str, str], str] = {
    ("bounded_exp", "float32"): _BOUNDED_EXP,
    ("exp", "float32"): _EXP,
    ("falling_exp", "float32"): _FALLING_EXP,
    ("flushed_exp", "float32"): _FLUSHED_EXP,
    ("inverse", "float32"): _INVERSE,
    ("ratio", "float32"): _RATIO,
    ("sigmoid", "float32"): SIGMOID,
    ("normal_exp2", "float32"): _NORMAL_EXP2,
    ("tanh", "float32"): _TANH,
    ("erf", "float32"): _ERF,
    ("erfc", "float32"): _ERFC,
    ("scale", "float32"): _SCALE,
    ("exp2", "float32"): _EXP2,
    ("exp10", "float32"): _EXP10,
    ("expm1", "float32"): _EXPM1,
    **vector_hyperbolics.hyperbolics("float32"),
}
