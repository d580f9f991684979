"""A module after each pass of a pipeline, with the changes that the pass made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..passes.core.context import PassInfo, PassInstrument
from .drawing import INPUT, OUTPUT, Drawing, Node
from .html import Step
from .module_drawing import draw_text, shown_lines, simplify, text_drawn

if TYPE_CHECKING:
    from ..ir import Module

NEW, GONE = "new", "gone"


@dataclass
class Recorder(PassInstrument):
    """Keeps the module before the first pass and after each one; those left out that others require and that change nothing."""

    modules: list[tuple[str, Module]] = field(default_factory=list, init=False)
    _open: list[int] = field(default_factory=list, init=False)

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        if not self.modules:
            self.modules.append(("input", module))
        self._open.append(len(self.modules))

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        ran_others = len(self.modules) > self._open.pop()
        if ran_others or info.runs_others or (info.is_prerequisite and module is self.modules[-1][1]):
            return
        self.modules.append((info.name, module))


def draw_pipeline(recorded: Sequence[tuple[str, Module]], name: str, folded: bool = True) -> list[Step]:
    """A step for each module. A node is new in a pass if none like it was there before, and gone if none like it is there after."""
    drawn = list(_draw_changes(recorded, name))
    steps: list[Step] = []
    before: Counter[object] | None = None
    old: Drawing | None = None
    for title, next_drawing in drawn:
        if next_drawing is None:
            steps.append(Step(title, None, "changed nothing"))
            continue
        after, remark = _kinds(next_drawing), ""
        if before is not None and old is not None:
            new, removed = _mark(next_drawing, after - before, NEW), _mark(old, before - after, GONE)
            remark = f"{new} new, {removed} gone" if new or removed else "changed the text alone"
        steps.append(Step(title, next_drawing, remark))
        before, old = after, next_drawing
    for step in steps:
        if step.drawing is not None:
            _spread(simplify(step.drawing, folded))
    return steps


def _draw_changes(recorded: Sequence[tuple[str, Module]], name: str) -> Iterator[tuple[str, Drawing | None]]:
    """The drawing of each module; None if it is that of the one before. Most passes of a build return the module that they got."""
    last: Module | None = None
    lines: str | None = None
    for title, module in recorded:
        text = None if module is last else text_drawn(module)
        last = module
        if text is None or shown_lines(text) == lines:
            yield title, None
            continue
        lines = shown_lines(text)
        yield title, draw_text(text, name)


def _kinds(drawing: Drawing) -> Counter[object]:
    """The contents of a drawing, in any order: operators, with their attributes and types, and the names of their operands."""
    return Counter(key for _, key in _keys(drawing))


def _keys(drawing: Drawing) -> list[tuple[Node, object]]:
    result: list[tuple[Node, object]] = []
    for graph, _ in drawing.walk():
        reads: dict[Node, list[str]] = {}
        for e in graph.edges:
            reads.setdefault(e.target, []).append("" if e.source.kind == INPUT else e.source.label)
        for n in graph.nodes:
            if n.kind not in (INPUT, OUTPUT):
                inside = tuple(m.label for g in n.inside for m in g.nodes if m.kind != INPUT)
                result.append((n, (n.label, n.details, n.type, tuple(reads.get(n, ())), inside)))
    return result


def _mark(drawing: Drawing, counts: Counter[object], mark: str) -> int:
    """Marks as many nodes of each kind; returns their number."""
    left = Counter(counts)
    for n, key in reversed(_keys(drawing)):
        if left[key] > 0:
            left[key] -= 1
            n.mark = f"{n.mark} {mark}".strip()
    return counts.total()


def _spread(drawing: Drawing) -> None:
    """Marks nodes with a marked node inside."""
    for graph, around in reversed(list(drawing.walk())):
        marks = {m for n in graph.nodes for m in n.mark.split()}
        if around is not None:
            around.mark = " ".join(m for m in (NEW, GONE) if m in marks or m in around.mark.split())
