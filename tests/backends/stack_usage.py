"""The stack that compiled C takes, as gcc measures it: the frames along the deepest chain of calls."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(?:\\n(\d+) bytes \((\w+)[^"]*)?"')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


def deepest_stack(command: Sequence[str], source: Path, entry: str) -> tuple[int, list[tuple[str, int]]]:
    """Bytes of the frames from `entry` to the deepest function that it calls, and these functions with their frames.

    `command` is a gcc with its flags. Functions of libraries count nothing; what is called by an address may be any function whose
    address is taken in the file. Asserts that there is no recursion.
    """
    out = source.with_suffix(".o")
    subprocess.run(
        [*command, "-fcallgraph-info=su", "-c", "-o", str(out), str(source)],
        check=True,
        capture_output=True,
        cwd=source.parent,
    )
    text = out.with_suffix(".ci").read_text()
    frames = {name: int(size or 0) for name, size, _ in _NODE.findall(text)}
    calls: dict[str, set[str]] = {}
    for caller, callee in _EDGE.findall(text):
        calls.setdefault(caller, set()).add(callee)
    calls["__indirect_call"] = {name for name in frames if name.endswith("_task") or "_task." in name}
    regions = {name for name in frames if "._omp_fn" in name}
    for caller, callees in calls.items():
        if any(c.startswith("GOMP_parallel") for c in callees):
            callees |= {r for r in regions if r.split("._omp_fn")[0] == caller}

    depth: dict[str, tuple[int, list[tuple[str, int]]]] = {}
    stack = [entry]
    while stack:
        name = stack[-1]
        waiting = [c for c in calls.get(name, ()) if c not in depth]
        if waiting:
            assert not set(waiting) & set(stack), f"recursion: {waiting}"
            stack += waiting[:1]
            continue
        stack.pop()
        below = max((depth[c] for c in calls.get(name, ())), key=lambda d: d[0], default=(0, []))
        own = frames.get(name, 0)
        depth[name] = own + below[0], [(name, own), *below[1]]
    return depth[entry]
