"""The caches of a core: those of this machine from Linux, those of a named processor from its maker's manual."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

from .described import described_machine

_CPU = Path("/sys/devices/system/cpu/cpu0")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}
_LIKELY = {1: (1 << 13, 1 << 20), 2: (1 << 16, 1 << 26)}
"""The smallest and the largest plausible cache of each level: virtual machines may report invented sizes."""

_SECOND = {
    256: ("haswell", "broadwell", "skylake"),
    512: ("znver1", "znver2", "znver3", "icelake-client"),
    1024: ("znver4", "znver5", "skylake-avx512", "cascadelake", "cooperlake"),
    1280: ("icelake-server", "tigerlake", "alderlake"),
    2048: ("sapphirerapids", "emeraldrapids", "graniterapids"),
}
"""Processors, by their names in gcc and clang, by KiB of a core's L2 cache. Arm's designs are not here: the maker of a chip
chooses its caches."""

_FIRST = {48: ("icelake-client", "icelake-server", "tigerlake", "alderlake", *_SECOND[2048], "znver5")}
"""The same for L1 data caches; others have the usual 32 KiB."""


def cache_sizes(mcpu: str) -> dict[str, int]:
    """`l1_cache_bytes` and `l2_cache_bytes` of a processor, as far as known. `native` is this machine, or the one that the
    environment describes."""
    if mcpu == "native":
        described = described_machine()
        return described.caches if described is not None else dict(_here(_CPU))
    named = (("l1_cache_bytes", _FIRST), ("l2_cache_bytes", _SECOND))
    return {field: kib << 10 for field, table in named for kib, names in table.items() if mcpu in names}


@cache
def _here(cpu: Path) -> tuple[tuple[str, int], ...]:
    """The sizes of caches in a core's folder of Linux's sysfs; otherwise those of the C library."""
    known = {level: _of_sysfs(cpu, level) or _of_library(level) for level in (1, 2)}
    return tuple((f"l{n}_cache_bytes", size) for n, size in known.items() if _LIKELY[n][0] <= size <= _LIKELY[n][1])


def _of_sysfs(cpu: Path, level: int) -> int:
    """A core's share of its cache of a level, in bytes; 0 if unknown."""
    for folder in sorted(cpu.glob("cache/index*")):
        with suppress(OSError, ValueError):
            size = re.fullmatch(r"(\d+)([KM]?)", _line(folder / "size"))
            if size and int(_line(folder / "level")) == level and _line(folder / "type") in ("Data", "Unified"):
                cores = max(1, _count(folder / "shared_cpu_list") // _count(cpu / "topology" / "thread_siblings_list"))
                return int(size[1]) * _UNITS[size[2]] // cores
    return 0


def _count(path: Path) -> int:
    """The number of processors in a list such as `0-3,8`; 1 for an unreadable list."""
    with suppress(OSError, ValueError):
        ends = [part.split("-") for part in _line(path).split(",")]
        return sum(int(e[-1]) - int(e[0]) + 1 for e in ends)
    return 1


def _line(path: Path) -> str:
    return path.read_text(encoding="ascii", errors="replace").strip()


def _of_library(level: int) -> int:
    with suppress(AttributeError, OSError, ValueError):  # no such function, or no such name, outside of glibc
        return max(0, os.sysconf({1: "SC_LEVEL1_DCACHE_SIZE", 2: "SC_LEVEL2_CACHE_SIZE"}[level]))
    return 0
