"""Sixteen contiguous bytes, and the sum of products of two such operands, as C text.

The instruction of Helium, the vectors of Armv8.1-M, is a row of `backends.instructions`. On other processors two dot products of
long words replace it.
"""

from __future__ import annotations

from ...tir.int8_dot import LONG
from ..instructions.listing import choices
from ..instructions.row import SUMS
from .by_instructions import by_instructions
from .templates import fill

LANES = 4
"""Lanes of 32 bits in a vector of sixteen bytes."""

_BYTES = """
#if $condition
#include <arm_mve.h>
typedef uint8x16_t irt_bytes;
IRT_INLINE irt_bytes irt_bytes_at(const int64_t *p) { return vreinterpretq_u8_u32(vldrwq_u32((const uint32_t *)(const void *)p)); }
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


def bytes_at() -> str:
    """The functions that load a value: sixteen bytes, or eight and as many zeros; or sixteen zeros.

    Loads of words reach farther behind a pointer than loads of bytes: 508 bytes, not 127.

    gcc loads operands of later steps early, and spills them for lack of registers: the barrier delays each load until the step
    before ends.
    """
    row, _ = choices(next(iter(SUMS)), LANES)[0]
    return fill(_BYTES, condition=row.condition(LANES))


def sum_of_bytes(name: str) -> str:
    """The definition of the function of that name, which adds the sum of the products to `acc`."""
    dot = dot_of(name)
    plain = f"  return irt_{dot}(irt_{dot}(acc, a.low, b.low), a.high, b.high);"
    body = by_instructions(name, LANES, {}, plain)
    return f"IRT_INLINE int32_t irt_{name}(int32_t acc, irt_bytes a, irt_bytes b) {{\n{body}\n}}"


def dot_of(name: str) -> str:
    """The dot product of long words that replaces a sum on other processors: `dot8_u8s8` for `sum16_u8s8`."""
    return name.replace("sum16", f"dot{LONG}", 1)


def sum_of(dot: str) -> str:
    """The sum that a dot product of long words replaces."""
    return dot.replace(f"dot{LONG}", "sum16", 1)
