"""Layered drawings: edges point downwards, nothing overlaps, and steps grow with the size of the graph."""

from __future__ import annotations

import random

import pytest

from irtool.viz.drawing import FAR, Edge, Graph, Node
from irtool.viz.layered.coordinates import place_vertices
from irtool.viz.layered.layers import Layers
from irtool.viz.layered.ordering import count_crossings, order_rows
from irtool.viz.layered.ranks import assign_ranks
from irtool.viz.layout import cut_long_edges, lay_out
from irtool.viz.sizes import ACROSS, node_size
from tests.work import steps


def random_graph(seed: int, count: int) -> Graph:
    """Each node reads one or two before it, most of them close ones."""
    draw = random.Random(seed)
    graph = Graph("g", [Node(f"op{i}" * draw.choice([1, 1, 4])) for i in range(count)])
    for i in range(1, count):
        for below in {max(0, i - 1 - int(draw.expovariate(0.3))) for _ in range(draw.choice([1, 1, 2]))}:
            graph.edges.append(Edge(graph.nodes[below], graph.nodes[i]))
    return graph


@pytest.mark.parametrize("seed", range(20))
def test_nothing_overlaps_and_edges_point_downwards(seed: int) -> None:
    graph = random_graph(seed, 10 + 20 * seed)
    cut_long_edges(graph)
    layout = lay_out(graph, node_size)
    boxes = [layout.box(n) for n in graph.nodes]
    for i, (x, y, w, h) in enumerate(boxes):
        assert x >= -0.1 and x + w <= layout.width + 0.1 and y + h <= layout.height
        for a, b, c, d in boxes[:i]:
            assert x + w + ACROSS <= a + 0.2 or a + c + ACROSS <= x + 0.2 or y + h < b or b + d < y
    for r in layout.routes:
        (_, y, _, h), (_, top, _, _) = layout.box(r.edge.source), layout.box(r.edge.target)
        ys = [y + h, *(layout.rows[rank][0] for rank, _ in r.via), top]
        assert ys == sorted(ys) and len(set(ys)) == len(ys)
        for rank, column in r.via:  # it passes no node
            row = [n for n in graph.nodes if layout.rank[n] == rank]
            assert all(abs(layout.x[n] - column) > layout.sizes[n][0] / 2 for n in row)


def test_sweeps_take_crossings_away() -> None:
    edges = [(0, 7), (1, 6), (2, 5), (3, 4)]
    layers = Layers(assign_ranks(8, edges), edges)
    assert count_crossings(layers) == 6
    assert order_rows(layers) == 0 == count_crossings(layers)


def test_crossings_are_those_of_all_pairs() -> None:
    draw = random.Random(7)
    edges = sorted({(draw.randrange(12), 12 + draw.randrange(12)) for _ in range(60)})
    layers = Layers([0] * 12 + [1] * 12, edges)
    place = layers.positions()
    ends = [(place[a], place[b]) for a, b in edges]
    pairs = sum((a - c) * (b - d) < 0 for i, (a, b) in enumerate(ends) for c, d in ends[:i])
    assert count_crossings(layers) == pairs


def test_a_long_edge_is_straight() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    layers = Layers(assign_ranks(5, edges), edges)
    x = place_vertices(layers, [60.0] * 5 + [10.0] * 3, 20.0)
    assert len({x[v] for v in layers.chains[4][1:-1]}) == 1
    assert len({x[v] for v in range(1, 4)}) == 1


def test_a_source_stands_beside_what_it_goes_to() -> None:
    assert assign_ranks(4, [(0, 1), (1, 2), (3, 2)]) == [0, 1, 2, 1]


def test_a_cycle_is_refused() -> None:
    with pytest.raises(ValueError, match="cycle"):
        assign_ranks(2, [(0, 1), (1, 0)])


def test_an_edge_over_many_ranks_ends_in_a_node_that_names_its_source() -> None:
    graph = Graph("g", [Node(f"op{i}") for i in range(40)])
    graph.edges = [Edge(a, b) for a, b in zip(graph.nodes, graph.nodes[1:], strict=False)]
    graph.edges.append(Edge(graph.nodes[0], graph.nodes[-1]))
    cut_long_edges(graph)
    (far,) = [n for n in graph.nodes if n.kind == FAR]
    assert far.label == "from op0" and any(e.source is far and e.target is graph.nodes[39] for e in graph.edges)
    layout = lay_out(graph, node_size)
    assert layout.rank[far] == 38


def test_steps_grow_with_the_size_of_the_graph() -> None:
    """5,000 nodes: fewer than 200 steps of the interpreter for each, ten times those of 500."""

    def work(count: int) -> int:
        graph = random_graph(3, count)

        def draw() -> None:
            cut_long_edges(graph)
            lay_out(graph, node_size)

        return steps(draw)

    small, large = work(500), work(5000)
    assert large < 13 * small
