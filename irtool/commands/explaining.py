"""The output of `build --explain`: the schedule of every stage, as a text that `build --schedule` reads again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def explain(report: Mapping[str, Any], only: re.Pattern[str] | None = None) -> str:
    """The stages of the report's kernels, each with its strategy, the reason and its primitives; of those whose name has a match of `only`.

    A comment before them has the storage of weights, if `--opt` makes a difference; comments behind them have the stages of the schedule
    that left a kernel unchanged because of a length that only the run knows. A stage that stays as it was lowered stands in a comment, and
    so does one that `--schedule` cannot repeat, because its strategy has primitives of its own. Where several strategies competed for a stage, a comment has their estimates in processor cycles.
    """
    kernels = [k for k in report["kernels"] if only is None or only.search(k["name"])]
    lines = [*_weights(report), *(_stage(k, s) for k in kernels for s in k["stages"])]
    if only is not None and report["kernels"] and not kernels:
        lines.append(f"# no kernel's name has a match of {only.pattern!r}")
    lines += [
        f"# {q['stage']} leaves {q['kernel'] or 'all kernels'} unchanged; it depends on a length: {q['question']}"
        for q in report.get("open_questions", ())
    ]
    return "".join(f"{line}\n" for line in lines)


def _weights(report: Mapping[str, Any]) -> list[str]:
    read, opt = report["weight_bytes"], report.get("opt", "balanced")
    stored, plain = report.get("stored_weight_bytes", read), report["plain_weight_bytes"]
    if stored != read:
        return [
            f"# opt={opt}: of weights of {read} bytes, {stored} are stored; those that are transformed are computed when they are loaded"
        ]
    if opt == "size":
        return ["# opt=size: no weights are transformed for speed"]
    return [f"# opt={opt}: weights are stored transformed, {read} bytes in place of {plain}"] if plain != read else []


def _stage(kernel: Mapping[str, Any], stage: Mapping[str, Any]) -> str:
    from ..diagnostics import UsageError
    from ..schedule.scripts.script import read_script

    name = kernel["name"] if len(kernel["stages"]) == 1 else f"{kernel['name']} stage {stage['number']}"
    label = f"{stage['strategy']} — {stage['reason']}"
    calls = [f"  {line}" for line in stage["primitives"]]
    if len(stage["estimates"]) > 1:
        calls.insert(
            0, "  # cycles: " + ", ".join(f"{strategy} {cycles:.3g}" for strategy, cycles in stage["estimates"])
        )
    script = "\n".join([f"{name}:  # {label}", *calls])
    try:
        read_script(script)
        is_whole = bool(stage["primitives"])
    except UsageError:
        is_whole = False
    if is_whole:
        return script
    return "\n".join(line.strip() if line.startswith("  #") else f"# {line}" for line in [f"{name}: {label}", *calls])
