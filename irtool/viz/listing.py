"""A drawing as lines of text: a node a line, with the numbers of those that it reads."""

from __future__ import annotations

from collections.abc import Iterator

from .drawing import BLOCK, Drawing, Graph, Node
from .short_text import brief_size

_COLUMN = 44


def write_listing(drawing: Drawing) -> str:
    """The text. What is in a node stands below it, indented; of repeated blocks, that of the first one only."""
    lines: list[str] = []
    shown: set[str] = set()
    stack: list[Iterator[str | Graph]] = [_items(g, 0, shown) for g in reversed(drawing.graphs)]
    depth = [0] * len(stack)
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
            depth.pop()
        elif isinstance(item, str):
            lines.append(item)
        else:
            depth.append(depth[-1] + 1)
            stack.append(_items(item, depth[-1], shown))
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _items(graph: Graph, depth: int, shown: set[str]) -> Iterator[str | Graph]:
    """The lines of a graph, and the graphs that lie in its nodes where these have their line."""
    indent = "  " * min(depth, 40)
    if graph.name:
        yield f"{indent}{_plain(graph.name)}"
    reads: dict[Node, list[str]] = {}
    for e in graph.edges:
        reads.setdefault(e.target, []).append(f"{e.source.number}{e.field}")
    for n in graph.nodes:
        sources = ", ".join(reads.get(n, ()))
        left_column = f"{indent}  {n.number:>4}  {_plain(n.label)}"
        columns = f"{left_column:{_COLUMN}s}  {_plain(n.shape)}{' · ' if n.size else ''}{brief_size(n.size or None)}"
        yield f"{columns:{_COLUMN + 34}s}{f'  ← {sources}' if sources else ''}"
        for line in n.details:
            yield f"{indent}          {_plain(line)}"
        key = f"{graph.name}/{n.label}"
        if n.kind == BLOCK and n.repeats > 1:
            if key in shown:
                continue
            shown.add(key)
        yield from n.inside


def _plain(text: str) -> str:
    """A text without characters that a terminal would act on."""
    return "".join(c if c.isprintable() else "�" for c in text)
