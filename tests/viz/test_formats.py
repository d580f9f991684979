"""A drawing as text, SVG, DOT and for Netron: all that is drawn is in each, and no name breaks any."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

import irtool
from irtool.viz.dot import write_dot
from irtool.viz.drawing import BLOCK, Drawing
from irtool.viz.html import write_html
from irtool.viz.listing import write_listing
from irtool.viz.model_explorer import write_model_explorer
from irtool.viz.module_drawing import draw_module, draw_plainly
from irtool.viz.netron import write_netron
from irtool.viz.svg import write_svg
from tests.viz.drawings import VERSION, layers
from tests.viz.tags import tags_of
from tests.work import steps

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT / "samples").glob("*.relay"))
SVG = "{http://www.w3.org/2000/svg}"
EVIL = '</title><script>alert(1)</script><img src=x onerror="alert(2)"> & \' \\N ]]> {|} \u2028'


def read(path: Path) -> Drawing:
    return draw_module(irtool.parse(path.read_text(encoding="utf-8")), name=path.name)


def hostile() -> Drawing:
    """Names that no parser would take, where drawings take theirs from."""
    drawing = draw_module(irtool.parse(layers(3)), name=EVIL)
    for graph, _ in drawing.walk():
        graph.name += EVIL
    for n in drawing.nodes():
        n.label += EVIL
        n.type += EVIL
        n.shape += EVIL
        n.details = (*n.details, EVIL, "bell \x07 and escape \x1b[2J")
    return drawing


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
def test_svg_is_xml_with_a_box_for_each_node(sample: Path) -> None:
    drawing = read(sample)
    root = ET.fromstring(write_svg(drawing))
    assert root.tag == f"{SVG}svg"
    ids = [g.get("id") for g in root.iter(f"{SVG}g") if g.get("id")]
    assert len(ids) == len(set(ids)) >= sum(len(g.nodes) for g in drawing.graphs)
    assert {f"n{n.number}" for g in drawing.graphs for n in g.nodes} <= set(ids)
    paths = [p for p in root.iter(f"{SVG}path") if p.get("class") == "edge"]
    assert len(paths) >= sum(len(g.edges) for g in drawing.graphs)


def test_svg_shows_what_is_in_a_block_once() -> None:
    drawing = draw_module(irtool.parse(layers(5)), name="net")
    text = write_svg(drawing)
    assert text.count(">tanh</text>") == 1 and text.count(">block A</text>") == 5 and "block A (5 times)" in text
    shown = [n for n in drawing.nodes() if n.kind == BLOCK]
    assert len(shown) == 5


def test_nothing_is_loaded() -> None:
    text = write_svg(read(ROOT / "samples" / "mlp.relay"))
    assert "<script" not in text and not re.search(r"(href|src|url)\s*[=(]", text.replace("xmlns", ""))


def test_no_name_is_markup() -> None:
    root = ET.fromstring(write_svg(hostile()))
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {"svg", "title", "style", "rect", "g", "path", "text"}
    assert any("<script>alert(1)" in (t.text or "") for t in root.iter(f"{SVG}text"))
    assert not [a for e in root.iter() for a in e.attrib if a.startswith("on")]


def test_no_name_ends_a_string_of_dot() -> None:
    text = write_dot(hostile())
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "S", text)
    assert '"' not in outside and "script" not in outside and "\x1b" not in text
    if dot := shutil.which("dot"):
        subprocess.run([dot, "-Tplain"], input=text, text=True, check=True, capture_output=True, timeout=60)


def test_no_name_acts_on_a_terminal() -> None:
    text = write_listing(hostile())
    assert all(c.isprintable() or c == "\n" for c in text)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
def test_dot_and_text_have_every_node(sample: Path) -> None:
    drawing = read(sample)
    dot = write_dot(drawing)
    numbers = [n.number for n in drawing.nodes()]
    assert sorted(int(n) for n in re.findall(r"^    n(\d+) \[", dot, re.MULTILINE)) == numbers
    assert dot.count("{") == dot.count("}")
    listed = {int(n) for n in re.findall(r"^ +(\d+)  ", write_listing(drawing), re.MULTILINE)}
    assert listed == set(numbers)


def test_netron_gets_a_model_of_onnx() -> None:
    onnx = pytest.importorskip("onnx")
    from google.protobuf import json_format

    for sample in SAMPLES:
        drawing = draw_plainly(irtool.parse(sample.read_text(encoding="utf-8")))
        model = json_format.Parse(write_netron(drawing), onnx.ModelProto())
        nodes = [n for g in drawing.graphs for n in g.nodes if n.kind not in ("input", "output")]
        graphs = [model.graph] if len(drawing.graphs) == 1 else [n.attribute[0].g for n in model.graph.node]
        assert [n.op_type for g in graphs for n in g.node] == [n.label for n in nodes]
        for graph in graphs:
            defined = {v.name for v in graph.input} | {o for n in graph.node for o in n.output}
            assert {i for n in graph.node for i in n.input} <= defined
            assert {o.name for o in graph.output} <= defined


@pytest.mark.parametrize("name", ["mlp", "simplenet"])
@pytest.mark.parametrize("passes", ["", "FuseOps"])
def test_model_explorer_gets_graphs(name: str, passes: str) -> None:
    """Edges come from outputs that are there, graphs that nodes name exist, and each edge of the drawing is there once."""
    module = irtool.parse((ROOT / "samples" / f"{name}.relay").read_text())
    drawing = draw_plainly(irtool.run_passes(module, passes) if passes else module, None, name)
    collection = json.loads(write_model_explorer(drawing))
    graphs = {g["id"]: g for g in collection["graphs"]}
    assert collection["label"] == name and len(graphs) == len(list(drawing.walk())) == len(collection["graphs"])
    for graph in graphs.values():
        outputs = {n["id"]: {o["id"] for o in n["outputsMetadata"]} for n in graph["nodes"]}
        for n in graph["nodes"]:
            assert all(e["sourceNodeOutputId"] in outputs[e["sourceNodeId"]] for e in n["incomingEdges"])
            assert set(n["subgraphIds"]) <= graphs.keys()
    edges = sum(len(n["incomingEdges"]) for g in graphs.values() for n in g["nodes"])
    assert edges == sum(len(g.edges) for g, _ in drawing.walk())
    shapes = [a["value"] for g in graphs.values() for n in g["nodes"] for o in n["outputsMetadata"] for a in o["attrs"]]
    assert any("float32" in shape for shape in shapes)


def test_types_of_values_are_in_the_model_for_netron() -> None:
    model = json.loads(write_netron(read(ROOT / "samples" / "mlp.relay")))
    (first, *_) = model["graph"]["input"]
    assert first["type"]["tensorType"]["elemType"] == 1 and first["type"]["tensorType"]["shape"]["dim"]


def test_the_picture_of_the_page_is_what_is_drawn_today() -> None:
    sample = ROOT / "samples" / "let.relay"
    text = sample.read_text(encoding="utf-8")
    drawn = write_svg(draw_module(irtool.parse(text, filename="let.relay"), text, "let.relay"))
    assert (ROOT / "docs" / "drawing.svg").read_text(encoding="utf-8") == drawn, (
        "irtool viz samples/let.relay -o docs/drawing.svg"
    )


def test_a_page_loads_nothing_and_names_are_no_markup() -> None:
    plain, evil = tags_of(write_html(draw_module(irtool.parse(layers(3))))), tags_of(write_html(hostile()))
    assert evil.scripts[-1] == plain.scripts[-1] and len(evil.scripts) == 2
    assert "img" not in evil.tags and not set(evil.tags) - set(plain.tags)
    for name, _ in evil.attributes:
        assert name not in ("src", "href", "onerror", "onclick")
    data = json.loads(evil.scripts[0])
    assert EVIL in data["views"][0]["nodes"][0]["label"]


def test_a_page_has_every_node_and_what_its_layout_depends_on() -> None:
    drawing = draw_module(irtool.parse(layers(4)))
    page = tags_of(write_html(drawing))
    (view,) = json.loads(page.scripts[0])["views"]
    ids = [v for k, v in page.attributes if k == "id" and re.fullmatch(r"v0n\d+", v or "")]
    assert sorted(ids) == sorted(f"v0n{n.number}" for n in drawing.nodes()) and len(ids) == len(view["nodes"])
    graphs = list(drawing.walk())
    assert [len(g["nodes"]) for g in view["graphs"]] == [len(g.nodes) for g, _ in graphs]
    assert [len(g["edges"]) for g in view["graphs"]] == [len(g.edges) for g, _ in graphs]
    assert view["text"] == drawing.text.splitlines()


def test_the_script_has_the_sizes_of_the_layout() -> None:
    from irtool.viz import sizes
    from irtool.viz.markup import part

    words = f"ACROSS = {sizes.ACROSS}, DOWN = {sizes.DOWN}, MARGIN = {sizes.MARGIN}, HEAD = {sizes.HEAD},"
    assert words in part("page.js")


def woven(count: int) -> str:
    """Operators that each read two of the twenty before them; one in fifty is read a long way below."""
    draw = random.Random(5)
    lines = ["  %0 = tanh(%x);"]
    for i in range(1, count):
        near = [f"%{draw.randrange(max(0, i - 20), i)}" for _ in range(2)]
        lines.append(f"  %{i} = add({near[0]}, {near[1]});" if i % 50 else f"  %{i} = multiply({near[0]}, %{i // 2});")
    body = "\n".join(lines)
    return f"{VERSION}def @main(%x: Tensor[(1, 64), float32]) {{\n{body}\n  exp(%{count - 1})\n}}\n"


@pytest.mark.parametrize("write", [write_listing, write_html, write_svg, write_dot])
def test_steps_grow_with_the_module(write: Callable[[Drawing], str]) -> None:
    """5,000 operators are drawn in three seconds: as long for each as in a small module, and without folding, too."""

    def work(count: int) -> int:
        text = woven(count)
        return steps(lambda: write(draw_module(irtool.parse(text), text, "net", folded=False)))

    work(20)  # what is read on first use
    small, large = work(150), work(1200)
    assert large < 10 * small


def test_the_drawing_for_netron_grows_with_the_module() -> None:
    """It has all edges as they are."""

    def work(count: int) -> int:
        text = woven(count)
        return steps(lambda: write_netron(draw_plainly(irtool.parse(text), text, "net")))

    work(20)
    small, large = work(150), work(1200)
    assert large < 10 * small
