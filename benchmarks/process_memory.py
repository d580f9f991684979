"""Memory of this process, as Linux counts it."""

from __future__ import annotations

import resource
from pathlib import Path


def resident_memory() -> int:
    """Resident memory of this program at this moment, in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * resource.getpagesize()


def peak_memory() -> int:
    """Largest resident memory of this program, in bytes. `ru_maxrss` would be that of the process that started it, if that had more:
    what a process had before it began another program counts there."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
