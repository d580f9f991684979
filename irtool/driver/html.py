"""A report as tables in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

_MOST = 50
"""Kernels that are listed."""


def to_html(name: str, report: dict[str, Any]) -> str:
    """Inputs and outputs of the first entry, and the kernels with most products first."""
    tensors = [
        (kind, t["name"], t["dtype"], " x ".join(map(str, t["shape"])) or "scalar", f"{t['bytes']:,}")
        for kind in ("inputs", "outputs")
        for t in report.get(kind, [])
    ]
    kernels = sorted(report.get("kernels", []), key=lambda k: -k["macs"] * k["calls"])
    rows = [(" ".join(k["operators"]), k["strategy"], k["calls"], f"{k['macs']:,}") for k in kernels[:_MOST]]
    left = (
        f"<p>… {len(kernels) - _MOST} more kernels: <code>.report</code> has them</p>" if len(kernels) > _MOST else ""
    )
    facts = (
        f"<b>{escape(name)}</b>: {len(kernels)} kernels, arena {report['arena_bytes']:,} bytes, "
        f"weights {report.get('weight_bytes', 0):,} bytes"
    )
    return "".join(
        [
            f"<div><p>{facts}</p>",
            _table(("", "tensor", "dtype", "shape", "bytes"), tensors),
            _table(("kernel", "strategy", "calls", "products a call"), rows) if rows else "",
            f"{left}</div>",
        ]
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [f"<tr>{''.join(f'<th>{escape(h)}</th>' for h in head)}</tr>"]
    lines += [f"<tr>{''.join(f'<td>{escape(str(c))}</td>' for c in row)}</tr>" for row in rows]
    return f"<table>{''.join(lines)}</table>"
