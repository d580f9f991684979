"""The name and the numbers of this machine's processor."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from pathlib import Path

from .described import described_machine

_CPUINFO = Path("/proc/cpuinfo")
_NAMES = re.compile(r"^(?:model name|Model|cpu model|uarch)\s*:\s*(\S.*)$", re.MULTILINE)
_NUMBERS = re.compile(r"^(vendor_id|cpu family|model)\s*:\s*(\S.*)$", re.MULTILINE)


def processor_name() -> str:
    """The processor's name by its maker, from Linux; otherwise Python's, the architecture at least; for a described machine, its
    description."""
    described = described_machine()
    if described is not None:
        return described.name
    with suppress(OSError):
        match = _NAMES.search(_CPUINFO.read_text(errors="replace"))
        if match is not None:
            return " ".join(match[1].split())
    return platform.processor() or platform.machine()


def processor_numbers() -> dict[str, str]:
    """Vendor, family and model from Linux for x86 processors; empty elsewhere, and for a described machine."""
    if described_machine() is not None:
        return {}
    with suppress(OSError):
        first = _CPUINFO.read_text(errors="replace").split("\n\n")[0]
        return dict(_NUMBERS.findall(first))
    return {}


def processor_count() -> int:
    """The number of processors that this program may use, or that the described machine has."""
    described = described_machine()
    if described is not None:
        return described.cores
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count() -> int:
    """The default number of OpenMP's threads on this machine."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if first.isdigit() and int(first):
        return int(first)
    return processor_count()
