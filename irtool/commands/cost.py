"""The costs of a compiled module: products, calls and memory of its kernels, and a chart of its arena."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_WIDEST = 48
"""Columns of the chart."""


def cost_record(module: Any, target: str | None, entry: str) -> dict[str, Any]:
    """Products, kernels and buffers of the program for that target; nothing is compiled by a C compiler.

    Raises IrError for a module that cannot be built, or whose shapes are not known.
    """
    from ..driver.build import build

    report = build(module, target=target, entry=entry, emit="tir").report
    kernels = [
        {key: k[key] for key in ("name", "operators", "calls", "macs", "workspace_bytes")} for k in report["kernels"]
    ]
    return {
        "macs": report["macs"],
        "weight_bytes": report["weight_bytes"],
        "arena_bytes": report["arena_bytes"],
        "arena_lower_bound": report["arena_lower_bound"],
        "workspace_pools": report["workspace_pools"],
        "stack_bytes": report["stack_bytes"],
        "in_region": report["in_region"],
        "kernels": sorted(kernels, key=lambda k: (-k["macs"] * k["calls"], k["name"])),
        "buffers": report["buffers"],
        **({"lengths": report["lengths"]} if "lengths" in report else {}),
    }


def list_costs(record: Mapping[str, Any]) -> Iterator[str]:
    """The figures, then a table of kernels, the largest number of products first."""
    from .tables import drawer

    yield f"  {record['macs']} multiply-adds, {record['weight_bytes']} bytes of weights as they are stored"
    yield f"  {record['arena_bytes']} bytes of arena, {record['arena_lower_bound']} of them alive at one time"
    yield from (f"  {line}" for line in pool_lines(record))
    yield f"  {record['stack_bytes']} bytes of stack at most"
    if record["in_region"]:
        yield "  behind the arena is a region for the data and the recursion of a run, of --region-size bytes"
    for length in record.get("lengths", ()):
        yield f"  a run decides {length['name']}, from {length['low']} to {length['high']}: sizes are those at the upper bound"
    total = max(record["macs"], 1)
    rows = [
        (
            f"{k['macs'] * k['calls']:12d}",
            f"{100 * k['macs'] * k['calls'] / total:5.1f} %",
            f"{k['calls']:5d}",
            _named(k),
        )
        for k in record["kernels"]
    ]
    head = (f"{'multiply-adds':>12s}", f"{'share':>7s}", f"{'calls':>5s}", "kernel: operators")
    draw = drawer(sys.stdout)
    if draw is not None and rows:
        yield draw([head, *rows])
    else:
        yield from (f"  {'  '.join(row)}" for row in (head, *rows))


def pool_lines(record: Mapping[str, Any]) -> Iterator[str]:
    """A line for each pool of memory."""
    for kind in ("workspace", "constant"):
        for p in record.get(f"{kind}_pools", ()):
            size = "no limit" if p["size_hint_bytes"] is None else f"of {p['size_hint_bytes']}"
            yield f"{kind} pool {p['name']}: {p['bytes']} bytes ({size})"


def _named(kernel: Mapping[str, Any]) -> str:
    return f"{kernel['name']}: {', '.join(kernel['operators']) or 'a copy'}"


def list_memory(record: Mapping[str, Any]) -> Iterator[str]:
    """A chart for each function: a row for each buffer of its arena, in the order of offsets, over the steps of one run."""
    for function in dict.fromkeys(b["function"] for b in record["buffers"]):
        buffers = [b for b in record["buffers"] if b["function"] == function]
        pools = [p["name"] for p in record["workspace_pools"]]
        order = {n: k for k, n in enumerate(pools)}
        buffers.sort(key=lambda b: (order.get(b.get("pool"), 0), b["offset"], b["first_step"], b["name"]))
        steps = 1 + max(b["last_step"] for b in buffers)
        alive = [sum(b["bytes"] for b in buffers if b["first_step"] <= s <= b["last_step"]) for s in range(steps)]
        peak = max(range(steps), key=lambda s: alive[s])
        lengths = [n["name"] for n in record.get("lengths", ())]
        deciding = _lengths_in((b for b in buffers if b["first_step"] <= peak <= b["last_step"]), lengths)
        decided = f", decided by {' and '.join(deciding)}" if deciding else ""
        yield f"  @{function}: {steps} steps, at most {alive[peak]} bytes in use (step {peak}){decided}"
        width = min(steps, _WIDEST)
        in_pools = bool(pools) and all("pool" in b for b in buffers)
        wide = max(map(len, ("pool", *pools)))
        head = f"  {'pool':<{wide}s}" if in_pools else ""
        yield f"{head}  {'offset':>10s}  {'bytes':>10s}  {'steps':<{width}s}  buffer"
        for b in buffers:
            pool = f"  {b['pool']:<{wide}s}" if in_pools else ""
            yield f"{pool}  {b['offset']:10d}  {b['bytes']:10d}  {_bar(b, steps, width)}  {b['name']}{_formula(b)}"
    if not record["buffers"]:
        yield "  no buffers: inputs, outputs and weights are all there is"


def _formula(buffer: Mapping[str, Any]) -> str:
    """The shape of a buffer that has lengths in it: `  float32[seq, 64]`."""
    shape = buffer["shape"]
    return f"  {buffer['dtype']}[{', '.join(map(str, shape))}]" if any(isinstance(d, str) for d in shape) else ""


def _lengths_in(buffers: Iterable[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """The lengths in the shapes of buffers."""
    words = {word for b in buffers for d in b["shape"] if isinstance(d, str) for word in re.findall(r"\w+", d)}
    return [n for n in names if n in words]


def _bar(buffer: Mapping[str, Any], steps: int, width: int) -> str:
    """`#` where the buffer is in use, `.` elsewhere; a column stands for one step, or for several."""
    first = buffer["first_step"] * width // steps
    last = buffer["last_step"] * width // steps
    return "." * first + "#" * (last - first + 1) + "." * (width - 1 - last)
