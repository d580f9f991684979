"""Names of kernels, as TVM gives them: `tvmgen_default_fused_nn_dense_add_nn_relu`."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LONGEST = 80
_MASK = (1 << 64) - 1


def kernel_name(operators: Iterable[str], prefix: str = "tvmgen_default_") -> str:
    """The name of the kernel that does these operators. Longer than 80 characters, it is cut and its hash appended.

    As in TVM, the hash is of the operators' own names (`nn.conv2d`), before they are made an identifier.
    """
    name = "fused" + "".join(f"_{o}" for o in operators)
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}_{murmur(name.encode()):x}_"
    return prefix + re.sub(r"[^A-Za-z0-9_]", "_", name)


def murmur(data: bytes, seed: int = 0xC70F6907) -> int:
    """MurmurHash64A (Austin Appleby), the hash of strings in TVM's C++ library."""
    m = 0xC6A4A7935BD1E995
    h = seed ^ (len(data) * m & _MASK)
    whole = len(data) & ~7
    for offset in range(0, whole, 8):
        k = int.from_bytes(data[offset : offset + 8], "little") * m & _MASK
        k = (k ^ (k >> 47)) * m & _MASK
        h = (h ^ k) * m & _MASK
    if len(data) & 7:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & _MASK
    h = (h ^ (h >> 47)) * m & _MASK
    return h ^ (h >> 47)
