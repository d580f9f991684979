"""Denormal numbers in C: a processor that can takes them for zeros while a run goes on, since they cost it a hundred cycles each.

The mode is the thread's own: each thread that takes part in a run switches it, and restores what was set before.

Registers and bits: x86 MXCSR, FTZ (15) and DAZ (6), Intel SDM 1, 10.2.3; AArch64 FPCR.FZ (24) and Arm FPSCR.FZ (24), Arm ARM.
Processors without such a mode, and those that compute in software, take denormal numbers as they are.
"""

from __future__ import annotations

BEGIN_REGION, END_REGION = "irt_begin_region();", "irt_end_region();"
"""Statements around a parallel region of a kernel."""

BEGIN_THREAD, END_THREAD = "irt_begin_thread();", "irt_end_thread();"
"""Statements around the work of each thread."""
