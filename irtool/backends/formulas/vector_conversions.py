"""Conversions of vectors for which compilers generate poor code, as C text (see `vector_math` for the placeholders).

Their results are those of the scalar functions of the same names (see `support`): 16-bit floats are stored as their bits, and a
number beyond an integer's range becomes the least integer.
"""

from __future__ import annotations

from .support import kept_apart
from .templates import fill

# gcc's names for the processor's conversions; clang makes them of a cast. They keep more of a NaN than we do. Arm's are in assembly:
# gcc has no type of vectors for them without `arm_neon.h`.
_OWN = """#if {lanes} == 16 && defined(__AVX512F__) && !defined(__clang__)
$widest
#elif {lanes} == 8 && defined(__F16C__) && !defined(__clang__)
$wide
#elif defined(__F16C__) && defined(__clang__)
$clang
#elif {lanes} == 4 && defined(__aarch64__)
$arm
#else
"""
_HALF = "  typedef __fp16 half __attribute__((vector_size(2 * {lanes})));\n"
_QUIET = "  {i} nan = x != x, y = (({i})x & ~(nan & 0x3fffff)) | (nan & 0x400000);\n"
_ROUND_TRIP = "  return irt_vh2f_{n}(irt_vf2h_{n}(x));"
_H2F = (
    "IRT_INLINE {t} irt_vh2f_{n}(irt_u16x{lanes} x) {{\n"
    + fill(
        _OWN,
        widest="  return __builtin_ia32_vcvtph2ps512_mask((irt_i16x{lanes})x, ({t}){{0}}, (short)-1, 4);",
        wide="  return __builtin_ia32_vcvtph2ps256((irt_i16x{lanes})x);",
        clang=_HALF + "  return __builtin_convertvector((half)x, {t});",
        arm='  {t} y;\n  __asm__("fcvtl %0.4s, %1.4h" : "=w"(y) : "w"(x));\n  return y;',
    )
    + """  {i} h = ({i})__builtin_convertvector(x, irt_u32x{lanes}), rest = h & 0x7fff;
  {t} tiny = __builtin_convertvector(rest, {t}) * 5.9604644775390625e-8f;
  {i} y = (rest << 13) + 0x38000000 + ((rest >= 0x7c00) & 0x38000000);
  return ({t})(({i})irt_vselect_{n}(rest < 0x400, tiny, ({t})y) | ((h & 0x8000) << 16));
#endif
}}"""
)
_F2H = (
    "IRT_INLINE irt_u16x{lanes} irt_vf2h_{n}({t} x) {{\n"
    + fill(
        _OWN,
        widest=_QUIET
        + "  return (irt_u16x{lanes})__builtin_ia32_vcvtps2ph512_mask(({t})y, 0, (irt_i16x{lanes}){{0}}, 0xffff);",
        wide=_QUIET + "  return (irt_u16x{lanes})__builtin_ia32_vcvtps2ph256(({t})y, 0);",
        clang=_HALF + _QUIET + "  return (irt_u16x{lanes})__builtin_convertvector(({t})y, half);",
        arm=_QUIET + '  irt_u16x{lanes} h;\n  __asm__("fcvtn %0.4h, %1.4s" : "=w"(h) : "w"(y));\n  return h;',
    )
    + """  {i} b = ({i})x & INT32_MAX, sign = (({i})x >> 16) & 0x8000;
  irt_u32x{lanes} u = (irt_u32x{lanes})b; /* gcc adds first, which a NaN is too large for */
  {i} tiny = ({i})(({t})b + 0.5f) - 0x3f000000, y = ({i})(u - 0x37fff001u + ((u >> 13) & 1u)) >> 13;
  {i} is_tiny = b < 0x38800000, is_huge = b >= 0x477ff000, is_nan = b > 0x7f800000;
  y = (is_tiny & tiny) | (~is_tiny & y);
  y = (is_huge & (0x7c00 + (is_nan & 0x200))) | (~is_huge & y);
  return __builtin_convertvector((irt_u32x{lanes})(y | sign), irt_u16x{lanes});
#endif
}}"""
)
_ROUND_FLOAT16 = (
    "IRT_INLINE {t} irt_vround_float16_{n}({t} x) {{\n"
    + fill(_OWN, widest=_ROUND_TRIP, wide=_ROUND_TRIP, clang=_ROUND_TRIP, arm=_ROUND_TRIP)
    + """  {i} b = ({i})x & INT32_MAX, sign = ({i})x & INT32_MIN;
  {i} tiny = ({i})((({t})b + 0.5f) - 0.5f), y = (b + 0xfff + ((b >> 13) & 1)) & ~0x1fff;
  {i} is_tiny = b < 0x38800000, is_huge = b >= 0x477ff000, is_nan = b > 0x7f800000;
  y = (is_tiny & tiny) | (~is_tiny & y);
  y = (is_huge & (0x7f800000 + (is_nan & 0x400000))) | (~is_huge & y);
  return ({t})(y | sign);
#endif
}}"""
)
# gcc widens the halves of a vector one by one, and joins them.
_B2F = """IRT_INLINE {t} irt_vb2f_{n}(irt_u16x{lanes} x) {{
#if {lanes} == 16 && defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
  return ({t})((irt_u32x{lanes})__builtin_ia32_pmovzxwd512_mask((irt_i16x{lanes})x, (irt_i32x{lanes}){{0}}, 0xffff) << 16);
#elif {lanes} == 8 && defined(__AVX2__) && defined(__GNUC__) && !defined(__clang__)
  return ({t})((irt_u32x{lanes})__builtin_ia32_pmovzxwd256((irt_i16x{lanes})x) << 16);
#else
  return ({t})(__builtin_convertvector(x, irt_u32x{lanes}) << 16);
#endif
}}"""
# The instruction takes subnormal numbers for zeros: they get the next exponent meanwhile, and are rounded at the same bit.
_BF16 = "#if {lanes} == 16 && defined(__AVX512BF16__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && !defined(__clang__)\n"
_ROUNDED_BITS = """  unsigned short tiny = (unsigned short)__builtin_ia32_fpclassps512_mask(x, 0x20, 0xffff);
  irt_u16x{lanes} y;
  x = ({t})__builtin_ia32_paddd512_mask(({i})x, ({i}){{0}} + 0x800000, ({i})x, tiny);
  __asm__("vcvtneps2bf16 %1, %0" : "=v"(y) : "v"(x));
  return (irt_u16x{lanes})__builtin_ia32_psubw256_mask((irt_i16x{lanes})y, (irt_i16x{lanes}){{0}} + 0x80, (irt_i16x{lanes})y, tiny);
"""
_BITS_OF_BFLOAT16 = """  irt_u32x{lanes} b = (irt_u32x{lanes})x, y = b + 0x7fff + ((b >> 16) & 1);
  irt_u32x{lanes} nan = (irt_u32x{lanes})(x != x);
  y = (nan & (b | 0x400000)) | (~nan & y);
"""
_F2B = (
    "IRT_INLINE irt_u16x{lanes} irt_vf2b_{n}({t} x) {{\n"
    + _BF16
    + _ROUNDED_BITS
    + "#else\n"
    + _BITS_OF_BFLOAT16
    + "  return __builtin_convertvector(y >> 16, irt_u16x{lanes});\n#endif\n}}"
)
_ROUND_BFLOAT16 = (
    "IRT_INLINE {t} irt_vround_bfloat16_{n}({t} x) {{\n"
    + _BF16
    + "  return irt_vb2f_{n}(irt_vf2b_{n}(x));\n#else\n"
    + _BITS_OF_BFLOAT16
    + "  return ({t})({i})(y & 0xffff0000u);\n#endif\n}}"
)
_TO_INT32 = """IRT_INLINE irt_i32x{lanes} irt_vto_int32_{n}({t} x) {{
  {i} fits = (x >= -2147483648.0$f) & (x < 2147483648.0$f);
  irt_i32x{lanes} y = __builtin_convertvector(irt_vselect_{n}(fits, x, -2147483648.0$f - ({t}){{0}}), irt_i32x{lanes});
$apart  return y;
}}"""
# See the function `odd` in `support`.
_ODD = """IRT_INLINE irt_f32x{lanes} irt_vodd_{n}({t} x) {{
  irt_f32x{lanes} y = __builtin_convertvector(x, irt_f32x{lanes});
  {t} back = __builtin_convertvector(y, {t});
  {i} differs = (x - x == 0.0) & (back != x);
  {i} larger = differs & (((x > 0.0) & (back > x)) | ((x < 0.0) & (back < x)));
  irt_i32x{lanes} bits = (irt_i32x{lanes})y + __builtin_convertvector(larger, irt_i32x{lanes});
  return (irt_f32x{lanes})(bits | (__builtin_convertvector(differs, irt_i32x{lanes}) & 1));
}}"""
_APART = kept_apart("w", " && {lanes} <= 4")
# Integers of 8 and 16 bits as int32, which gcc makes of several shuffles.
_WIDEN = """IRT_INLINE irt_i32x{lanes} irt_vwiden_{n}({t} x) {{
#if {lanes} == 16 && defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
  typedef $element all __attribute__((vector_size({lanes} * sizeof($element))));
  return (irt_i32x{lanes})__builtin_ia32_pmov${sign}x${size}d512_mask((all)x, (irt_i32x{lanes}){{0}}, 0xffff);
#elif {lanes} == 8 && defined(__AVX2__) && defined(__GNUC__) && !defined(__clang__)
  typedef $element all __attribute__((vector_size(16)));
$whole
#else
  return $twice;
#endif
}}"""

