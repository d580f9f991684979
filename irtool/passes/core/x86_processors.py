"""Instruction sets of x86 processors, by LLVM's names for these, grouped as TVM 0.10 groups them (`topi/x86/utils.py`)."""

from __future__ import annotations

from ...ir.target import Target

_DOTS_AND_AVX512 = frozenset(
    ["cascadelake", "icelake-client", "icelake-server", "rocketlake", "tigerlake", "cooperlake", "sapphirerapids"]
)
_AVX512 = _DOTS_AND_AVX512 | frozenset(["skylake-avx512", "skx", "knl", "knm", "x86-64-v4", "cannonlake", "znver4"])
_AVX2 = _AVX512 | frozenset(
    ["haswell", "core-avx2", "broadwell", "skylake", "bdver4", "znver1", "znver2", "znver3", "x86-64-v3", "alderlake"]
)
_SSE42 = _AVX2 | frozenset(
    [
        "sandybridge",
        "corei7-avx",
        "ivybridge",
        "core-avx-i",
        "silvermont",
        "slm",
        "goldmont",
        "goldmont-plus",
        "tremont",
        "nehalem",
        "corei7",
        "westmere",
        "bdver1",
        "bdver2",
        "bdver3",
        "x86-64-v2",
    ]
)


def has_sse42(cpu: str) -> bool:
    """True if the processor of that name has SSE 4.2: multiplication of unsigned by signed bytes, and rounding."""
    return cpu in _SSE42


def has_byte_dots(cpu: str) -> bool:
    """True if the processor of that name sums up four products of bytes at once (VNNI)."""
    return cpu in _DOTS_AND_AVX512 or cpu == "alderlake"


def vector_lanes(target: Target) -> int:
    """Number of float32 that TVM's schedules put into a vector: 16 with AVX-512, 8 with AVX2, else 4; or the option `lanes`."""
    lanes, cpu = target.option("lanes"), target.option("mcpu")
    return int(lanes) if lanes else 16 if cpu in _AVX512 else 8 if cpu in _AVX2 else 4
