"""The page of documentation of a table of measurements."""

from __future__ import annotations

from typing import Any

from .table import BAR, NEAR, Stage, share, stages_of

_WORST = 30


def page(table: dict[str, Any]) -> str:
    """The share of right choices, a row for each strategy, and the worst choices."""
    stages = stages_of(table)
    machines = "; ".join(table.get("machines", {})) or "none"
    total, least = sum(s.seconds for s in stages), sum(s.least for s in stages)
    lines = [
        "# Choices by cost",
        "",
        f"`python -m benchmarks.cost FILE… --write` wrote this page: {machines}, one thread.",
        "",
        "Of each stage, a few candidates of every strategy were compiled and run in turns, in float32, by a clock that stands while other programs",
        "run; the shortest time of each counts. Other programs take caches all the same, so wrong choices were measured again. Stages with a",
        "single candidate, or too short for the clock, are left out. A",
        f"choice is right if it takes at most {NEAR - 1:.0%} more than the fastest candidate; the aim is {BAR:.0%}.",
        "",
        f"**{share(stages):.1%}** of {len(stages)} stages of {len({s.network for s in stages})} networks are right. All choices together take "
        f"{total / least if least else 1:.3f} times the time of the fastest candidates.",
        "",
        "| chosen strategy | stages | right | time over the fastest |",
        "|---|---|---|---|",
    ]
    for name in sorted({s.strategy for s in stages}):
        of = [s for s in stages if s.strategy == name]
        over = sum(s.seconds for s in of) / sum(s.least for s in of)
        lines.append(f"| `{name}` | {len(of)} | {share(of):.0%} | {over:.3f} |")
    wrong = sorted((s for s in stages if s.ratio > NEAR), key=lambda s: -s.ratio)
    lines += ["", f"The {min(_WORST, len(wrong))} worst of {len(wrong)} wrong choices:", ""]
    lines += [
        "| ratio | µs | network, kernel | chosen | fastest |",
        "|---|---|---|---|---|",
        *map(_row, wrong[:_WORST]),
    ]
    return "\n".join(lines) + "\n"


def _row(s: Stage) -> str:
    kernel = s.kernel.removeprefix("tvmgen_default_")
    return f"| {s.ratio:.2f} | {s.seconds * 1e6:.1f} | {s.network}, `{kernel}` | {s.chosen} | {s.best} |"
