"""The page of the operators beside torch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .measure import Row
from .table import FAMILIES

_HEAD = "| operator | arguments | irtool, ms | torch, ms | irtool / torch |"


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of at least one ratio."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def page(rows: Sequence[Row], setting: str) -> str:
    """The page of all measured operators: its summary, the families, a table of each. `setting`: processor, versions and date."""
    compared = [r for r in rows if r.is_compared]
    losses = sorted((r for r in compared if r.ratio > 1), key=lambda r: -r.ratio)
    lines = [
        "# Single operators",
        "",
        f"`python -m benchmarks.operators --write` wrote this page: {setting}.",
        "",
        "Each operator is compiled by itself, with all arguments, weights too, given at run time, and runs beside torch's (eager) in one process, in turns,",
        "with one thread; the fastest run counts. Each result is compared with torch's first: a difference ends the benchmark. Operators of 8 bits may be",
        "one step apart, and of random numbers the distributions are compared. Gradients are those by all arguments, together with the operator's result.",
        "",
        f"{len(compared)} operators: the geometric mean of irtool's time over torch's is {geometric_mean([r.ratio for r in compared]):.2f}. "
        f"{len(losses)} take longer than torch's, {sum(r.ratio > 1.1 for r in losses)} of them by more than a tenth.",
        "",
        "| family | operators | geometric mean | above 1.0 | largest ratio |",
        "| --- | --- | --- | --- | --- |",
        *(_summary(title, [r for r in compared if r.single in family]) for title, family in FAMILIES.items()),
    ]
    for title, family in FAMILIES.items():
        lines += ["", f"## {title}", "", _HEAD, "|" + " --- |" * (_HEAD.count("|") - 1)]
        lines += [_line(r) for r in rows if r.single in family]
    return "\n".join((*lines, ""))


def _summary(title: str, rows: Sequence[Row]) -> str:
    ratios = [r.ratio for r in rows]
    if not ratios:
        return f"| {title} | 0 | none | 0 | none |"
    losses = sum(ratio > 1 for ratio in ratios)
    return f"| {title} | {len(ratios)} | {geometric_mean(ratios):.2f} | {losses} | {max(ratios):.2f} |"


def _line(row: Row) -> str:
    shapes = ", ".join("×".join(map(str, shape)) or "scalar" for shape in row.single.shapes)
    torch, ratio = (f"{1e3 * row.torch:.3f}", f"{row.ratio:.2f}") if row.is_compared else ("none", "none")
    ratio = f"**{ratio}**" if row.is_compared and row.ratio > 1 else ratio
    return f"| {row.single.name} | {shapes} | {1e3 * row.compiled:.3f} | {torch} | {ratio} |"
