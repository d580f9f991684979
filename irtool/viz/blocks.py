"""Repeated blocks: parts of a graph that have the same structure, each drawn as one node with the part inside.

Where only one value passes from what stands above to what stands below, the graph falls into segments. (Values that many nodes
read over a long way, such as a mask that every layer has, do not count.) Segments of the same structure have the same digest, and the
sequence of segments that saves most nodes is a block, as long as there is one: the layer of a transformer, the unit of a residual
network. A block may have repeated blocks inside.

The number of steps is bounded by the number of nodes times `_LONGEST`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .drawing import INPUT, OUTPUT, Drawing, Edge, Graph, Node
from .enclosing import enclose, put_in_order
from .prepared import WEIGHTS

_LONGEST = 48
"""Segments of a block."""
_FEWEST = 4
"""Nodes of a block."""
_MOST_BLOCKS = 6
"""Different blocks of a graph."""
_FAR = 0.25
"""Part of the graph that a value passes to count as one that every block has."""


def fold_blocks(drawing: Drawing) -> Drawing:
    """Puts repeated blocks of the outermost graphs into nodes of their own. Returns the drawing, which it changes."""
    for graph in drawing.graphs:
        _fold(graph)
    return drawing


def _fold(graph: Graph) -> None:
    nodes = [n for n in graph.nodes if n.kind not in (INPUT, OUTPUT) and n.family != WEIGHTS]
    if len(nodes) < 2 * _FEWEST:
        return
    segments = _segments(graph, nodes)
    digests = _digests(graph, segments)
    sizes = [len(s) for s in segments]
    free = [True] * len(segments)
    chosen: list[tuple[int, int, int, int]] = []  # first segment, segments, number of the block, repeats
    for number in range(_MOST_BLOCKS):
        best = _best(digests, sizes, free)
        if not best:
            break
        for start, length in best:
            for i in range(start, start + length):
                free[i] = False
            chosen.append((start, length, number, len(best)))
    names: dict[int, str] = {}  # in the order in which they are read
    for start, length, number, repeats in sorted(chosen):
        name = names.setdefault(number, chr(ord("A") + len(names)))
        inner = [n for s in segments[start : start + length] for n in s]
        enclose(graph, [*_weights(graph, inner), *inner], _block(inner, name, repeats))
    if chosen:
        put_in_order(graph)


def _segments(graph: Graph, nodes: Sequence[Node]) -> list[list[Node]]:
    """The nodes, cut where a single value passes."""
    place = {n: i for i, n in enumerate(nodes)}
    last: dict[Node, int] = {}
    reads: Counter[Node] = Counter()
    for e in graph.edges:
        if e.source in place:
            last[e.source] = max(last.get(e.source, 0), place.get(e.target, len(nodes)))
            reads[e.source] += 1
    passing = [0] * (len(nodes) + 1)
    for n, end in last.items():
        start = place[n]
        if reads[n] > 2 and end - start > max(_FAR * len(nodes), 2 * _FEWEST):
            end = start + 1
        passing[start] += 1
        passing[end] -= 1
    segments: list[list[Node]] = [[]]
    live = 0
    for i, n in enumerate(nodes):
        segments[-1].append(n)
        live += passing[i]
        if live <= 1 and i + 1 < len(nodes):
            segments.append([])
    return segments


def _digests(graph: Graph, segments: Sequence[Sequence[Node]]) -> list[int]:
    """A number for the structure of each segment: operators, their attributes, and which of them reads which."""
    into: dict[Node, list[Edge]] = {}
    for e in graph.edges:
        into.setdefault(e.target, []).append(e)
    numbers: dict[object, int] = {}
    result = []
    for segment in segments:
        place = {n: i for i, n in enumerate(segment)}
        key = tuple(
            (n.label, n.kind, tuple((place.get(e.source, -1), e.field) for e in into.get(n, ()))) for n in segment
        )
        result.append(numbers.setdefault(key, len(numbers)))
    return result


def _best(digests: Sequence[int], sizes: Sequence[int], free: Sequence[bool]) -> list[tuple[int, int]]:
    """The start of the block that saves most nodes, and the number of its segments; empty if none saves any.

    Of blocks that save as much, the one whose first segment is the largest, then the first one.
    """
    count = len(digests)
    ids = list(digests)  # of the sequence of `length` segments that begins at a place
    whole = list(sizes)
    ends = list(free)
    best: tuple[int, int, int] = (0, 0, 0)
    repeats: list[tuple[int, int]] = []
    for length in range(1, min(_LONGEST, count // 2) + 1):
        if length > 1:
            numbers: dict[tuple[int, int], int] = {}
            for i in range(count - length + 1):
                ids[i] = numbers.setdefault((ids[i], digests[i + length - 1]), len(numbers))
                whole[i] += sizes[i + length - 1]
                ends[i] = ends[i] and free[i + length - 1]
        until: dict[int, int] = {}
        seen: dict[int, list[int]] = {}
        for i in range(count - length + 1):
            if ends[i] and until.get(ids[i], 0) <= i:
                until[ids[i]] = i + length
                seen.setdefault(ids[i], []).append(i)
        for starts in seen.values():
            first = starts[0]
            score = (whole[first] * (len(starts) - 1), sizes[first], -first)
            if len(starts) > 1 and whole[first] >= _FEWEST and score > best:
                best, repeats = score, [(s, length) for s in starts]
    return repeats


def _weights(graph: Graph, inner: Sequence[Node]) -> list[Node]:
    """Nodes computed from weights, for nodes of a block and no others. They read nothing, so no way leads back through them."""
    inside = set(inner)
    readers: dict[Node, bool] = {}
    for e in graph.edges:
        if e.source.family == WEIGHTS:
            readers[e.source] = readers.get(e.source, True) and e.target in inside
    return [n for n, here in readers.items() if here]


def _block(inner: Sequence[Node], name: str, repeats: int) -> Node:
    """The node of a block, titled by its most frequent operators."""
    named = [n for n in inner if n.family == "product"] or inner
    counts = Counter(n.label for n in named).most_common(3)
    most = ", ".join(f"{c} × {label}" if c > 1 else label for label, c in counts)
    return Node(
        f"block {name}", family="function", details=(f"{len(inner)} operators, {repeats} times", most), repeats=repeats
    )
