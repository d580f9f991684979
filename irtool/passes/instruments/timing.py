"""Times passes: seconds in the pass itself, seconds in type inference, operators before and after."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

from ...diagnostics import UsageError
from ...ir import Call, Function, Module, Op, post_order
from ..context import PassContext, PassInfo, PassInstrument
from . import register_instrument


def count_operators(module: Module) -> int:
    """Calls of operators in all Relay functions; a shared call counts once."""
    roots = [f for f in module.functions.values() if isinstance(f, Function)]
    return sum(isinstance(e, Call) and isinstance(e.op, Op) for e in post_order(*roots))


@dataclass
class Row:
    """One run of a pass. `depth` is 0 for a pass that was named, more for what it ran in turn."""

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

    There is one `Row` per pass in order of start; `seconds` does not include inference or passes run inside. `style` is
    `table` or `json`: how it reports.
    """

    style: str = "table"
    rows: list[Row] = field(default_factory=list, init=False)
    _open: list[_Open] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.style not in ("table", "json"):
            raise UsageError(f"style is table or json, not {self.style!r}")

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
        lines = [f"{'pass':42s} {'ms':>9s} {'infer ms':>9s} {'operators':>15s}"]
        for r in self.rows:
            name = "  " * r.depth + r.name
            ops = f"{r.operators_before} → {r.operators_after}" if r.changed else str(r.operators_after)
            lines.append(f"{name:42s} {r.seconds * 1e3:9.2f} {r.infer_seconds * 1e3:9.2f} {ops:>15s}")
        total = sum(r.seconds for r in self.rows)
        infer = sum(r.infer_seconds for r in self.rows if r.depth == 0)
        lines.append(f"{'total':42s} {total * 1e3:9.2f} {infer * 1e3:9.2f}")
        return "\n".join(lines)
