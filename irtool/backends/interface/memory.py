"""The workspace of a compiled program: how large it is, and how it lies in memory."""

from __future__ import annotations

from ...tir.program import Program

ALIGNMENT = 64
"""Bytes: of the workspace's beginning, and of each weight in a weights file."""

STATIC_LIMIT = 1 << 30
"""Bytes up to which memory is static: processors reach static data within 2 GiB of their code only."""

_STACK_BYTES = 1 << 18


def arena_bytes(program: Program, stack_frames: int | None = None) -> int:
    """Workspace of one run of any entry; recursive functions have room for that many frames (see `write_program`)."""
    own = max(program.functions[n].stack_bytes for n in program.entries or [program.entry])
    recursive = [f.frame_bytes for f in program.functions.values() if f.recursive]
    if not recursive:
        return own
    frame = max(recursive)
    return own + frame * (max(64, _STACK_BYTES // frame) if stack_frames is None else stack_frames)
