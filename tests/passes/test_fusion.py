"""Fusion: post-dominators against their definition, groups, limits, and graphs of any shape in linear time."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.ir import Call, Expr, Function, Module, TensorType, Tuple, Var, post_order
from irtool.ops.base import call
from irtool.passes.fusion.dominators import PostDominators


@dataclass
class Graph:
    outputs: list[list[tuple[int, int]]]
    external: list[bool]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(1, 12))
    outputs: list[list[tuple[int, int]]] = []
    for i in range(count):
        later = list(range(i + 1, count))
        users = draw(st.lists(st.sampled_from(later), max_size=3)) if later else []
        outputs.append([(u, draw(st.integers(0, 4))) for u in users])
    return Graph(outputs, [draw(st.integers(0, 5)) == 0 for _ in range(count)])


def paths(graph: Graph, start: int) -> list[list[tuple[int, int]]]:
    """Every way from a node to the outside, as (node, pattern) pairs."""
    end = len(graph.outputs)
    if graph.external[start] or not graph.outputs[start]:
        return [[(end, 0)]]
    return [[edge, *rest] for edge in graph.outputs[start] for rest in paths(graph, edge[0])]


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_post_dominators_are_where_all_paths_meet(graph: Graph) -> None:
    tree = PostDominators(graph)
    end = len(graph.outputs)
    for i in range(end):
        ways = paths(graph, i)
        common = set.intersection(*[{n for n, _ in way} for way in ways])
        nearest = min(common)
        assert tree.parent[i] == nearest
        if nearest != end:
            read = [p for way in ways for n, p in way[: [m for m, _ in way].index(nearest) + 1]]
            assert tree.pattern[i] == max(read)
        for j in range(end):
            assert tree.dominates(j, i) == (i != j and all(j in [n for n, _ in way] for way in ways))


def fused(body: Expr, *params: Var, **config: int) -> list[list[str]]:
    """The operators of each kernel that fusion makes, sorted."""
    module = irtool.infer_types(Module({"main": Function(params, body)}))
    after = irtool.run_passes(module, [("FuseOps", {"fuse_opt_level": 2})], config=config or None)
    kernels = [e for e in post_order(after["main"]) if isinstance(e, Function) and e.attrs.get("Primitive")]
    return sorted([c.op.name for c in post_order(k.body) if isinstance(c, Call)] for k in kernels)


def tensor(name: str, *shape: int) -> Var:
    return Var(name, TensorType(shape, "float32"))


def test_two_convolutions_are_two_kernels():
    x, w = tensor("x", 1, 2, 4, 4), tensor("w", 2, 2, 1, 1)
    first = call("nn.relu", call("nn.conv2d", x, w, padding=(0, 0, 0, 0)))
    second = call("add", call("nn.conv2d", first, w, padding=(0, 0, 0, 0)), first)
    assert fused(second, x, w) == [["nn.conv2d", "add"], ["nn.conv2d", "nn.relu"]]


def test_opaque_operators_stand_alone():
    x = tensor("x", 4)
    assert fused(call("exp", call("sort", call("exp", x))), x) == [["exp"], ["exp"], ["sort"]]


def test_injective_operators_go_into_a_fused_tuple():
    x = tensor("x", 4)
    parts = Tuple(
        (call("transpose", x, axes=None), call("strided_slice", x, begin=(0,), end=(2,), strides=(1,), axes=None))
    )
    assert fused(call("exp", call("concatenate", parts, axis=0)), x) == [
        ["transpose", "strided_slice", "concatenate", "exp"]
    ]


def test_a_tuple_that_is_the_result_is_not_fused_into():
    x = tensor("x", 4)
    assert fused(Tuple((call("exp", x), call("log", x))), x) == [["exp"], ["log"]]


@pytest.mark.parametrize("most", [1, 2, 5])
def test_limit(most: int):
    x = tensor("x", 4)
    e: Expr = x
    for _ in range(20):
        e = call("exp", e)
    sizes = [len(k) for k in fused(e, x, **{"relay.FuseOps.max_depth": most})]
    assert sum(sizes) == 20 and max(sizes) == most


def test_constants_can_be_linked_into_kernels():
    from irtool.passes.core.constants import tensor_constant

    x = tensor("x", 2)
    module = irtool.infer_types(
        Module({"main": Function((x,), call("add", x, tensor_constant([1.0, 2.0], "float32")))})
    )
    for link, arguments in ((False, 2), (True, 1)):
        after = irtool.run_passes(module, "FuseOps", config={"relay.FuseOps.link_params": link})
        assert len(after["main"].body.args) == arguments


def test_fused_again_is_the_same_object():
    x = tensor("x", 4)
    module = irtool.infer_types(Module({"main": Function((x,), call("exp", call("nn.relu", x)))}))
    once = irtool.run_passes(module, "FuseOps")
    assert irtool.run_passes(once, "FuseOps") is once


def test_nested_skips_stay_linear():
    x = tensor("x", 4)
    down: list[Expr] = [x]
    for _ in range(2000):
        down.append(call("nn.relu", down[-1]))
    e = down[-1]
    for skipped in reversed(down[:-1]):
        e = call("add", e, skipped)
    assert sum(map(len, fused(e, x))) == 4000


@pytest.mark.parametrize("most", [1, 2, 3, 4, 6, 7])
def test_groups_are_as_large_as_they_may_be(most: int) -> None:
    chain = "%x"
    for _ in range(6):
        chain = f"nn.relu({chain})"
    module = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) {{ {chain} }}\n')
    fused = irtool.run_passes(module, "FuseOps{fuse_opt_level=2}", config={"relay.FuseOps.max_depth": most})
    groups = irtool.to_text(fused).split("Primitive=1")[1:]
    sizes = [part.split("}")[0].count("nn.relu") for part in groups]
    assert sum(sizes) == 6 and max(sizes) == min(6, most) and len(sizes) == -(-6 // most)


@pytest.mark.parametrize("most, kernels", [(3, 2), (4, 1)])
def test_a_diamond_counts_both_its_ways(most: int, kernels: int) -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) { %0 = nn.relu(%x); %1 = exp(%0); %2 = tanh(%0); add(%1, %2) }
"""
    fused = irtool.run_passes(irtool.parse(text), "FuseOps{fuse_opt_level=2}", config={"relay.FuseOps.max_depth": most})
    assert irtool.to_text(fused).count("Primitive=1") == kernels
