"""Records when passes, stages and other parts of a build began and ended, as a trace of Chrome."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...ir import Module
from ..core.context import PassInfo, PassInstrument
from . import register_instrument

_OTHER_THREADS = "compiler"
"""The kind of parts that run beside the others."""


class Part(NamedTuple):
    """A part of a build: its kind, its name, and the times of `time.perf_counter` when it began and ended."""

    kind: str
    name: str
    begin: float
    end: float


@register_instrument("TimeTrace")
@dataclass
class TimeTrace(PassInstrument):
    """Records when passes and stages began and ended; `record` adds other parts.

    `to_json` gives complete events of the trace format that chrome://tracing, https://ui.perfetto.dev and speedscope read: times in
    microseconds from the beginning, nested parts within each other, compilers that run at the same time on tracks of their own, and
    the sums by name as `Total NAME` behind them, as in clang's `-ftime-trace`.
    """

    parts: list[Part] = field(default_factory=list, init=False)
    _open: list[float] = field(default_factory=list, init=False)
    _start: float = field(default_factory=time.perf_counter, init=False)
    _lock: Any = field(default_factory=threading.Lock, init=False)

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        self._open.append(time.perf_counter())

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        self.record("pass", info.name, self._open.pop(), time.perf_counter())

    def run_before_stage(self, program: Any, stage: str) -> None:
        self._open.append(time.perf_counter())

    def run_after_stage(self, program: Any, stage: str) -> None:
        if self._open:  # lowering makes a program: no stage begins before it
            self.record("stage", stage, self._open.pop(), time.perf_counter())

    def record(self, kind: str, name: str, begin: float, end: float) -> None:
        """Adds a part; any thread may do so."""
        with self._lock:
            self.parts.append(Part(kind, name, begin, end))

    def to_json(self) -> str:
        """The trace."""
        events: list[dict[str, Any]] = [
            {"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "irtool"}},
            {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "irtool"}},
        ]
        for track, part in self._on_tracks():
            begin = round((part.begin - self._start) * 1e6, 1)
            events.append(_complete(part.kind, part.name, begin, part.end - part.begin, track))
        totals: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        for part in self.parts:
            totals[part.kind, part.name].append(part.end - part.begin)
        largest = sorted(totals.items(), key=lambda item: -sum(item[1]))
        for n, ((kind, name), seconds) in enumerate(largest):
            about = {"count": len(seconds), "avg ms": round(1e3 * sum(seconds) / len(seconds), 3)}
            events.append({**_complete(kind, f"Total {name}", 0, sum(seconds), 1000 + n), "args": about})
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=1) + "\n"

    def _on_tracks(self) -> Iterator[tuple[int, Part]]:
        """The parts by their beginning, each with its track: 1, or for compilers the first one that is free."""
        ends: list[float] = []
        for part in sorted(self.parts, key=lambda p: (p.begin, -p.end)):
            if part.kind != _OTHER_THREADS:
                yield 1, part
                continue
            track = next((n for n, end in enumerate(ends) if end <= part.begin), len(ends))
            ends[track : track + 1] = [part.end]
            yield track + 2, part


def _complete(kind: str, name: str, begin: float, seconds: float, track: int) -> dict[str, Any]:
    """A complete event of the trace format, which begins at `begin` microseconds."""
    return {"name": name, "cat": kind, "ph": "X", "ts": begin, "dur": round(1e6 * seconds, 1), "pid": 1, "tid": track}
