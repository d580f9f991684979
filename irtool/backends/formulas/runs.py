"""Sixteen bytes that lie one after the other, and the sum of the products of them, as C text.

Helium, the vectors of Armv8.1-M, has an instruction that adds sixteen products of bytes to a general register, `VMLADAVA`. It takes
numbers of one kind: unsigned ones beside signed ones are shifted by 128, and what that takes from the sum is added again. Elsewhere it
is two dot products of long words.
"""

from __future__ import annotations

from ...tir.words import LONG_DOTS

SUMS = {f"sum16_{name.split('_')[1]}": name for name in LONG_DOTS}
"""The sums by name: the dot product of long words that each is made of."""

_HELIUM = "#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)"

BYTES = (
    _HELIUM
    + """
#include <arm_mve.h>
typedef uint8x16_t irt_bytes;
IRT_INLINE irt_bytes irt_bytes_at(const int64_t *p) { return vldrbq_u8((const uint8_t *)p); }
IRT_INLINE irt_bytes irt_half_at(const int64_t *p) { return vldrbq_z_u8((const uint8_t *)p, 0xff); }
IRT_INLINE irt_bytes irt_no_bytes(void) { return vdupq_n_u8(0); }
#define irt_end_step() __asm__ volatile("" : : : "memory")
#else
typedef struct {
  int64_t low, high;
} irt_bytes;
IRT_INLINE irt_bytes irt_bytes_at(const int64_t *p) {
  irt_bytes v;
  v.low = p[0];
  v.high = p[1];
  return v;
}
IRT_INLINE irt_bytes irt_half_at(const int64_t *p) {
  irt_bytes v;
  v.low = p[0];
  v.high = 0;
  return v;
}
IRT_INLINE irt_bytes irt_no_bytes(void) {
  irt_bytes v;
  v.low = v.high = 0;
  return v;
}
#define irt_end_step() ((void)0)
#endif"""
)
"""What lies at a place: sixteen bytes, or eight and as many zeros; or sixteen zeros. gcc reads what further steps need before it comes
to them, and puts it aside in memory for want of registers: nothing is read before the step in front ends."""

_ON_HELIUM = {
    "sum16_s8s8": "  return vmladavaq_s8(acc, vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b));",
    "sum16_u8u8": "  return (int32_t)vmladavaq_u8((uint32_t)acc, a, b);",
    "sum16_u8s8": "  const int8x16_t moved = vreinterpretq_s8_u8(veorq_u8(a, vdupq_n_u8(0x80))), c = vreinterpretq_s8_u8(b);\n"
    "  return vmladavaq_s8((int32_t)((uint32_t)acc + ((uint32_t)vaddvq_s8(c) << 7)), moved, c);",
}


def sum_of_bytes(name: str) -> str:
    """The definition of the function of that name, which adds the sum of the products to `acc`."""
    dot = SUMS[name]
    return (
        f"IRT_INLINE int32_t irt_{name}(int32_t acc, irt_bytes a, irt_bytes b) {{\n{_HELIUM}\n{_ON_HELIUM[name]}\n#else\n"
        f"  return irt_{dot}(irt_{dot}(acc, a.low, b.low), a.high, b.high);\n#endif\n}}"
    )
