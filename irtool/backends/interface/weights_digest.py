"""The digest by which a compiled program detects damaged weights: fast in plain C, and in numpy.

The bytes, a multiple of 64, are 64-bit words, which go to 2048 lanes in turn::

    h = (h ^ word) * 0x9e3779b97f4a7c15;  h ^= h >> 32

Each step maps different states to different states, and different words as well, so that a change within one word never gets lost
in its lane; any other is missed once in 2^64. The same step then combines the lanes, in order, to the result. Lanes do not wait
for each other: a processor computes eight multiplications at a time, and reads the weights about as fast as memory delivers them,
with the lanes in its L1 cache. numpy computes a row, a word for each lane, at a time. Words have the byte order of the machine,
like the weights. It is no cryptographic digest: it protects against damage, not against malice.
"""

from __future__ import annotations

from typing import Any

LANES = 2048
FACTOR = 0x9E3779B97F4A7C15
ROW = 8 * LANES
"""Bytes of a word for each lane."""
_MASK = (1 << 64) - 1


class Digest:
    """The digest of consecutive buffers, together a multiple of 64 bytes."""

    def __init__(self) -> None:
        import numpy as np

        self._lanes = np.arange(1, LANES + 1, dtype="uint64")
        self._left = bytearray()
        """The beginning of a row."""

    def add(self, part: Any) -> None:
        """Adds one more buffer."""
        rest = memoryview(part).cast("B")
        if self._left:
            missing = ROW - len(self._left)
            self._left += rest[:missing]
            rest = rest[missing:]
            if len(self._left) < ROW:
                return
            self._mix(self._left)
            self._left = bytearray()
        whole = len(rest) // ROW * ROW
        self._mix(rest[:whole])
        self._left += rest[whole:]

    def value(self) -> int:
        """The digest, of 64 bits; no buffer can be added after it."""
        self._mix(self._left)
        result = 0
        for lane in self._lanes.tolist():
            result = (result ^ lane) * FACTOR & _MASK
            result ^= result >> 32
        return result

    def _mix(self, buffer: Any) -> None:
        """Adds full rows, or a shorter one."""
        import numpy as np

        lanes_of = np.frombuffer(buffer, np.uint64)
        factor, half = np.uint64(FACTOR), np.uint64(32)
        high = np.empty(LANES, np.uint64)
        for begin in range(0, len(lanes_of), LANES):
            row = lanes_of[begin : begin + LANES]
            lanes, shifted = self._lanes[: len(row)], high[: len(row)]
            lanes ^= row
            lanes *= factor
            np.right_shift(lanes, half, out=shifted)
            lanes ^= shifted


def lanes_within(stack_bytes: int) -> int:
    """The number of lanes that are computed at a time in `stack_bytes` of stack: a power of two, eight at least."""
    return min(LANES, 1 << max(8, stack_bytes // 8).bit_length() - 1)


def c_function(name: str, stack_bytes: int = ROW) -> str:
    """The same as a C function, `static uint64_t NAME(const unsigned char *bytes, size_t size)`.

    It computes as many lanes at a time as fit in `stack_bytes`, eight at least: each time, it reads a part of every row.
    """
    lanes = lanes_within(stack_bytes)
    return f"""\
static uint64_t {name}(const unsigned char *bytes, size_t size) {{
  const uint64_t factor = UINT64_C(0x{FACTOR:x});
  uint64_t lane[{lanes}], result = 0;
  size_t first, at, count, k;
  for (first = 0; first < {LANES}u; first += {lanes}u) {{
    for (k = 0; k < {lanes}u; ++k) lane[k] = first + k + 1;
    for (at = 8u * first; at < size; at += {ROW}u) {{
      count = (size - at < {8 * lanes}u ? size - at : {8 * lanes}u) / 8u;
      for (k = 0; k < count; ++k) {{
        uint64_t word;
        memcpy(&word, bytes + at + 8u * k, sizeof word);
        lane[k] = (lane[k] ^ word) * factor;
        lane[k] ^= lane[k] >> 32;
      }}
    }}
    for (k = 0; k < {lanes}u; ++k) {{
      result = (result ^ lane[k]) * factor;
      result ^= result >> 32;
    }}
  }}
  return result;
}}
"""
