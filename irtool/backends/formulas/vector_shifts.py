"""Shifts whose lanes differ, and products of 32 bits to 64, as C text (see `vector_math` for the placeholders).

`shl_any` and `shr_any` take any number of bits, like the scalar functions `irt_shl` and `irt_shr`: a shift by the width or more
leaves 0, or the sign. `mul_low` multiplies the lower halves of 64 bits, with their sign; `extend` sign-extends them to 64 bits. `mul_high` gives
the upper halves of products of 32 bits.
"""

from __future__ import annotations

from ...tir import dtypes
from .templates import fill

_SHL = "IRT_INLINE {t} irt_vshl_{n}({t} a, {t} b) {{ return ({t})(($u)a << ($u)b); }}"
_SHR = "IRT_INLINE {t} irt_vshr_{n}({t} a, {t} b) {{ return a >> b; }}"
# Before AVX-512, x86 shifts 64 bits without their sign only.
_SHR_WIDE = """IRT_INLINE {t} irt_vshr_{n}({t} a, {t} b) {{
#if defined(__SSE2__) && !defined(__AVX512VL__)
  const $u sign = (UINT64_C(0x8000000000000000) - ($u){{0}}) >> ($u)b;
  return ({t})(((($u)a >> ($u)b) ^ sign) - sign);
#else
  return a >> b;
#endif
}}"""
_SHL_ANY = """IRT_INLINE {t} irt_vshl_any_{n}({t} a, {t} b) {{
  const {i} fits = ({i})(($u)b <= $most);
  return ({t})(($u)irt_vshl_{n}(a, ({t})(fits & ({i})b)) & ($u)fits);
}}"""
_SHR_ANY = """IRT_INLINE {t} irt_vshr_any_{n}({t} a, {t} b) {{
  const {i} fits = ({i})(($u)b <= $most);
  return $kept;
}}"""
_SIGNED = "irt_vshr_{n}(a, ({t})((fits & ({i})b) | (~fits & $most)))"
_UNSIGNED = "irt_vshr_{n}(a, ({t})(fits & ({i})b)) & ({t})fits"
_MUL_LOW = """IRT_INLINE {t} irt_vmul_low_{n}({t} a, {t} b) {{
#if {lanes} == 8 && defined(__AVX512F__) && !defined(__clang__)
  typedef int half __attribute__((vector_size(64)));
  typedef long long whole __attribute__((vector_size(64)));
  return ({t})__builtin_ia32_pmuldq512_mask((half)a, (half)b, (whole){{0}}, 0xff);
#elif {lanes} == 4 && defined(__AVX2__) && !defined(__clang__)
  typedef int half __attribute__((vector_size(32)));
  return ({t})__builtin_ia32_pmuldq256((half)a, (half)b);
#elif {lanes} == 2 && defined(__SSE4_1__) && !defined(__clang__)
  typedef int half __attribute__((vector_size(16)));
  return ({t})__builtin_ia32_pmuldq128((half)a, (half)b);
#elif {lanes} == 2 && defined(__aarch64__) && !defined(__clang__)
  typedef int32_t half __attribute__((vector_size(8)));
  const half x = __builtin_convertvector(a, half), y = __builtin_convertvector(b, half);
  {t} z;
  __asm__("smull %0.2d, %1.2s, %2.2s" : "=w"(z) : "w"(x), "w"(y));
  return z;
#else
  return irt_vextend_{n}(a) * irt_vextend_{n}(b);
#endif
}}"""
# Helium has an instruction for the high halves, and gcc no name for them.
_MUL_HIGH = """IRT_INLINE {t} irt_vmul_high_{n}({t} a, {t} b) {{
  {t} z;
#if {lanes} == 4 && defined(__ARM_FEATURE_MVE) && defined(__GNUC__)
  __asm__("vmulh.s32 %q0, %q1, %q2" : "=w"(z) : "w"(a), "w"(b));
#else
  int32_t k;
  for (k = 0; k < {lanes}; ++k) z[k] = (int32_t)(((int64_t)a[k] * b[k]) >> 32);
#endif
  return z;
}}"""
_ADD_SCALED = """#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__)
#include <arm_mve.h>
#endif
IRT_INLINE {t} irt_vadd_scaled_{n}({t} a, {t} b, {t} every) {{
#if {lanes} == 4 && defined(__ARM_FEATURE_MVE) && defined(__GNUC__)
  return ({t})vmlaq_n_s32((int32x4_t)a, (int32x4_t)b, every[0]);
#else
  return ({t})(($u)a + ($u)b * ($u)every);
#endif
}}"""
_EXTEND = "IRT_INLINE {t} irt_vextend_{n}({t} a) {{ return irt_vshr_{n}(({t})(($u)a << 32), 32 - ({t}){{0}}); }}"

_DTYPES = ("int32", "int64", "uint32", "uint64")


def _texts(dtype: str) -> dict[str, str]:
    unsigned = dtype if dtype.startswith("u") else f"u{dtype}"
    values = {
        "u": f"irt_{unsigned.replace('uint', 'u')}x{{lanes}}",
        "most": str(dtypes.bits(dtype) - 1),
    }
    right = _SHR_WIDE if dtype == "int64" else _SHR
    body = fill(_UNSIGNED if dtype == unsigned else _SIGNED, **values)
    texts = {"shl": _SHL, "shr": right, "shl_any": _SHL_ANY, "shr_any": _SHR_ANY}
    if dtype == "int64":
        texts |= {"extend": _EXTEND, "mul_low": _MUL_LOW}
    if dtype == "int32":
        texts |= {"mul_high": _MUL_HIGH, "add_scaled": _ADD_SCALED}
    return {name: fill(text, kept=body, **values) for name, text in texts.items()}


FUNCTIONS: dict[tuple[str, str], str] = {(name, d): text for d in _DTYPES for name, text in _texts(d).items()}
