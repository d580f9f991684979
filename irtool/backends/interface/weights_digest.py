"""The digest by which a compiled program tells its weights from damaged ones: fast in plain C, and in numpy.

The bytes, a multiple of 64, are cut into chunks of 64 KiB, of which the last may be shorter. In a chunk, eight lanes take one
64-bit word each in turn::

    h = (h ^ word) * 0x9e3779b97f4a7c15;  h ^= h >> 32

Each step maps different states to different ones, and different words as well, so that a change within one word never gets lost
in its lane; any other is missed once in 2^64. The same step then takes the lanes of each chunk, in order, into the result.
Lanes do not wait for each other: a processor does eight multiplications at a time, and reads the weights about as fast as
memory gives them. numpy does all chunks at a time. Words are in the byte order of the machine, as the weights are. It is no
cryptographic digest: it guards against damage, not against malice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LANES = 8
CHUNK = 1 << 16
FACTOR = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_ROW = 8 * LANES
_BATCH = 1024 * CHUNK


def digest(parts: Sequence[Any]) -> int:
    """The digest of buffers one behind the other, together a multiple of 64 bytes, as 64 bits."""
    import numpy as np

    result, size = 0, 0
    pending: list[Any] = []
    for part in parts:
        left = memoryview(part).cast("B")
        while len(left):
            taken, left = left[: _BATCH - size], left[_BATCH - size :]
            pending.append(np.frombuffer(taken, np.uint8))
            size += len(taken)
            if size == _BATCH:
                result, size, pending = _mix(result, pending), 0, []
    return _mix(result, pending)


def _mix(result: int, arrays: Sequence[Any]) -> int:
    """The result after these bytes: whole chunks, and perhaps a last one that is none."""
    import numpy as np

    if not arrays:
        return result
    data = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    whole = data.size // CHUNK * CHUNK
    for part, rows in ((data[:whole], CHUNK // _ROW), (data[whole:], (data.size - whole) // _ROW)):
        if part.size:
            result = _mix_chunks(result, part.reshape(-1, rows, _ROW))
    return result


def _mix_chunks(result: int, chunks: Any) -> int:
    """The result after chunks, an array [chunk, row, byte]."""
    import numpy as np

    words = chunks.view(np.uint64)
    factor, half = np.uint64(FACTOR), np.uint64(32)
    lanes = np.empty((words.shape[0], LANES), np.uint64)
    lanes[:] = np.arange(1, LANES + 1, dtype=np.uint64)
    for row in range(words.shape[1]):
        lanes ^= words[:, row]
        lanes *= factor
        lanes ^= lanes >> half
    for lane in lanes.reshape(-1).tolist():
        result = (result ^ lane) * FACTOR & _MASK
        result ^= result >> 32
    return result


def c_function(name: str) -> str:
    """The same as a C function, `static uint64_t NAME(const unsigned char *bytes, size_t size)`."""
    return f"""\
static uint64_t {name}(const unsigned char *bytes, size_t size) {{
  const uint64_t factor = UINT64_C(0x{FACTOR:x});
  uint64_t result = 0;
  size_t at, chunk, row, k;
  for (at = 0; at < size; at += chunk) {{
    uint64_t lane[{LANES}] = {{{", ".join(map(str, range(1, LANES + 1)))}}};
    chunk = size - at < {CHUNK}u ? size - at : {CHUNK}u;
    for (row = 0; row < chunk; row += {_ROW}u)
      for (k = 0; k < {LANES}u; ++k) {{
        uint64_t word;
        memcpy(&word, bytes + at + row + 8u * k, sizeof word);
        lane[k] = (lane[k] ^ word) * factor;
        lane[k] ^= lane[k] >> 32;
      }}
    for (k = 0; k < {LANES}u; ++k) {{
      result = (result ^ lane[k]) * factor;
      result ^= result >> 32;
    }}
  }}
  return result;
}}
"""
