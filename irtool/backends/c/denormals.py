"""Denormal numbers in C: processors with such a mode treat them as zeros during a run, since each costs a hundred cycles.

The mode belongs to a thread: each thread of a run switches it, and restores the previous mode.

Registers and bits: x86 MXCSR, FTZ (15) and DAZ (6), Intel SDM 1, 10.2.3; AArch64 FPCR.FZ (24) and Arm FPSCR.FZ (24), Arm ARM.
Processors without such a mode, and those that compute in software, compute with denormal numbers.
"""

from __future__ import annotations

BEGIN_REGION, END_REGION = "irt_begin_region();", "irt_end_region();"
"""Statements around a parallel region of a kernel."""

BEGIN_THREAD, END_THREAD = "irt_begin_thread();", "irt_end_thread();"
"""Statements around the work of each thread."""
