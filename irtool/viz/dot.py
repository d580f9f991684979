"""Graphviz's DOT: the same nodes and edges, for its own layout."""

from __future__ import annotations

from .drawing import OUTPUT, Drawing, Graph, Node
from .short_text import brief_size

_SHAPES = {"input": "ellipse", "output": "ellipse", "far": "plaintext"}
_COLOURS = {
    "product": "#dbe7ff",
    "norm": "#e0f3da",
    "pool": "#ffefcc",
    "elementwise": "#f1f1f1",
    "shape": "#eee3fb",
    "reduce": "#ffe1d9",
    "quantized": "#d5f2ef",
    "weights": "#f5eddf",
    "other": "#f9dde8",
}


def write_dot(drawing: Drawing) -> str:
    """The text of a digraph; functions, and graphs inside of nodes, are clusters."""
    lines = [
        "digraph module {",
        '  node [shape=box, style=filled, fillcolor="#ffffff", fontname="sans-serif"];',
    ]
    stack: list[tuple[Graph, Node | None] | str] = [(g, None) for g in reversed(drawing.graphs)]
    clusters = 0
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        graph, around = item
        title = " ".join(dict.fromkeys(t for t in (around.label if around else "", graph.name) if t))
        lines.append(f"  subgraph cluster_{clusters} {{ label={_quoted(title)};")
        clusters += 1
        lines += [_node(n) for n in graph.nodes]
        stack.append("  }")
        stack += [(g, n) for n in reversed(graph.nodes) for g in reversed(n.inside)]
    for graph, _ in drawing.walk():
        for e in graph.edges:
            label = " ".join(t for t in (e.field, e.shape, brief_size(e.size)) if t)
            lines.append(f"  n{e.source.number} -> n{e.target.number} [label={_quoted(label)}];")
    for n in drawing.nodes():  # a node's name links to its inner graph
        for graph in n.inside:
            for r in graph.nodes:
                if r.kind == OUTPUT:
                    lines.append(f"  n{r.number} -> n{n.number} [style=dotted, constraint=false];")
    return "\n".join([*lines, "}"]) + "\n"


def _node(n: Node) -> str:
    attributes = [f"label={_quoted(chr(10).join((n.label, *n.details)))}", f"tooltip={_quoted(n.type)}"]
    if n.kind in _SHAPES:
        attributes.append(f"shape={_SHAPES[n.kind]}")
    if n.family in _COLOURS:
        attributes.append(f'fillcolor="{_COLOURS[n.family]}"')
    return f"    n{n.number} [{', '.join(attributes)}];"


def _quoted(text: str) -> str:
    """A string of DOT. Backslashes are doubled: DOT reads escapes such as `\\N` in labels."""
    plain = "".join(c if c.isprintable() or c == "\n" else "�" for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
