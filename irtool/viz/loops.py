"""The loops of a kernel's stages before and after each primitive of its schedule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..schedule.core.block import Block
from ..tir.forms import Reduction
from ..tir.show import show_expr, show_stmt
from .drawing import Drawing, Edge, Graph, Node
from .html import Step
from .short_text import cut

_FAMILIES = {"serial": "serial", "parallel": "parallel", "vectorized": "vectorized", "unroll": "unrolled"}
_LONGEST = 120
_PREFIX = "tvmgen_default_"
_COMPUTE = "compute"


@dataclass
class ScheduleRecorder:
    """A watcher of primitives that keeps a step for each call, and one before the first of each stage.

    Of kernels whose name has no match of `kernels`, if it is given, there are none.

    Stages of a kernel for lesser processors follow those for the first one; what is done to forms that are no blocks yet,
    as `winograd` does, has no loops of its own to show, and is a step that changes nothing.
    """

    kernels: re.Pattern[str] | None = None
    steps: list[Step] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _stage: str = ""
    _shown: set[str] = field(default_factory=set)

    def begin_stage(self, kernel: str, stage: int, strategy: str, reason: str, form: Any) -> None:
        """A stage is about to be scheduled."""
        name = kernel.removeprefix(_PREFIX)
        if self.kernels is not None and not self.kernels.search(name):
            self.left_out += [name] if name not in self.left_out else []
            return
        self._stage = f"{name} stage {stage}"
        loops = [Block.of(form)] if hasattr(form, "loops") and hasattr(form, "stores") else []
        self.steps.append(Step(f"{self._stage}: {strategy}", _draw(self._stage, loops, set()), reason, self._stage))
        self._shown = _keys(loops)

    def end_stage(self) -> None:
        """It has been."""
        self._stage = ""

    def see_call(self, call: str, before: Any, after: Any) -> None:
        """Notes a call of a primitive, with its argument and its result."""
        if not self._stage:
            return
        blocks = [b for b in (after if isinstance(after, list) else [after]) if isinstance(b, Block)]
        if not blocks:
            self.steps.append(Step(call, None, "", self._stage))
            return
        old = _keys([before]) if isinstance(before, Block) else self._shown
        self.steps.append(Step(call, _draw(self._stage, blocks, old), "", self._stage))


def _draw(name: str, blocks: list[Block[Any]], old: set[str]) -> Drawing:
    """A graph for each block: its loops from the outside to the inside, and the stores in all of them."""
    lines: list[str] = []
    graphs: list[Graph] = []
    for number, b in enumerate(blocks):
        graph = Graph(name if len(blocks) == 1 else f"part {number}")
        lines += [f"// {graph.name}"] if len(blocks) > 1 else []
        for depth, (title, family, details) in enumerate(_rows(b)):
            node = Node(cut(title, 60), family=family, details=tuple(cut(d, 60) for d in details))
            node.mark = "new" if old and _key(title, family, details) not in old else ""
            texts = _texts(title, family, details)
            lines += [cut("  " * min(depth, 40) + t, _LONGEST) for t in texts]
            node.lines = (len(lines) - len(texts) + 1, len(lines))
            if graph.nodes:
                graph.edges.append(Edge(graph.nodes[-1], node))
            graph.nodes.append(node)
        lines += [f"// {v} = {value}" for v, value in _bindings(b)]
        graphs.append(graph)
    if not graphs:
        graphs, lines = [Graph(name, [Node("a stage of its own kind", family="other")])], ["// no loops to show"]
    return Drawing(graphs, "\n".join(lines), name).number()


def _texts(title: str, family: str, details: list[str]) -> list[str]:
    """The lines of the text for a row."""
    if family != "other":
        return [f"for {title}:{_comment(family)}"]
    if title == _COMPUTE:
        return details
    return [": ".join([title, *details])]


def _rows(b: Block[Any]) -> Iterator[tuple[str, str, list[str]]]:
    """Title, family and details of all that is around the stores of a block, from the outside."""
    for level in b.around:
        for v, extent, kind in level.loops:
            yield f"{v.name} in {extent}", _FAMILIES.get(kind, "serial"), []
        if level.buffer is not None:
            yield f"fill {level.buffer.name}", "other", [f"{list(level.buffer.shape)}"]
    for loop in b.outside:
        yield _loop(b, loop)
    if b.tile:
        yield "accumulators", "other", [" x ".join(str(extent) for _, extent in b.tile)]
    for v, extent in b.inner:
        kind = b.kind(v)
        yield (
            f"{v.name} in {extent}",
            "reduce" if kind == "serial" else _FAMILIES.get(kind, "reduce"),
            list(_spread(b, v)),
        )
    for loop in b.inside:
        yield _loop(b, loop)
    for c in b.caches:
        yield f"copy to {c.buffer.name}", "other", []
    update = [f"acc = {show_expr(b.form.update)}"] if isinstance(b.form, Reduction) else []
    yield _COMPUTE, "other", [*update, *(line.strip() for s in b.form.stores for line in show_stmt(s).splitlines())]


def _spread(b: Block[Any], v: Any) -> Iterator[str]:
    """Remarks on a loop of a reduction."""
    if b.factor is not None and b.factor.loop is v:
        yield f"{b.factor.vectors} vectors of {b.factor.lanes} accumulators"
    if b.window is not None and b.inner and v is b.inner[-1][0]:
        yield "rows of the tile share their operands"


def _loop(b: Block[Any], loop: Any) -> tuple[str, str, list[str]]:
    v, extent = loop
    begin, end = b.ranges.get(v, (0, extent))
    steps = f"{extent}" if (begin, end) == (0, extent) else f"[{begin}, {end}) of {extent}"
    return f"{v.name} in {steps}", _FAMILIES.get(b.kind(v), "serial"), []


def _bindings(b: Block[Any]) -> Iterator[tuple[str, str]]:
    for axis, value in b.bindings.items():
        yield show_expr(axis), show_expr(value)


def _comment(family: str) -> str:
    return "" if family == "serial" else f"  // {'reduction' if family == 'reduce' else family}"


def _key(title: str, family: str, details: list[str]) -> str:
    return f"{family} {title} {details}"


def _keys(blocks: list[Block[Any]]) -> set[str]:
    return {_key(*row) for b in blocks for row in _rows(b)}
