"""What `build --explain` prints: the schedule of every stage, as a text that `build --schedule` reads again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def explain(kernels: Iterable[Mapping[str, Any]]) -> str:
    """The stages of the report's kernels with the strategy, the reason and the primitives of each.

    A stage whose nest is made of more than the primitives that a schedule by hand may call stands in comments.
    """
    return "".join(f"{_stage(k, s)}\n" for k in kernels for s in k["stages"])


def _stage(kernel: Mapping[str, Any], stage: Mapping[str, Any]) -> str:
    from ..diagnostics import UsageError
    from ..schedule.script import read_script

    name = kernel["name"] if len(kernel["stages"]) == 1 else f"{kernel['name']} stage {stage['number']}"
    lines = [f"{name}:  # {stage['strategy']} — {stage['reason']}", *(f"  {line}" for line in stage["primitives"])]
    try:
        read_script("\n".join(lines))
        is_whole = bool(stage["primitives"])
    except UsageError:
        is_whole = False
    return "\n".join(lines if is_whole else [f"# {line}" for line in lines])
