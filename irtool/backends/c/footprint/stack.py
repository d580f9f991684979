"""The stack of compiled C along the deepest chain of calls, from gcc's graph of calls (`-fcallgraph-info=su`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(?:\\n(\d+) bytes \((\w+)[^"]*)?"')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


def deepest_stack(graph: str, entries: Sequence[str]) -> tuple[int, list[tuple[str, int]], bool]:
    """Bytes of the frames from an entry to the deepest function that it calls, these functions with their frames, and whether
    any function calls one whose frame is not known.

    `graph` has gcc's files of calls. A cycle of calls counts once: generated C has none.
    """
    frames: dict[str, int] = {}
    calls: dict[str, dict[str, None]] = {}
    unknown = False
    for title, size, _ in _NODE.findall(graph):
        if size or title not in frames:
            frames[title] = max(frames.get(title, 0), int(size or 0))
    for caller, callee in _EDGE.findall(graph):
        calls.setdefault(caller, {})[callee] = None
        unknown = unknown or not frames.get(callee)
    depth: dict[str, tuple[int, list[tuple[str, int]]]] = {}
    deepest: tuple[int, list[tuple[str, int]]] = (0, [])
    for entry in entries:
        stack, open_calls = [entry], {entry}
        while stack:
            name = stack[-1]
            waiting = [c for c in calls.get(name, ()) if c not in depth and c not in open_calls]
            if waiting:
                stack.append(waiting[0])
                open_calls.add(waiting[0])
                continue
            stack.pop()
            below = max((depth[c] for c in calls.get(name, ()) if c in depth), key=lambda d: d[0], default=(0, []))
            own = frames.get(name, 0)
            depth[name] = own + below[0], [(name.rpartition(":")[2], own), *below[1]]
        deepest = max(deepest, depth[entry], key=lambda d: d[0])
    return (*deepest, unknown)
