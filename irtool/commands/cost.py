"""The costs of a compiled module: products, calls and memory of its kernels, and a chart of its arena."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_BAR = 16
"""Columns of a bar."""

_SMALL = 50
"""A part with less than one of so many shares of the bytes is small."""

_WIDEST = 48
"""Columns of the chart."""

MEMORIES = {"flash": "flash", "ram": "RAM"}
"""The names of the memories of a footprint."""


def cost_record(module: Any, target: str | None, entry: str, board: str | None = None) -> dict[str, Any]:
    """Products, kernels and buffers of the program for that target. For a board, its compiler shows flash and RAM as well; nothing else is
    compiled by a C compiler.

    Raises IrError for a module that cannot be built, or whose shapes are not known.
    """
    report = _report(module, target, entry, board)
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
        **{key: report[key] for key in ("lengths", "peaks", "arena_formula") if key in report},
        **footprint_record(report),
    }


def _report(module: Any, target: str | None, entry: str, board: str | None) -> Mapping[str, Any]:
    """The report of a build; of one for a board also if the network does not fit."""
    from ..driver.build import build
    from ..driver.footprint import NetworkDoesNotFit

    if board is None:
        return build(module, target=target, entry=entry, emit="tir").report
    try:
        return build(module, target=target, entry=entry, emit="obj", board=board).report
    except NetworkDoesNotFit as error:
        return error.report


def footprint_record(report: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of flash and RAM, each with its bytes and its contents, the limits, and the board; nothing for a build without limits."""
    from ..driver.footprint import flash_rows, ram_rows, total

    if "footprint" not in report:
        return {}
    parts = {"flash": flash_rows(report), "ram": ram_rows(report)}
    return {
        "footprint": {
            kind: {
                "limit": report["footprint"][kind]["limit"],
                "bytes": total(rows),
                "parts": [{"kind": k, "bytes": n, "of": of} for k, n, of in rows],
            }
            for kind, rows in parts.items()
        },
        **({"board": report["board"]["name"]} if "board" in report else {}),
    }


def _share(nbytes: int, limit: int | None) -> str:
    """A size beside its limit."""
    if limit is None:
        return ""
    return f" of {limit} ({100 * nbytes / limit:.2g} %)" if nbytes <= limit else f", {nbytes - limit} more than {limit}"


def list_footprint(record: Mapping[str, Any]) -> Iterator[str]:
    """Tables of flash and RAM, with a bar for the share of each part; nothing for a record without a footprint."""
    from .tables import drawer

    for kind, title in MEMORIES.items():
        if "footprint" not in record:
            return
        about = record["footprint"][kind]
        where = f" of {record['board']}" if "board" in record else ""
        yield f"  {title}{where}: {about['bytes']} bytes{_share(about['bytes'], about['limit'])}"
        parts = _without_small(about["parts"], about["bytes"] // _SMALL)
        largest = max((n for _, n, _ in parts), default=1)
        rows = [
            (f"{n:12d}", f"{'#' * -(-_BAR * n // max(1, largest)):{_BAR}s}", f"{part:<9s}", of) for part, n, of in parts
        ]
        draw = drawer(sys.stdout)
        head = (f"{'bytes':>12s}", f"{'':{_BAR}s}", f"{'part':<9s}", "of")
        if draw is not None:
            yield draw([head, *rows])
        else:
            yield from (f"  {'  '.join(row)}".rstrip() for row in [head, *rows])


def _without_small(parts: Sequence[Mapping[str, Any]], least: int) -> list[tuple[str, int, str]]:
    """Kind, bytes and contents of each part; those with less than `least` bytes of a kind in one row, if there are several."""
    small = {kind: [p for p in parts if p["kind"] == kind and p["bytes"] < least] for kind in ("constants", "code")}
    merged = {kind for kind, few in small.items() if len(few) > 1}
    rows = [(p["kind"], p["bytes"], p["of"]) for p in parts if p["kind"] not in merged or p["bytes"] >= least]
    for kind in sorted(merged):
        behind = max((n for n, row in enumerate(rows) if row[0] == kind), default=-1) + 1
        few = small[kind]
        rows.insert(behind, (kind, sum(p["bytes"] for p in few), f"{len(few)} smaller ones"))
    return rows


def list_costs(record: Mapping[str, Any]) -> Iterator[str]:
    """The figures, then a table of kernels, the largest number of products first."""
    from .tables import drawer

    yield f"  {record['macs']} multiply-adds, {record['weight_bytes']} bytes of weights as they are stored"
    yield _arena(record)
    yield from (f"  {line}" for line in pool_lines(record))
    yield f"  {record['stack_bytes']} bytes of stack at most"
    if record["in_region"]:
        where = "behind the buffers of the first pool with room" if record["workspace_pools"] else "behind the arena"
        yield f"  {where} is a region for the data and the recursion of a run, of --region-size bytes"
    yield from map(_decided, record.get("lengths", ()))
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


def _arena(record: Mapping[str, Any]) -> str:
    alive = f"{record['arena_lower_bound']} of them alive at one time"
    if "arena_formula" in record:
        return f"  {record['arena_formula']} bytes of arena: {record['arena_bytes']} at usual lengths, {alive}"
    return f"  {record['arena_bytes']} bytes of arena, {alive}"


def _decided(length: Mapping[str, Any]) -> str:
    """The line on a length that a run decides."""
    name, values = length["name"], length.get("choices")
    if values:
        return (
            f"  a run decides {name}: {', '.join(map(str, values[:-1]))} or {values[-1]}, each with kernels of its own"
        )
    if "high" not in length:
        return f"  a run decides {name}, from {length['low']} on: sizes are those for {length['usual']}"
    return f"  a run decides {name}, from {length['low']} to {length['high']}: sizes are those at the upper bound"


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
    from ..driver.footprint import busiest_step

    for function in dict.fromkeys(b["function"] for b in record["buffers"]):
        buffers = [b for b in record["buffers"] if b["function"] == function]
        pools = [p["name"] for p in record["workspace_pools"]]
        order = {n: k for k, n in enumerate(pools)}
        buffers.sort(key=lambda b: (order.get(b.get("pool"), 0), b["offset"], b["first_step"], b["name"]))
        steps = 1 + max(b["last_step"] for b in buffers)
        formula = record.get("peaks", {}).get(function)
        if formula is None:
            peak, most = busiest_step(buffers)
            yield f"  @{function}: {steps} steps, at most {most} bytes in use (step {peak})"
        else:
            yield from _peak(function, steps, formula)
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


def _peak(function: str, steps: int, peak: Mapping[str, Any]) -> Iterator[str]:
    """The lines on the most bytes in use of a function whose buffers have lengths in their sizes."""
    decided = f", decided by {' and '.join(peak['lengths'])}" if peak["lengths"] else ""
    yield f"  @{function}: {steps} steps, at most {peak['bytes']} bytes in use (step {peak['step']}){decided}"
    yield f"    for any length: {peak['formula']} bytes, and what alignment to 64 adds"
    share = 100 * peak["buffer_bytes"] // max(1, peak["bytes"])
    shape = ", ".join(map(str, peak["buffer_shape"]))
    yield f"    {share} % of it: {peak['buffer']} [{shape}]"


def _bar(buffer: Mapping[str, Any], steps: int, width: int) -> str:
    """`#` where the buffer is in use, `.` elsewhere; a column stands for one step, or for several."""
    first = buffer["first_step"] * width // steps
    last = buffer["last_step"] * width // steps
    return "." * first + "#" * (last - first + 1) + "." * (width - 1 - last)