_HALF_FILLED = """  typedef long long half __attribute__((vector_size(16)));
  return (irt_i32x{lanes})__builtin_ia32_pmov${sign}xbd256((all)(half){{(long long)x, 0}});"""
_FILLED = "  return (irt_i32x{lanes})__builtin_ia32_pmov${sign}xwd256((all)x);"


def _widen(dtype: str) -> str:
    unsigned, narrow = dtype.startswith("u"), dtype.endswith("8")
    short = "u16" if unsigned else "i16"
    return fill(
        _WIDEN,
        element="char" if narrow else "short",
        sign="z" if unsigned else "s",
        size="b" if narrow else "w",
        whole=fill(_HALF_FILLED if narrow else _FILLED, sign="z" if unsigned else "s"),
        twice=(
            f"__builtin_convertvector(__builtin_convertvector(x, irt_{short}x{{lanes}}), irt_i32x{{lanes}})"
            if narrow
            else "__builtin_convertvector(x, irt_i32x{lanes})"
        ),
    )


# The lowest bytes of 16 integers: gcc takes single elements where what it narrows was a vector of floats before.
_NARROW = """IRT_INLINE irt_${short}x{lanes} irt_vnarrow_${dtype}_{n}({t} x) {{
#if {lanes} == 16 && defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
  typedef char all __attribute__((vector_size({lanes})));
  typedef int words __attribute__((vector_size({lanes} * sizeof(int))));
  return (irt_${short}x{lanes})__builtin_ia32_pmovdb512_mask((words)x, (all){{0}}, 0xffff);
#else
  return __builtin_convertvector(x, irt_${short}x{lanes});
#endif
}}"""

