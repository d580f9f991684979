"""The workspace of a compiled program: how large it is, and how it lies in memory."""

from __future__ import annotations

from ...tir.program import Program

ALIGNMENT = 64
"""Bytes: of the workspace's beginning, and of each weight in a weights file."""

STATIC_LIMIT = 1 << 30
"""Bytes up to which memory is static: processors reach static data within 2 GiB of their code only."""

_RECURSION_BYTES = 1 << 18
"""Bytes of the frames of recursive functions, unless that would be few frames."""


def arena_bytes(program: Program, stack_frames: int | None = None) -> int:
    """Workspace of one run of any entry; recursive functions have room for that many frames (see `write_program`)."""
    own = max(program.functions[n].chain_bytes for n in program.entry_names)
    return own + _recursion_bytes(program, stack_frames)


def recursion_depth(program: Program, stack_frames: int | None = None) -> int:
    """How many calls of recursive functions there are at a time at most: as many as the arena has room for frames of the smallest."""
    frames = [f.frame_bytes for f in program.functions.values() if f.recursive]
    return 1 + _recursion_bytes(program, stack_frames) // min(frames) if frames else 1


def _recursion_bytes(program: Program, stack_frames: int | None) -> int:
    """Bytes of the frames that recursive functions have beside one of each."""
    recursive = [f.frame_bytes for f in program.functions.values() if f.recursive]
    if not recursive:
        return 0
    frame = max(recursive)
    return frame * (max(64, _RECURSION_BYTES // frame) if stack_frames is None else stack_frames)
