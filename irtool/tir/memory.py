"""What memory is like for every processor that programs are made for."""

from __future__ import annotations

CACHE_LINE = 64
"""Bytes of a line of the caches. Where lines are shorter, what begins at a multiple of this begins at one of theirs."""

LAST_CACHE = 16 << 20
"""Bytes of a tensor that some cache may keep until they are read again."""

KERNEL_STACK = 1 << 20
"""Bytes of what a kernel has on the stack, at most: threads may have as little as two megabytes."""

BUFFER_STACK = 1 << 18
"""Bytes of a single buffer that a primitive puts on the stack, at most."""
