"""`irtool bench --board`: the instructions of a network and of its kernels, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .tables import show_table


def list_counts(record: Mapping[str, Any]) -> Iterator[str]:
    """The instructions of a run, then a table of kernels, the largest first."""
    total, macs = record["instructions"], record["macs"]
    each = f", {total / macs:.2f} for each of {macs} multiply-adds" if macs else ""
    yield f"{record['board']}: {total} instructions in a run{each}"
    rows = [
        (f"{'instructions':>12s}", f"{'share':>7s}", f"{'calls':>5s}", f"{'per product':>11s}", "kernel: operators")
    ]
    for k in record["kernels"]:
        product = f"{k['instructions'] / k['macs']:11.2f}" if k["macs"] else f"{'':11s}"
        share = f"{100 * k['instructions'] / max(1, total):5.1f} %"
        name = f"{k['name']}: {', '.join(k['operators'])}"
        rows.append((f"{k['instructions']:12d}", share, f"{k['calls']:5d}", product, name))
    rest = total - sum(k["instructions"] for k in record["kernels"])
    rows.append((f"{max(0, rest):12d}", f"{100 * max(0, rest) / max(1, total):5.1f} %", "", "", "calls of kernels"))
    yield show_table(rows, (12, 7, 5, 11))