# Four elements in memory beside four int32: Helium loads and widens, or narrows and stores, in one instruction; gcc takes single elements.
_HELIUM = "defined(__ARM_FEATURE_MVE) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)"
_AT = """#if $helium
#include <arm_mve.h>
#endif
"""
_WIDEN_AT = (
    _AT
    + """IRT_INLINE irt_i32x{lanes} irt_vwiden_at_{n}(const {e} *p) {{
#if {lanes} == 4 && $helium
  return (irt_i32x{lanes})vldr${size}q_${sign}32(p);
#else
  return irt_vwiden_{n}(*(const {t}_u *)p);
#endif
}}"""
)
_NARROW_TO = (
    _AT
    + """IRT_INLINE void irt_vnarrow_to_{n}({e} *p, irt_i32x{lanes} x) {{
#if {lanes} == 4 && $helium
  vstr${size}q_${sign}32(p, ($vector)x);
#else
  *({t}_u *)p = $narrowed;
#endif
}}"""
)


def _beside_memory(text: str, dtype: str) -> str:
    """A function between elements of 8 or 16 bits in memory and vectors of int32."""
    unsigned, narrow = dtype.startswith("u"), dtype.endswith("8")
    narrowed = "x" if not narrow else "__builtin_convertvector(x, irt_i16x{lanes})"
    return fill(
        text,
        helium=_HELIUM,
        size="b" if narrow else "h",
        sign="u" if unsigned else "s",
        vector="uint32x4_t" if unsigned else "int32x4_t",
        narrowed=f"__builtin_convertvector({narrowed}, {{t}})",
    )


def _narrow(dtype: str) -> str:
    return fill(_NARROW, dtype=dtype, short="u8" if dtype == "uint8" else "i8")


_NARROW_DTYPES = ("uint8", "int8", "uint16", "int16")

FUNCTIONS: dict[tuple[str, str], str] = {
    ("h2f", "float32"): _H2F,
    ("f2h", "float32"): _F2H,
    ("b2f", "float32"): _B2F,
    ("f2b", "float32"): _F2B,
    ("round_float16", "float32"): _ROUND_FLOAT16,
    ("round_bfloat16", "float32"): _ROUND_BFLOAT16,
    ("to_int32", "float32"): fill(_TO_INT32, f="f", apart=_APART),
    ("to_int32", "float64"): fill(_TO_INT32, f="", apart=_APART),
    ("odd", "float64"): _ODD,
    **{("widen", d): _widen(d) for d in _NARROW_DTYPES},
    **{("widen_at", d): _beside_memory(_WIDEN_AT, d) for d in _NARROW_DTYPES},
    **{("narrow_to", d): _beside_memory(_NARROW_TO, d) for d in _NARROW_DTYPES},
    **{(f"narrow_{d}", "int32"): _narrow(d) for d in ("uint8", "int8")},
}
