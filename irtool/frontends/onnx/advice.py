"""Suggestions for nodes that could not be converted: the help of messages without one of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...diagnostics import Diagnostic, IrError
from ...ir import TensorType
from .mistakes import DamagedModel, ImpossibleBranch, UnknownExtent, UnsupportedNode, WaitingNodes
from .model import Graph, Model, Node, names_of
from .order import used_names
from .shape_suggestions import Attempt, options_of, working_example

_OTHERWISE = {
    UnsupportedNode: "replace it where the model is exported from, or export with another opset",
    DamagedModel: "export the model again; onnx.checker.check_model(model, full_check=True) may say more",
}


def advised(
    failures: Iterable[tuple[Diagnostic, Node]],
    model: Model,
    types: Mapping[str, TensorType],
    attempt: Attempt,
    dims: Mapping[str, int],
) -> list[tuple[Diagnostic, Node]]:
    """The failures, each with a help. `types` are those of inputs that have no value, with the shapes that were given."""
    makers = {o: n for n in model.graph.nodes for o in n.outputs if o}
    result = []
    for d, node in failures:
        code = d.code or UnsupportedNode
        if not d.help and code is UnknownExtent:
            reached = inputs_behind(node, makers, types)
            d = replace(d, help=_to_know(model, {n: types[n] for n in types if n in reached}, types, attempt, dims))
        elif not d.help:
            d = replace(d, help=_OTHERWISE.get(code, ""))
        result.append((d, node))
    return result


def waiting_nodes(
    waiting: Mapping[Node, str],
    model: Model,
    types: Mapping[str, TensorType],
    attempt: Attempt,
    dims: Mapping[str, int],
) -> Diagnostic:
    """The warning that calls stand for these nodes, each with the fact that it waits for."""
    nodes = list(waiting)
    count = "1 node waits" if len(nodes) == 1 else f"{len(nodes)} nodes wait"
    op_types = ", ".join(sorted({n.op_type for n in nodes}))
    notes = tuple(dict.fromkeys(filter(None, waiting.values())))[:1]
    return Diagnostic(
        f"{count} for extents that are open ({op_types}): {names_of(nodes)}",
        nodes[0].place,
        "warning",
        notes,
        _to_know(model, types, types, attempt, dims),
        model.name,
        WaitingNodes,
    )


def impossible_branch(node: Node, error: IrError, model: Model) -> Diagnostic:
    """The warning that a branch of the node fails if it is taken."""
    return Diagnostic(
        f"a branch of {node} is impossible with these shapes: a run that takes it fails",
        node.place,
        "warning",
        (error.diagnostics[0].message,),
        "--value NAME=… fixes the input that chooses the branch, so that the other one is left out",
        model.name,
        ImpossibleBranch,
    )


def inputs_behind(node: Node, makers: Mapping[str, Node], inputs: Iterable[str]) -> set[str]:
    """The inputs of the model that a node of its graph, or one in a node of it, is computed from; all of them where the node
    is that of a function.
    """
    everything = set(inputs)
    if node not in set(makers.values()) and not any(_has(n, node) for n in makers.values()):
        return everything
    waiting, seen, reached = list(used_names(node)), set(), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in everything:
            reached.add(name)
        elif name in makers:
            waiting += used_names(makers[name])
    return reached or everything


def _has(outer: Node, node: Node) -> bool:
    graphs: list[Graph] = list(outer.subgraphs.values())
    while graphs:
        for n in graphs.pop().nodes:
            if n is node:
                return True
            graphs += n.subgraphs.values()
    return False


def _to_know(
    model: Model,
    inputs: Mapping[str, TensorType],
    types: Mapping[str, TensorType],
    attempt: Attempt,
    dims: Mapping[str, int],
) -> str:
    """The facts to give so that a number which follows from these inputs is known: open shapes, else values.

    `types` are those of all inputs.
    """
    protos = {i.name: i for i in model.graph.inputs}
    open_ = [protos[name] for name, t in inputs.items() if not t.is_static]
    if open_:
        fixed = {n: t.static_shape for n, t in types.items() if t.is_static}
        example = working_example(model, fixed, dims, attempt)
        return f"say, for example: {options_of(open_, example, dims)}"
    deciding = [n for n, t in inputs.items() if not t.dtype.startswith("float") and len(t.shape) <= 1]
    if not deciding:
        what = f"it follows from the values of {', '.join(inputs)}" if inputs else "the model leaves it open"
        return f"{what}: export the model with a number in its place"
    if len(deciding) == 1:
        name = deciding[0]
        return f"it follows from the value of {name}: --value {name}=… gives that, or a file for --params"
    return f"it follows from values among {', '.join(deciding)}: --value NAME=… gives them, or a file for --params"
