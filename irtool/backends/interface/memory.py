"""The workspace of a compiled program: its size and its alignment."""

from __future__ import annotations

from ...tir.program import Program

ALIGNMENT = 64
"""Alignment, in bytes, of the workspace, and of each weight in a weights file."""

STATIC_LIMIT = 1 << 30
"""The most bytes of static memory: processors reach static data within 2 GiB of their code only."""

_RECURSION_BYTES = 1 << 18
"""Bytes for the frames of recursive functions, unless these would be few frames."""


def arena_bytes(program: Program, stack_frames: int | None = None) -> int:
    """The workspace of one run of any entry, with that many frames for recursive functions (see `write_program`)."""
    own = max(program.functions[n].chain_bytes for n in program.entry_names)
    return own + _recursion_bytes(program, stack_frames)


def recursion_depth(program: Program, stack_frames: int | None = None) -> int:
    """The most nested calls of recursive functions: the number of the smallest frames that the arena has."""
    frames = [f.frame_bytes for f in program.functions.values() if f.recursive]
    return 1 + _recursion_bytes(program, stack_frames) // min(frames) if frames else 1


def _recursion_bytes(program: Program, stack_frames: int | None) -> int:
    """Bytes of the frames of recursive functions beyond one of each."""
    recursive = [f.frame_bytes for f in program.functions.values() if f.recursive]
    if not recursive:
        return 0
    frame = max(recursive)
    return frame * (max(64, _RECURSION_BYTES // frame) if stack_frames is None else stack_frames)
