"""The workspace of a compiled program: its size and its alignment."""

from __future__ import annotations

import functools

from ...diagnostics import UsageError
from ...symbolic_int import upper
from ...tir.program import Program
from ...tir.region import HEADER

ALIGNMENT = 64
"""Alignment, in bytes, of the workspace, and of each weight in a weights file."""

STATIC_LIMIT = 1 << 30
"""The most bytes of static memory: processors reach static data within 2 GiB of their code only."""

_REGION_BYTES = 1 << 18
"""Bytes of a region, unless these would be few objects or frames."""

_LARGEST_REGION = 1 << 40
"""A number of bytes that no machine has."""

REGION_SIZE = (
    "bytes of the region for data and recursion; default: 262144, or 64 of the largest object if these are more"
)
"""The meaning of the flag of backends for its size."""

_LEAST_ITEMS = 64
"""The number of the largest objects or frames that a region has room for."""


def arena_bytes(program: Program, region_size: int = 0) -> int:
    """The workspace of one run of any entry: its frame, then its region (see `region_bytes`). A formula if nothing bounds some lengths."""
    return arena_frames(program) + region_bytes(program, region_size)


def arena_frames(program: Program) -> int:
    """The bytes in front of the region of a workspace for any entry."""
    return functools.reduce(upper, (program.functions[n].frame_bytes for n in program.entry_names))


def region_bytes(program: Program, region_size: int = 0) -> int:
    """Bytes of the region of a run: `region_size`, rounded up to the alignment, or if that is 0 as many as most programs need; none if the
    program needs no region."""
    if not program.uses_region:
        return 0
    size = region_size or max(_REGION_BYTES, _LEAST_ITEMS * program.largest_item)
    return HEADER + -(-size // ALIGNMENT) * ALIGNMENT


def check_region_size(value: str) -> None:
    """Raises UsageError for the value of a flag that is neither empty nor a number of bytes."""
    if value and not (value.isdecimal() and 0 < int(value) < _LARGEST_REGION):
        raise UsageError(f"region_size={value!r} is not a number of bytes")
