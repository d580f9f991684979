"""Nodes and edges in SVG."""

from __future__ import annotations

from collections.abc import Iterator

from .drawing import BLOCK, FAR, INPUT, OUTPUT, Graph, Node
from .layout import Layout, Route
from .markup import escape
from .markup import number as num
from .short_text import brief_size

_ROUND = 5
_MARKS = {"new": "new in this step", "gone": "gone after the next change"}
_KINDS = {INPUT: "an input", OUTPUT: "the result", FAR: "a value from above", BLOCK: "a block of operators"}


def graph_parts(graph: Graph, layout: Layout, inside: dict[Node, str], view: str = "") -> Iterator[str]:
    """The edges of a graph, then its nodes; `inside` has the graphs drawn in nodes, `view` is the name of a drawing in a page."""
    yield '<g class="edges">'
    for r in layout.routes:
        yield f'<path class="edge" d="{path(layout, r)}"/>'
    yield "</g>"
    labels = edge_labels(graph)
    for n in graph.nodes:
        yield from node_parts(n, layout, labels.get(n, ""), inside.get(n, ""), view)


def path(layout: Layout, route: Route) -> str:
    """The way of an edge: straight through ranks, in curves between them, to an arrow above the target."""
    s, t = route.edge.source, route.edge.target
    _, top, _, height = layout.box(s)
    x, y = layout.x[s], top + height
    commands = [f"M{num(x)} {num(y)}"]
    for rank, column in route.via:
        start, deep = layout.rows[rank]
        commands += [_curve(x, y, column, start), f"V{num(start + deep)}"]
        x, y = column, start + deep
    column, end = layout.x[t] + route.end, layout.box(t)[1] - 5
    commands += [_curve(x, y, column, end), "m-3 -1 l3 6 l3 -6"]
    return "".join(commands)


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    if x == to_x:
        return f"V{num(to_y)}"
    bend = (to_y - y) / 2
    return f"C{num(x)} {num(y + bend)} {num(to_x)} {num(to_y - bend)} {num(to_x)} {num(to_y)}"


def edge_labels(graph: Graph) -> dict[Node, str]:
    """The text below each node: the type of the value that others read, if that is one, or its own."""
    shapes: dict[Node, set[str]] = {}
    for e in graph.edges:
        shapes.setdefault(e.source, set()).add(e.shape)
    return {n: labels.pop() if len(labels) == 1 else n.shape for n, labels in shapes.items()}


def describe(n: Node) -> str:
    """A node in a sentence, for who does not see it."""
    parts = [n.label, *n.details]
    if n.kind in _KINDS:
        parts.append(_KINDS[n.kind])
    if n.type:
        parts.append(n.type)
    if n.size is not None:
        parts.append(brief_size(n.size))
    if n.lines[0]:
        parts.append(f"line {n.lines[0]}")
    parts += [_MARKS[m] for m in n.mark.split()]
    return ", ".join(parts)


def node_parts(n: Node, layout: Layout, label: str, inside: str, view: str) -> Iterator[str]:
    """A node, around the middle of its upper side. In a page it can be focused, and opened if something is inside."""
    _, top, w, h = layout.box(n)
    classes = " ".join(c for c in ("node", f"f-{n.family}", n.kind, n.mark) if c)
    attributes = f'class="{classes}" id="{view}n{n.number}" transform="translate({num(layout.x[n])} {num(top)})"'
    if view:
        expanded = ' aria-expanded="false"' if inside else ""
        attributes += (
            f' data-node="{n.number}" role="button" tabindex="-1" aria-label="{escape(describe(n))}"{expanded}'
        )
    yield f"<g {attributes}>"
    yield f"<title>{escape(describe(n))}</title>"
    rounded = 12 if n.kind in (INPUT, OUTPUT) else _ROUND
    yield f'<rect class="box" x="{num(-w / 2)}" y="0" width="{num(w)}" height="{num(h)}" rx="{rounded}"/>'
    if n.kind in (INPUT, OUTPUT, FAR):
        yield f'<text class="name" x="0" y="16">{escape(n.label)}</text>'
    else:
        title = escape(n.label)
        yield f'<text class="title name" x="0" y="17">{title}</text>'
        for i, d in enumerate(n.details):
            yield f'<text class="detail name" x="0" y="{31 + 14 * i}">{escape(d)}</text>'
    if label:
        yield f'<text class="shape" x="0" y="{num(h + 13)}">{escape(label)}</text>'
    sign = f'<path class="sign" d="M{num(w / 2 - 18)} 13h9m-4.5 -4.5v9"/>' if inside else ""
    yield f"{sign}{inside}</g>"
