"""The kernels of one run on a line of time, as trace events that Perfetto and chrome://tracing read."""

from __future__ import annotations

import json
from typing import Any

from .record import Record


def to_trace(record: Record) -> str:
    """JSON of complete events, one for each step that runs a kernel, in order and one after the other: kernels are measured singly.

    A step of a loop is one event, as long as all its executions; a step that a run does not execute has none.
    """
    events: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": record.subject}},
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "kernels"}},
    ]
    start = 0.0
    for number, times in zip(record.sequence, record.repeats or [1] * len(record.sequence), strict=True):
        k = record.kernels[number]
        took = k.middle * times * 1e6
        if not times:
            continue
        events.append(
            {
                "name": " ".join(k.operators) or k.name,
                "cat": k.strategy,
                "ph": "X",
                "ts": round(start, 3),
                "dur": round(took, 3),
                "pid": 1,
                "tid": 1,
                "args": {"kernel": k.name, "multiply-adds": k.macs, "bytes": k.nbytes, "executions": times},
            }
        )
        start += took
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=1) + "\n"
