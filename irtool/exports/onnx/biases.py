"""Biases as inputs of convolutions: `Add(Conv(x, w), Unsqueeze(b))` ⇒ `Conv(x, w, b)`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from .graph import Graph, Initializers, Node


def join_biases(graph: Graph, constants: Initializers) -> None:
    """Joins additions of a bias to their convolutions, in a graph and those inside of it.

    Engines recognise a quantized convolution by its three inputs.
    """
    producers = {o: n for n in graph.nodes for o in n.outputs}
    counts = _uses(graph)
    merged: set[int] = set()
    nodes: list[Node] = []
    for n in graph.nodes:
        for inner in n.attributes.values():
            if isinstance(inner, Graph):
                join_biases(inner, constants)
        for a, b in (n.inputs, n.inputs[::-1]) if n.op == "Add" else ():
            conv, spread = producers.get(a), producers.get(b)
            if conv is not None and spread is not None and counts[a] == 1 and _is_bias(conv, spread, constants):
                n = replace(conv, inputs=[*conv.inputs, spread.inputs[0]], outputs=n.outputs)
                merged |= {id(conv), *([id(spread)] if counts[b] == 1 else [])}
                break
        nodes.append(n)
    graph.nodes = [n for n in nodes if id(n) not in merged]


def _uses(graph: Graph) -> Counter[str]:
    """The number of reads of each name, also by nodes inside of nodes, and as outputs."""
    result: Counter[str] = Counter()
    stack = [graph]
    while stack:
        g = stack.pop()
        result.update(v.name for v, _ in g.outputs)
        for n in g.nodes:
            result.update(n.inputs)
            stack += [a for a in n.attributes.values() if isinstance(a, Graph)]
    return result


def _is_bias(conv: Node, spread: Node, constants: Initializers) -> bool:
    """True for a vector along the channels of a convolution that has no bias."""
    if conv.op != "Conv" or len(conv.inputs) != 2 or spread.op != "Unsqueeze":
        return False
    axes, _ = constants.arrays.get(spread.inputs[1], (None, ""))
    return axes is not None and axes.tolist() == list(range(1, len(conv.attributes["kernel_shape"]) + 1))
