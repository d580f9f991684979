"""A drawing, or several of one module between passes, as one HTML page that loads nothing.

The page has the drawings as SVG, with all that lies in nodes, and for each graph what its layout depends on: ranks, centres,
sizes. The script opens and closes nodes with these; see `page.js`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .drawing import BLOCK, Drawing, Graph, Node
from .families import FAMILIES
from .layout import Layout, lay_out
from .markup import escape, part, script_data
from .parts import graph_parts
from .short_text import brief_size
from .sizes import node_size
from .svg import legend

_LONGEST = 2000
"""Characters of a line of the text; the rest of it is cut off."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@dataclass(frozen=True)
class Step:
    """One drawing of a page: its title, and a text. None stands for the drawing before it, unchanged.

    Steps of a group follow one another; a page with several groups has a list of them.
    """

    title: str
    drawing: Drawing | None
    remark: str = ""
    group: str = ""


def write_html(drawing: Drawing) -> str:
    """The page of one drawing."""
    return write_steps(drawing.name or "module", [Step("", drawing)])


def write_steps(name: str, steps: Sequence[Step]) -> str:
    """The page of drawings with a slider, which a single drawing does not have. The first step has a drawing."""
    drawn = [s.drawing for s in steps if s.drawing is not None]
    views = [_view(d, number) for number, d in enumerate(drawn)]
    shown = -1
    records: list[dict[str, Any]] = []
    for s in steps:
        shown += s.drawing is not None
        records.append({"title": s.title, "remark": s.remark, "view": shown, "group": s.group})
    families = [f for f in FAMILIES if any(n.family == f for d in drawn for n in d.nodes())]
    data = {"steps": records, "views": [v[1] for v in views]}
    key = "\n".join(legend(families, 0, 0))
    page = part("page.html")
    values = {
        "NAME": escape(name),
        "POLICY": escape(_POLICY),
        "STYLE": part("palette.css") + part("page.css"),
        "SLIDER": "" if len(steps) > 1 else " hidden",
        "LAST": str(len(steps) - 1),
        "GROUPS": "" if len({s.group for s in steps}) > 1 else " hidden",
        "KEY": f'<svg class="irviz legend" width="150" height="{21 * len(families)}" aria-label="colours">{key}</svg>',
        "VIEWS": "\n".join(v[0] for v in views),
        "DATA": script_data(data),
        "SCRIPT": part("page.js"),
    }
    pieces = page.split("@@")  # names of values are between; inserted text is not searched again
    return "".join(values[p] if n % 2 else p for n, p in enumerate(pieces))


def _view(drawing: Drawing, number: int) -> tuple[str, dict[str, Any]]:
    """The SVG of a drawing, hidden but for the first one, and its data for the script."""
    graphs: list[Graph] = [g for g, _ in drawing.walk()]
    index = {g: i for i, g in enumerate(graphs)}
    layouts = {g: lay_out(g, node_size) for g in graphs}
    markup: dict[Graph, str] = {}
    for graph in reversed(graphs):  # inner graphs first
        inside = {n: _inside(n, index, markup) for n in graph.nodes if n.inside}
        markup[graph] = "".join(graph_parts(graph, layouts[graph], inside, f"v{number}"))
    tops = "".join(_group(g, index[g], markup[g], "top") for g in drawing.graphs)
    hidden = " hidden" if number else ""
    svg = (
        f'<svg class="irviz view" id="v{number}" xmlns="http://www.w3.org/2000/svg" role="application" '
        f'aria-label="{escape(drawing.name or "module")}"{hidden}><g class="world">{tops}</g></svg>'
    )
    data = {
        "text": [line[:_LONGEST] for line in drawing.text.splitlines()],
        "tops": [index[g] for g in drawing.graphs],
        "graphs": [_geometry(g, layouts[g], n is None or len(n.inside) > 1) for g, n in drawing.walk()],
        "nodes": [_facts(n, index) for n in drawing.nodes()],
    }
    return svg, data


def _inside(n: Node, index: dict[Graph, int], markup: dict[Graph, str]) -> str:
    groups = "".join(_group(g, index[g], markup.pop(g), "inner", len(n.inside) > 1) for g in n.inside)
    return f'<g class="inside" style="display:none">{groups}</g>'


def _group(graph: Graph, index: int, markup: str, kind: str, is_named: bool = True) -> str:
    heading = f'<text class="heading" x="0" y="-12">{escape(graph.name)}</text>' if is_named else ""
    return f'<g class="graph {kind}" data-graph="{index}">{heading}{markup}</g>'


def _geometry(graph: Graph, layout: Layout, is_named: bool) -> dict[str, Any]:
    """Heights of ranks; nodes with rank, centre and size; edges with their ends and the ranks that they pass."""
    return {
        "name": graph.name if is_named else "",
        "width": round(layout.width, 1),
        "rows": [h for _, h in layout.rows],
        "nodes": [[n.number, layout.rank[n], layout.x[n], *layout.sizes[n]] for n in graph.nodes],
        "edges": [[r.edge.source.number, r.edge.target.number, r.end, r.via] for r in layout.routes],
    }


def _facts(n: Node, index: dict[Graph, int]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "label": n.label,
        "details": n.details,
        "type": n.type,
        "size": brief_size(n.size),
        "lines": n.lines,
    }
    if n.inside:
        facts["inside"] = [index[g] for g in n.inside]
    if n.kind == BLOCK and n.repeats > 1:
        facts["block"] = n.label
    if n.mark:
        facts["mark"] = n.mark
    return facts
