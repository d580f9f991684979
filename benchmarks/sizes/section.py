"""The table of bytes, as a section of docs/compare.md, which each of two commands writes a part of."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

OPTS = ("size", "balanced", "speed")
PEER = "onnxruntime"
HEADING = "## Bytes"

_TEXT = """Builds of the same ONNX files with each value of `--opt`, one thread. "On disk" is the library and its weights. "Memory" is the most
that a process had that loads a build and runs it, Python and numpy included; that of ONNX Runtime loads the file and runs it. Mapped pages of
the weights count, which processes share. "Build" is the memory of the process that builds, without the C compiler's.
"""
_TIMES = """"First" is the time from loading to the first result. Other times are the best of runs that took turns.
"""


def section(results: Mapping[str, Mapping[str, Any]], made_by: tuple[str, str]) -> str:
    """The section: `results` has, by title, `onnx_bytes`, and for each value of `--opt` and for the peer `bytes`, `build_memory`, `memory`,
    `first_seconds` and `best`, as far as they have these. `made_by`: the command, and the machine."""
    timed = all("best" in n[o] for n in results.values() for o in OPTS)
    head = ["network", "ONNX file, MB", "on disk, MB: size", "balanced", "speed", "balanced / ONNX"]
    head += ["memory, MB: size", "balanced", "speed", "ONNX Runtime", "build, MB: balanced"]
    head += (
        ["first, s: size", "balanced", "speed", "ms: size", "balanced", "speed", "balanced / speed"] if timed else []
    )
    rows = [head, ["---"] * len(head), *(_row(title, n, timed) for title, n in results.items())]
    if timed:
        ratios = [n["balanced"]["best"] / n["speed"]["best"] for n in results.values()]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        rows.append(["geometric mean", *[""] * (len(head) - 2), f"{mean:.2f}"])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    text = _TEXT + (_TIMES if timed else "")
    return f"{HEADING}\n\n`{made_by[0]}` wrote this section: {made_by[1]}.\n\n{text}\n{table}\n"


def _row(title: str, n: Mapping[str, Any], timed: bool) -> list[str]:
    row = [title, _mb(n["onnx_bytes"]), *(_mb(n[o]["bytes"]) for o in OPTS)]
    row.append(f"{n['balanced']['bytes'] / n['onnx_bytes']:.2f}")
    row += [_mb(n[o]["memory"], 0) for o in (*OPTS, PEER)]
    row.append(_mb(n["balanced"]["build_memory"], 0))
    if timed:
        row += [f"{n[o]['first_seconds']:.3f}" for o in OPTS]
        row += [f"{n[o]['best'] * 1e3:.3g}" for o in OPTS]
        row.append(f"{n['balanced']['best'] / n['speed']['best']:.2f}")
    return row


def _mb(size: float, digits: int = 1) -> str:
    return f"{size / 1e6:.{digits}f}"


def section_of(page: str) -> str:
    """The section in a page; empty if it has none."""
    part = _pattern().search(page)
    return part[0] if part is not None else ""


def with_section(page: str, text: str) -> str:
    """The page with this section in place of the one that it has; behind all others if it has none."""
    if not text:
        return page
    if section_of(page):
        return _pattern().sub(lambda m: f"{text.rstrip()}\n" + ("\n" if m[0].endswith("\n\n") else ""), page)
    return f"{page.rstrip()}\n\n{text.rstrip()}\n"


def _pattern() -> re.Pattern[str]:
    return re.compile(rf"^{HEADING}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
