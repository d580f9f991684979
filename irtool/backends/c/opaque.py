"""Constants whose values are hidden from gcc, which would copy them wrongly.

gcc 12 builds a wide constant by a broadcast if its stored 64-bit words are equal. It does not store the last words if they only
repeat the sign of the one before, so that it takes {1, 1, 1, 0} in 256 bits for four ones
(`ix86_convert_const_wide_int_to_broadcast`; seen with AVX-512 from -O2 on). Such constants arise if a copy of known data is
expanded in place: a `memcpy`, or a loop that gcc turns into one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...tir.program import Slot
from ..c_types import stored_type

if TYPE_CHECKING:
    import numpy as np

_WORD = 8
"""Bytes of the words that gcc compares."""

DEFINITION = """\
/* gcc 12 copies some constants wrongly where it sees their values: those of words that are equal up to a last 0 or -1. */
#ifdef __GNUC__
static inline __attribute__((unused)) const void *irt_opaque(const void *place) {
  __asm__("" : "+r"(place));
  return place;
}
#else
#define irt_opaque(place) (place)
#endif
"""


def hide(c: Slot, name: str) -> str:
    """A macro with the constant's name, which is defined before: its address, through a register whose contents gcc does not
    know."""
    return f"#define {name} ((const {stored_type(c.dtype)} *)irt_opaque({name}))"


def is_copied_wrongly(data: np.ndarray) -> bool:
    """True if some part of the data is two equal 64-bit words and a third one that is their sign alone, and differs from them.

    Any gap between elements may be the beginning of a copy.
    """
    import numpy as np

    raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    for start in range(0, min(_WORD, raw.size), data.itemsize):
        quads = raw[start : start + (raw.size - start) // _WORD * _WORD].view(np.int64)
        first, second, last = quads[:-2], quads[1:-1], quads[2:]
        if np.any((first == second) & (last != second) & (last == second >> 63)):
            return True
    return False
