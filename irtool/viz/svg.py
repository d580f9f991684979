"""A drawing as one SVG file: functions side by side, then the contents of each repeated block, once, and a legend."""

from __future__ import annotations

from collections.abc import Iterator

from .drawing import BLOCK, Drawing, Graph, Node
from .families import FAMILIES
from .layout import Layout, lay_out
from .markup import escape, part
from .markup import number as num
from .parts import graph_parts
from .sizes import node_size

_APART = 56
_EDGE = 24
_HEADING = 34
_KEY = 21


def write_svg(drawing: Drawing) -> str:
    """The text of the file."""
    columns: list[tuple[str, Graph, Layout]] = [(heading, g, lay_out(g, node_size)) for heading, g in _shown(drawing)]
    families = [f for f in FAMILIES if any(n.family == f for _, g, _ in columns for n in g.nodes)]
    x = _EDGE + 150.0
    body: list[str] = []
    height = float(_KEY * len(families) + _HEADING)
    for heading, graph, layout in columns:
        body.append(f'<g class="graph" transform="translate({num(x)} {_EDGE + _HEADING})">')
        body.append(f'<text class="heading" x="0" y="-16">{escape(heading)}</text>')
        body += graph_parts(graph, layout, {})
        body.append("</g>")
        x += max(layout.width, 9.0 * len(heading)) + _APART
        height = max(height, layout.height + _HEADING)
    width, height = x - _APART + _EDGE, height + 2 * _EDGE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="irviz" role="img" viewBox="0 0 {num(width)} {num(height)}" '
        f'width="{num(width)}" height="{num(height)}">'
    )
    return "\n".join(
        [
            head,
            f"<title>{escape(drawing.name or 'module')}</title>",
            f"<style>{escape_style(part('palette.css'))}</style>",
            f'<rect width="{num(width)}" height="{num(height)}" fill="var(--paper)"/>',
            *legend(families, _EDGE, _EDGE),
            *body,
            "</svg>\n",
        ]
    )


def escape_style(style: str) -> str:
    """A style sheet as the contents of an element in XML."""
    return style.replace("&", "&amp;").replace("<", "&lt;")


def legend(families: list[str], x: float, y: float) -> Iterator[str]:
    """The legend of the colours."""
    yield f'<g class="key" transform="translate({num(x)} {num(y)})">'
    for i, f in enumerate(families):
        yield f'<g class="f-{f}" transform="translate(0 {i * _KEY})"><rect class="box" width="16" height="14" rx="3"/>'
        yield f'<text x="23" y="11">{escape(FAMILIES[f])}</text></g>'
    yield "</g>"


def _shown(drawing: Drawing) -> Iterator[tuple[str, Graph]]:
    """Graphs with their headings: the functions, then whatever lies in a node, of blocks that are alike one."""
    seen: set[str] = set()
    for graph in drawing.graphs:
        yield graph.name, graph
    for graph, around in drawing.walk():
        if around is None:
            continue
        heading = _heading(graph, around)
        if around.kind == BLOCK and around.repeats > 1:
            if heading in seen:
                continue
            seen.add(heading)
        if (around.kind == BLOCK and around.repeats > 1) or (around.family == "function" and _is_control(around)):
            yield heading, graph


def _heading(graph: Graph, around: Node) -> str:
    if around.repeats > 1:
        return f"{around.label} ({around.repeats} times)"
    return f"{around.label}: {graph.name}" if graph.name and graph.name != around.label else around.label


def _is_control(n: Node) -> bool:
    """True if a node is no kernel, whose title names its operators, but an `if`, a `match` or a function as a value."""
    return n.label in ("if", "match", "fn")
