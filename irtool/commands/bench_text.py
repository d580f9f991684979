"""Records of `irtool bench` as text: tables with bars."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..visible import visible
from .tables import is_terminal, show_table

if TYPE_CHECKING:
    from ..benchmark.compare import Change
    from ..benchmark.record import KernelTimes, Record, Times

_NODES = 3
"""Names of nodes that the row of a kernel shows."""

_BAR = 12
"""Characters of a bar for all of the time."""


def show_record(record: Record, stream: Any) -> str:
    """The figures of the network, then those of its kernels."""
    lines = [f"{record.subject} on {record.machine}"]
    if record.peak is not None:
        lines.append(
            f"one core: {record.peak.flops / 1e9:.1f} GFLOP/s of float32 multiply-adds, "
            f"{record.peak.copied / 1e9:.1f} GB/s copied"
        )
    macs = sum(k.macs * k.calls for k in record.kernels)
    if record.whole is not None:
        speed = f", {2e-9 * macs / record.whole.middle:.1f} GFLOP/s" if macs else ""
        lines.append(f"compiled     {_time(record.whole)}{speed}")
    for t in record.by_length:
        named = ", ".join(f"{name}={length}" for name, length in t.lengths.items())
        lines.append(f"  {_time(t)}  at {named}")
    if record.region_used:
        lines.append(f"region       {record.region_used} bytes used at most")
    if record.interpreter is not None:
        lines.append(f"interpreter  {_time(record.interpreter)}")
    if record.kernels:
        lines += ["", _kernel_table(record, stream)]
    if record.skipped:
        lines.append(f"{record.skipped} further kernels have no loops to time by themselves")
    return "\n".join(lines)


def _time(t: Times) -> str:
    return f"{_ms(t.middle)} ms" + (f" ± {100 * t.noise:.1f} %" if len(t.rounds) > 1 else "")


def _ms(seconds: float) -> str:
    """Milliseconds with three digits behind the point, or as many as show a short time."""
    return f"{1e3 * seconds:10.3f}" if seconds >= 1e-4 else f"{1e3 * seconds:10.5f}"


def _kernel_table(record: Record, stream: Any) -> str:
    total = sum(k.whole for k in record.kernels) or 1.0
    head = ("ms", "share", "", "calls", "GFLOP/s", "of peak", "GB/s", "kernel")
    rows = [head, *(_row(record, k, total, stream) for k in record.kernels)]
    widths = [max(len(r[n]) for r in rows) for n in range(len(head) - 1)]
    return show_table(rows, widths, stream=stream)


def _row(record: Record, k: KernelTimes, total: float, stream: Any) -> Sequence[str]:
    flops = 2 * k.macs / k.middle if k.middle else 0.0
    peak = f"{100 * flops / record.peak.flops:.0f} %" if record.peak is not None and k.macs else ""
    return (
        _ms(k.whole),
        f"{100 * k.whole / total:5.1f} %",
        _bar(k.whole / total, stream),
        f"{k.calls:d}",
        f"{flops / 1e9:.1f}" if k.macs else "",
        peak,
        f"{k.nbytes / k.middle / 1e9:.1f}" if k.middle else "",
        f"{' '.join(k.operators) or k.name} -> {k.result} ({k.strategy}){_nodes(k.nodes)}",
    )


def _nodes(names: Sequence[str]) -> str:
    """The first nodes of the model that a kernel computes, and how many there are besides."""
    more = f", … {len(names) - _NODES} more" if len(names) > _NODES else ""
    return visible(f" {', '.join(names[:_NODES])}{more}") if names else ""


def _bar(share: float, stream: Any) -> str:
    """So much of a bar; in ASCII where the output can hold nothing else."""
    eighths = round(8 * _BAR * min(share, 1.0))
    encoding = getattr(stream, "encoding", None) or "ascii"
    if not is_terminal(stream) or not encoding.lower().startswith("utf"):
        return "#" * round(eighths / 8)
    whole, part = divmod(eighths, 8)
    return "█" * whole + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[part]


def show_changes(changes: Sequence[Change]) -> str:
    """A line for each time that both records have."""
    return show_table(
        [("", "before ms", "now ms", "ratio", "noise", "what"), *_changes(changes)],
        (7, 10, 10, 6, 6),
        stream=sys.stdout,
    )


def _changes(changes: Sequence[Change]) -> Iterator[Sequence[str]]:
    for c in changes:
        yield (
            c.verdict,
            _ms(c.before),
            _ms(c.after),
            f"{c.ratio:.3f}",
            f"{100 * c.noise:.1f} %",
            c.what,
        )
