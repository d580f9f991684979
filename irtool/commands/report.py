"""The build report as text."""

from __future__ import annotations

from typing import Any


def summarize(report: dict[str, Any]) -> str:
    """Kernels, memory and weights of a build, one line each."""
    lines = [f"kernels: {len(report.get('kernels', ()))}"]
    for k in report.get("kernels", ()):
        macs = f"  {k['macs'] / 1e6:10.2f} MMAC" if k.get("macs") else ""
        lines.append(f"  {k['name']:72s} {k.get('strategy', ''):24s}{macs}")
    lines.append(f"arena: {report.get('arena_bytes', 0)} bytes (lower bound {report.get('arena_lower_bound', '?')})")
    lines.append(f"weights: {report.get('weight_bytes', 0)} bytes")
    return "\n".join(lines)
