"""The build report as text."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from .cost import pool_lines
from .tables import drawer


def summarize(report: dict[str, Any]) -> str:
    """Kernels, memory and weights of a build, one line each."""
    kernels = report.get("kernels", ())
    lines = [f"kernels: {len(kernels)}"]
    draw = drawer(sys.stdout)
    if draw is not None and kernels:
        rows = [
            (k["name"], f"{k['macs'] / 1e6:10.2f}" if k.get("macs") else "", k.get("strategy", "")) for k in kernels
        ]
        lines.append(draw([("kernel", f"{'MMAC':>10s}", "strategy"), *rows]))
    else:
        for k in kernels:
            macs = f"  {k['macs'] / 1e6:10.2f} MMAC" if k.get("macs") else ""
            lines.append(f"  {k['name']:72s} {k.get('strategy', ''):24s}{macs}")
    lines.append(f"arena: {report.get('arena_bytes', 0)} bytes (lower bound {report.get('arena_lower_bound', '?')})")
    lines += pool_lines(report)
    if "stack_bytes" in report:
        lines.append(f"stack: {report['stack_bytes']} bytes at most")
    lines.append(f"weights: {weight_sizes(report)}")
    return "\n".join(lines)


def weight_sizes(report: Mapping[str, Any]) -> str:
    """The bytes of weights as they are stored, and those that runs read, if these are others."""
    read = report.get("weight_bytes", 0)
    stored = report.get("stored_weight_bytes", read)
    return f"{stored} bytes" if stored == read else f"{stored} bytes ({read} in memory)"
