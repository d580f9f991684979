"""Constants whose values gcc must not see, because it would copy them wrongly.

gcc 12 builds a wide constant by a broadcast where the 64-bit words that it keeps of it are equal. It does not keep the last
words if they only repeat the sign of the one before, so {1, 1, 1, 0} in 256 bits is taken for four ones
(`ix86_convert_const_wide_int_to_broadcast`; seen with AVX-512 from -O2 on). Such constants come about wherever a
copy of known data is expanded in place: a `memcpy`, or a loop that gcc makes one of.
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
    """A macro of the constant's own name, which is defined before: its place, through a register that gcc knows nothing of."""
    return f"#define {name} ((const {stored_type(c.dtype)} *)irt_opaque({name}))"


def is_copied_wrongly(data: np.ndarray) -> bool:
    """Whether some part of the data is two equal 64-bit words and one that is their sign alone, but not equal to them.

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
