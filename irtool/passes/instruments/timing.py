"""Times passes: seconds in the pass itself, seconds in type inference, operators before and after."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...diagnostics import UsageError
from ...ir import Call, Function, Module, Op, post_order
from ..core.context import PassContext, PassInfo, PassInstrument
from . import register_instrument


def count_operators(module: Module) -> int:
    """Calls of operators in all Relay functions; a shared call counts once."""
    roots = [f for f in module.functions.values() if isinstance(f, Function)]
    return sum(isinstance(e, Call) and isinstance(e.op, Op) for e in post_order(*roots))


_LEAST = 0.01
"""The share of all time below which a row that changed nothing is not shown by itself."""


_SMALL = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { add(%x, 1f) }\n'
"""A text whose reading loads tables."""


Cells = tuple[str, str, str, str]


def _cells(name: str, seconds: float, infer_seconds: float | None = None, operators: str = "") -> Cells:
    """A row of the table: numbers are aligned already."""
    return name, _milliseconds(seconds), "" if infer_seconds is None else _milliseconds(infer_seconds), operators


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:9.2f}"


@dataclass(eq=False)
class Row:
    """One run of a pass. `depth` is 0 for a pass of the pipeline, more for prerequisites and nested passes."""

    name: str
    depth: int
    seconds: float = 0.0
    infer_seconds: float = 0.0
    operators_before: int = 0
    operators_after: int = 0
    changed: bool = False


@dataclass
class _Open:
    row: Row
    module: Module
    started: float
    inferred: float
    inner: float = 0.0


@register_instrument("Timing")
@dataclass
class Timing(PassInstrument):
    """Times passes: seconds in the pass itself, seconds in type inference, operators before and after.

    There is one `Row` per pass in order of start; `seconds` does not include inference, passes run inside, or what other
    instruments do that are `watch`ed. `stages` are seconds
    by the name of what is no pass. `style` is `table` or `json`: how it reports.
    """

    style: str = "table"
    draw: Callable[[Sequence[Cells]], str] | None = field(default=None, init=False)
    """What draws the table where plain text will not do."""
    stages: dict[str, float] = field(default_factory=dict, init=False)
    rows: list[Row] = field(default_factory=list, init=False)
    _open: list[_Open] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.style not in ("table", "json"):
            raise UsageError(f"style is table or json, not {self.style!r}")

    @staticmethod
    def import_all() -> None:
        """Imports the modules of reading, passes and printing, so that no pass is billed for it."""
        from ...infer import infer_types
        from ...interp.evaluate import evaluate  # noqa: F401
        from ...ops import operators
        from ...parser import parse
        from ...printer import to_text
        from ..core.base import passes

        operators.load()
        passes.load()
        to_text(infer_types(parse(_SMALL)))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Counts the time of the block as `name`'s, and as no pass's."""
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self.stages[name] = self.stages.get(name, 0.0) + seconds
            if self._open:
                self._open[-1].inner += seconds

    def watch(self, instrument: PassInstrument, name: str) -> PassInstrument:
        """A wrapper of `instrument`, with its time counted for the stage `name`."""
        return _Watched(instrument, self, name)

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        row = Row(info.name, len(self._open), operators_before=count_operators(module))
        self.rows.append(row)
        self._open.append(_Open(row, module, time.perf_counter(), PassContext.current().infer_seconds))

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        ended = time.perf_counter()
        opened = self._open.pop()
        row = opened.row
        whole = ended - opened.started
        row.infer_seconds = PassContext.current().infer_seconds - opened.inferred
        row.seconds = max(0.0, whole - row.infer_seconds - opened.inner)
        row.operators_after = count_operators(module)
        row.changed = module is not opened.module
        if self._open:
            self._open[-1].inner += whole - row.infer_seconds
        if info.name == "InferType":
            row.seconds, row.infer_seconds = 0.0, whole

    def report(self) -> str:
        return json.dumps(self.as_dicts(), indent=1) if self.style == "json" else self.table()

    def as_dicts(self) -> list[dict[str, object]]:
        """The rows for JSON."""
        return [
            {
                "pass": r.name,
                "depth": r.depth,
                "seconds": round(r.seconds, 6),
                "infer_seconds": round(r.infer_seconds, 6),
                "operators_before": r.operators_before,
                "operators_after": r.operators_after,
                "changed": r.changed,
            }
            for r in self.rows
        ]

    def table(self) -> str:
        """The rows as text, milliseconds."""
        cells = self.cells()
        if self.draw is not None:
            return self.draw(cells)
        return "\n".join(f"{name:42s} {own:>9s} {infer:>9s} {ops:>15s}".rstrip() for name, own, infer, ops in cells)

    def cells(self) -> list[Cells]:
        """The table, its titles first; rows below 1 % of all time that changed nothing are one."""
        whole = sum(r.seconds + (r.infer_seconds if r.depth == 0 else 0.0) for r in self.rows) + sum(
            self.stages.values()
        )
        cells = [("pass", f"{'ms':>9s}", f"{'infer ms':>9s}", "operators")]
        if "parse" in self.stages:
            cells.append(_cells("(parse)", self.stages["parse"]))
        folded = [r for r in self.rows if r.seconds + r.infer_seconds < _LEAST * whole and not r.changed]
        rows = [r for r in self.rows if r not in folded] if len(folded) > 1 else self.rows
        for r in rows:
            name = "  " * r.depth + r.name
            ops = f"{r.operators_before} → {r.operators_after}" if r.changed else str(r.operators_after)
            cells.append(_cells(name, r.seconds, r.infer_seconds, ops))
        if len(rows) < len(self.rows):
            name = f"({len(folded)} others, each below 1 %)"
            inferring = sum(r.infer_seconds for r in folded if r.depth == 0)
            cells.append(_cells(name, sum(r.seconds for r in folded), inferring))
        cells += [_cells(f"({name})", seconds) for name, seconds in self.stages.items() if name != "parse"]
        total = sum(r.seconds for r in self.rows) + sum(self.stages.values())
        infer = sum(r.infer_seconds for r in self.rows if r.depth == 0)
        cells.append(_cells("total", total, infer))
        return cells


class _Watched(PassInstrument):
    """Another instrument, its time taken by a `Timing`."""

    def __init__(self, inner: PassInstrument, timing: Timing, name: str) -> None:
        self.inner = inner
        self.timing = timing
        self.stage = name

    def enter_pass_ctx(self) -> None:
        self.inner.enter_pass_ctx()

    def exit_pass_ctx(self) -> None:
        self.inner.exit_pass_ctx()

    def should_run(self, module: Module, info: PassInfo) -> bool:
        return self.inner.should_run(module, info)

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        with self.timing.stage(self.stage):
            self.inner.run_before_pass(module, info)

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        with self.timing.stage(self.stage):
            self.inner.run_after_pass(module, info)

    def report(self) -> str:
        return self.inner.report()
