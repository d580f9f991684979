"""The call graph of a model's functions: before they are expanded, it must end, and not too late."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...diagnostics import IrError
from .mistakes import DamagedModel, UnsupportedNode
from .model import Model, Node
from .subgraphs import DEEPEST

_MOST_NODES = 2_000_000
"""Nodes that a model may have once its functions are expanded."""

Key = tuple[str, str]


def check_calls(model: Model) -> None:
    """Raises IrError for functions that call themselves, for a model that they expand without measure, and for graphs that are
    nested too deeply."""
    sizes: dict[Key, tuple[int, int]] = {}
    for key in _callees_first(model):
        sizes[key] = _size(model.functions[key].nodes, sizes)
    count, depth = _size(model.graph.nodes, sizes)
    if count > _MOST_NODES:
        raise IrError(
            f"with its functions expanded the model has {count} nodes, more than {_MOST_NODES}",
            filename=model.name,
            code=UnsupportedNode,
        )
    if depth > DEEPEST:
        raise IrError(f"graphs are nested deeper than {DEEPEST} levels", filename=model.name, code=UnsupportedNode)


def _callees_first(model: Model) -> Iterator[Key]:
    """The functions of the model, each behind those that it calls. Raises IrError if one calls itself."""
    state: dict[Key, bool] = {}  # False: its callees are being looked at
    for root in model.functions:
        stack = [root]
        while stack:
            key = stack[-1]
            if key not in state:
                state[key] = False
                for node, _ in _nested(model.functions[key].nodes):
                    callee = (node.op_type, node.overload)
                    if callee in model.functions and state.get(callee) is False:
                        raise IrError(
                            f"the function {node.op_type} calls itself",
                            node.place,
                            filename=model.name,
                            code=DamagedModel,
                        )
                    if callee in model.functions and callee not in state:
                        stack.append(callee)
            else:
                stack.pop()
                if not state[key]:
                    state[key] = True
                    yield key


def _size(nodes: Iterable[Node], sizes: dict[Key, tuple[int, int]]) -> tuple[int, int]:
    """The number of nodes, functions expanded, and how deep graphs are nested among them."""
    count = deepest = 0
    for node, depth in _nested(nodes):
        inner = sizes.get((node.op_type, node.overload), (1, 0))
        count += inner[0]
        deepest = max(deepest, depth + inner[1])
    return count, deepest


def _nested(nodes: Iterable[Node]) -> Iterator[tuple[Node, int]]:
    """The nodes, and those of graphs in them, each with the number of graphs around it."""
    stack = [(iter(tuple(nodes)), 0)]
    while stack:
        callees, depth = stack[-1]
        node = next(callees, None)
        if node is None:
            stack.pop()
            continue
        yield node, depth
        stack.extend((iter(g.nodes), depth + 1) for g in node.subgraphs.values())
