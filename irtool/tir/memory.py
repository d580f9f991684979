"""Memory constants common to all processors that programs are made for."""

from __future__ import annotations

CACHE_LINE = 64
"""Bytes of a line of the caches. Where lines are shorter, what begins at a multiple of this begins at one of theirs."""

LAST_CACHE = 16 << 20
"""Bytes of a tensor that some cache may keep until they are read again."""

KERNEL_SCRATCH = 1 << 20
"""Bytes of scratch memory that a thread has for itself in a kernel, at most. The stack keeps a part of them: see `schedule.graph.bound_stack`."""
