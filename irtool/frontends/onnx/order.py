"""The order in which nodes are converted: each behind those that make its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...diagnostics import IrError
from .mistakes import DamagedModel
from .model import Graph, Node


def in_order(nodes: Iterable[Node], outputs: Sequence[str], filename: str) -> list[Node]:
    """The nodes that the outputs need, in the order of the model as far as it stands, else behind their inputs.

    Raises IrError if two nodes make one value, or nodes wait for each other.
    """
    nodes = list(nodes)
    makers: dict[str, Node] = {}
    for n in nodes:
        for o in n.outputs:
            if o and makers.setdefault(o, n) is not n:
                raise IrError(f"two nodes make {o}", n.place, filename=filename, code=DamagedModel)
    index = {n: i for i, n in enumerate(nodes)}
    done: dict[Node, bool] = {}  # False: its operands are being visited
    order: list[Node] = []
    roots = sorted({makers[o] for o in outputs if o in makers}, key=index.__getitem__)
    for root in roots:
        stack = [root]
        while stack:
            n = stack[-1]
            state = done.get(n)
            if state is None:
                done[n] = False
                below = [makers[i] for i in dict.fromkeys(used_names(n)) if i in makers]
                waiting = next((b for b in below if done.get(b) is False), None)
                if waiting is not None:
                    raise IrError(
                        f"{waiting} needs its own result: the graph has a cycle",
                        waiting.place,
                        filename=filename,
                        code=DamagedModel,
                    )
                stack.extend(sorted((b for b in below if b not in done), key=index.__getitem__, reverse=True))
            else:
                stack.pop()
                if not state:
                    done[n] = True
                    order.append(n)
    return order


def used_names(node: Node) -> list[str]:
    """The names that a node looks up around it: its inputs, and the outer names in its subgraphs."""
    result = [i for i in node.inputs if i]
    graphs: list[tuple[Graph, frozenset[str]]] = [(g, frozenset()) for g in node.subgraphs.values()]
    while graphs:
        graph, around = graphs.pop()
        own = around | {i.name for i in graph.inputs} | set(graph.initializers)
        own |= {o for n in graph.nodes for o in n.outputs}
        result += [i for n in graph.nodes for i in n.inputs if i and i not in own]
        result += [o.name for o in graph.outputs if o.name not in own]
        graphs += [(g, own) for n in graph.nodes for g in n.subgraphs.values()]
    return result
