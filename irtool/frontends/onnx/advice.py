"""What a user can do about nodes that could not be converted: the help of messages that have none of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...diagnostics import Diagnostic
from ...ir import TensorType
from .inputs import shape_options
from .mistakes import DamagedModel, UnknownExtent, UnsupportedNode
from .model import Graph, Model, Node
from .order import used_names

_OTHERWISE = {
    UnsupportedNode: "replace it where the model is exported from, or export with another opset",
    DamagedModel: "export the model again; onnx.checker.check_model(model, full_check=True) may say more",
}


def advised(
    failures: Iterable[tuple[Diagnostic, Node]], model: Model, types: Mapping[str, TensorType]
) -> list[tuple[Diagnostic, Node]]:
    """The failures, each with a help. `types` are those of inputs that have no value, with the shapes that were given."""
    makers = {o: n for n in model.graph.nodes for o in n.outputs if o}
    found = []
    for d, node in failures:
        code = d.code or UnsupportedNode
        if not d.help and code is UnknownExtent:
            reached = inputs_behind(node, makers, types)
            d = replace(d, help=_to_know(model, {n: types[n] for n in types if n in reached}))
        elif not d.help:
            d = replace(d, help=_OTHERWISE.get(code, ""))
        found.append((d, node))
    return found


def inputs_behind(node: Node, makers: Mapping[str, Node], inputs: Iterable[str]) -> set[str]:
    """The inputs of the model that a node of its graph, or one in a node of it, is computed from; all of them where the node
    is that of a function.
    """
    everything = set(inputs)
    if node not in set(makers.values()) and not any(_has(n, node) for n in makers.values()):
        return everything
    waiting, seen, found = list(used_names(node)), set(), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in everything:
            found.add(name)
        elif name in makers:
            waiting += used_names(makers[name])
    return found or everything


def _has(outer: Node, node: Node) -> bool:
    graphs: list[Graph] = list(outer.subgraphs.values())
    while graphs:
        for n in graphs.pop().nodes:
            if n is node:
                return True
            graphs += n.subgraphs.values()
    return False


def _to_know(model: Model, inputs: Mapping[str, TensorType]) -> str:
    """What makes a number known that follows from these inputs: their shapes where one is open, else their values."""
    protos = {i.name: i for i in model.graph.inputs}
    for name, t in inputs.items():
        if not t.is_static:
            return f"say, for example: {shape_options(protos[name], t.shape)}"
    deciding = [n for n, t in inputs.items() if not t.dtype.startswith("float") and len(t.shape) <= 1]
    if not deciding:
        what = f"it follows from the values of {', '.join(inputs)}" if inputs else "the model leaves it open"
        return f"{what}: export the model with a number in its place"
    if len(deciding) == 1:
        name = deciding[0]
        return f"it follows from the value of {name}: irtool import --value {name}=… gives that, or a file for --params"
    return f"it follows from values among {', '.join(deciding)}: irtool import --value NAME=… gives them, or a file for --params"
