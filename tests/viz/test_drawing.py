"""What is drawn: every operator, what it reads, and how weights and repeated blocks are folded."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.ir import Call, Op, post_order
from irtool.viz.drawing import BLOCK, FAR, INPUT, OUTPUT, Node
from irtool.viz.module_drawing import draw_module
from irtool.viz.short_text import brief_size, brief_type, type_size
from tests.viz.drawings import VERSION, draw, layers

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT / "samples").glob("*.relay"))


@pytest.mark.parametrize("folded", [True, False])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
def test_every_operator_is_there_once(sample: Path, folded: bool) -> None:
    text = sample.read_text(encoding="utf-8")
    module = irtool.parse(text, filename=str(sample))
    calls = [
        e for f in module.functions.values() for e in post_order(f) if isinstance(e, Call) and isinstance(e.op, Op)
    ]
    want = Counter(c.op_name.removeprefix("nn.") for c in calls)
    drawing = draw_module(module, text, folded=folded)
    drawn = Counter(n.label for n in drawing.nodes() if n.kind not in (INPUT, OUTPUT, FAR))
    assert {name: drawn[name] for name in want} == want
    assert [n.number for n in drawing.nodes()] == list(range(sum(1 for _ in drawing.nodes())))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
def test_edges_join_nodes_of_one_graph(sample: Path) -> None:
    drawing = draw_module(irtool.parse(sample.read_text(encoding="utf-8")))
    for graph, _ in drawing.walk():
        here = set(graph.nodes)
        assert all(e.source in here and e.target in here for e in graph.edges)


def test_a_node_names_the_line_of_its_text() -> None:
    text = VERSION + "def @main(%x: Tensor[(2), float32]) {\n  %0 = exp(%x);\n  tanh(%0)\n}\n"
    drawing = draw(text)
    lines = {n.label: n.lines for n in drawing.nodes()}
    assert lines["exp"] == (3, 3) and lines["tanh"] == (4, 4) and lines["%x"] == (2, 2)
    printed = draw_module(irtool.parse(text))
    (node,) = [n for n in printed.nodes() if n.label == "tanh"]
    assert "tanh" in printed.text.splitlines()[node.lines[0] - 1]


def test_repeated_layers_are_one_block_each() -> None:
    (graph,) = draw(layers(6)).graphs
    blocks = [n for n in graph.nodes if n.kind == BLOCK]
    assert len(blocks) == 6 and {n.label for n in blocks} == {"block A"} and {n.repeats for n in blocks} == {6}
    inside = [[m.label for m in n.inside[0].nodes if m.kind not in (INPUT, OUTPUT, FAR)] for n in blocks]
    assert inside == [["dense", "multiply", "tanh", "add"]] * 6


def test_blocks_have_letters_in_the_order_in_which_they_are_read() -> None:
    """Whichever saves more nodes."""
    lines, value = ["  %0 = nn.relu(%x);"], 0
    for word in ("tanh", "tanh", *["exp"] * 5):
        lines += [
            f"  %{value + 1} = nn.dense(%{value}, %w, units=None);",
            f"  %{value + 2} = {word}(%{value + 1});",
            f"  %{value + 3} = sqrt(%{value + 2});",
            f"  %{value + 4} = add(%{value + 3}, %{value});",
        ]
        value += 4
    t, body = "Tensor[(8, 8), float32]", "\n".join(lines)
    (graph,) = draw(f"{VERSION}def @main(%x: {t}, %w: {t}) {{\n{body}\n  abs(%{value})\n}}\n").graphs
    assert [n.label for n in graph.nodes if n.kind == BLOCK] == ["block A"] * 2 + ["block B"] * 5


def test_without_folding_there_are_no_blocks() -> None:
    assert all(n.kind != BLOCK for n in draw(layers(6), folded=False).nodes())


def test_layers_that_differ_are_no_block() -> None:
    text = layers(2).replace("tanh", "exp", 1)
    assert all(n.kind != BLOCK for n in draw(text).nodes())


def test_weights_are_in_the_operator_that_reads_them() -> None:
    text = VERSION + (
        "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %b: Tensor[(3), float32]) {\n"
        "  nn.bias_add(nn.dense(%x, %w, units=None), %b)\n}\n"
    )
    nodes = {n.label: n for n in draw(text).nodes()}
    assert list(nodes) == ["%x", "dense", "bias_add", "result"]
    assert nodes["dense"].details == ("weight 3×4",) and nodes["bias_add"].details == ("bias 3",)


def test_a_mask_is_an_input_though_it_is_broadcast() -> None:
    t = "Tensor[(4, 8, 8), float32]"
    nodes = draw(VERSION + f"def @main(%x: {t}, %m: Tensor[(1, 8, 8), float32]) {{ add(%x, %m) }}\n").nodes()
    assert [n.label for n in nodes] == ["%x", "%m", "add", "result"]


def test_what_is_computed_from_weights_alone_is_one_node() -> None:
    text = VERSION + (
        "def @main(%x: Tensor[(2, 3, 4, 4), float32], %v: Tensor[(3), float32]) {\n"
        "  %0 = add(%v, 1e-5f);\n  %1 = rsqrt(%0);\n  %2 = expand_dims(%1, axis=1, num_newaxis=2);\n"
        "  multiply(%x, %2)\n}\n"
    )
    (graph,) = draw(text).graphs
    assert [n.label for n in graph.nodes] == ["%x", "weights", "multiply", "result"]
    (weights,) = [n for n in graph.nodes if n.label == "weights"]
    assert [n.label for n in weights.inside[0].nodes if n.kind != OUTPUT] == ["add", "rsqrt", "expand_dims"]


def test_what_is_computed_from_weights_for_a_block_is_in_it() -> None:
    body = "".join(
        f"  %{5 * i + 1} = rsqrt(add(%v, 1e-5f));\n  %{5 * i + 2} = multiply(%{5 * i}, %{5 * i + 1});\n"
        f"  %{5 * i + 3} = tanh(%{5 * i + 2});\n  %{5 * i + 4} = exp(%{5 * i + 3});\n  %{5 * i + 5} = erf(%{5 * i + 4});\n"
        for i in range(3)
    )
    header = "def @main(%x: Tensor[(2, 3), float32], %v: Tensor[(3), float32])"
    (graph,) = draw(f"{VERSION}{header} {{\n  %0 = nn.relu(%x);\n{body}  abs(%15)\n}}\n").graphs
    blocks = [n for n in graph.nodes if n.label == "block A"]
    assert len(blocks) == 3 and all(n.label != "weights" for n in graph.nodes)
    assert all([m.label for m in n.inside[0].nodes].count("weights") == 1 for n in blocks)


def test_kernels_have_their_operators_inside() -> None:
    module = irtool.run_passes(irtool.parse(layers(2)), "FuseOps")
    (graph,) = draw_module(module).graphs
    kernels = [n for n in graph.nodes if n.inside]
    assert [n.label for n in kernels] == ["relu", "dense · multiply · tanh · +1", "dense · multiply · tanh · +2"]
    assert [n.family for n in kernels] == ["elementwise", "product", "product"]
    inside = [n.label for n in kernels[1].inside[0].nodes]
    assert inside[-5:] == ["dense", "multiply", "tanh", "add", "result"]


def test_branches_get_what_they_read_from_outside() -> None:
    text = (ROOT / "samples" / "recursion.relay").read_text(encoding="utf-8")
    drawing = draw(text)
    (branch,) = [n for n in drawing.nodes() if n.label == "if"]
    assert [g.name for g in branch.inside] == ["true", "false"]
    assert [n.label for n in branch.inside[0].nodes] == ["%x", "result"]
    outer = drawing.graphs[0]
    assert sorted(e.source.label for e in outer.edges if e.target is branch) == ["%n", "%x", "less_equal"]


def test_deep_modules_need_no_recursion() -> None:
    count = 3000
    lets = "".join(f"  let %v{i + 1} = exp(%v{i});\n" for i in range(count))
    nodes = list(draw(f"{VERSION}def @main(%v0: float32) {{\n{lets}  %v{count}\n}}\n", folded=False).nodes())
    assert len(nodes) == count + 2
    ifs = "if (%c) { " * 400 + "%x" + " } else { %x }" * 400
    drawing = draw(f"{VERSION}def @main(%c: bool, %x: float32) {{ {ifs} }}\n")
    assert sum(n.label == "if" for n in drawing.nodes()) == 400


def test_types_in_brief() -> None:
    texts = {
        "Tensor[(64, 3, 7, 7), float32]": ("64×3×7×7", 37632),
        "Tensor[(1, ?), int64]": ("1×? int64", None),
        "float32": ("float32", 4),
        "bool": ("bool", 1),
        "(Tensor[(2), int8], Tensor[(3), float16])": ("(2 int8, 3 float16)", 8),
        "fn (float32) -> float32": ("fn (float32) -> float32", None),
    }
    for text, (brief, size) in texts.items():
        module = irtool.infer_types(irtool.parse(f"{VERSION}def @main(%x: {text}) {{ %x }}\n"))
        t = module["main"].params[0].checked_type
        assert (brief_type(t), type_size(t)) == (brief, size)
    sizes = [brief_size(n) for n in (None, 0, 999, 1000, 999_999, 3_210_000, 2_500_000_000)]
    assert sizes == ["", "0 B", "999 B", "1 KB", "1000 KB", "3.21 MB", "2.5 GB"]


def test_the_same_drawing_each_time() -> None:
    def described(n: Node) -> object:
        return n.label, n.details, n.lines, n.number

    text = layers(5)
    assert [described(n) for n in draw(text).nodes()] == [described(n) for n in draw(text).nodes()]


def test_constants_of_an_untyped_module_keep_their_types() -> None:
    """As in what is read from an ONNX model; the text that is drawn has no values of constants, so that nothing else tells."""
    ids = irtool.relay.var("ids", shape=(5,), dtype="int64")
    table = irtool.relay.const(np.zeros((30, 8), "float32"))
    module = irtool.Module.from_expr(irtool.relay.Function([ids], irtool.relay.take(table, ids, axis=0)))
    (graph,) = draw_module(module).graphs
    (node,) = [n for n in graph.nodes if n.label == "take"]
    assert "data 30×8" in node.details and node.type == "Tensor[(5, 8), float32]"
