"""The forward dataflow graph that fusion works on.

Nodes are numbered in post-order, so every edge goes from a lower number to a higher one. Two things may not be fused
through: a node that something outside the dataflow refers to (a function's body, a branch, a `let`), which is `external`,
and an operator whose pattern is opaque.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...ir import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Match,
    MissingData,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    children,
    post_order,
)
from ...ir.types import has_static_shapes
from ...ops.base import Pattern

_SIMPLE_CONSTANTS = ("int32", "int64", "float32", "float64", "bool")
"""Types of scalars that code generation writes as literals."""


@dataclass
class DataflowGraph:
    """Nodes in post-order with the edges to their users.

    Attributes:
        nodes: the expressions; functions, operators and global names are not among them.
        index: the number of each node.
        outputs: for each node, its users as `(number, pattern)`, where the pattern says how the user reads it.
        external: whether something outside the dataflow refers to the node.
        patterns: how each node may be fused.
    """

    nodes: list[Expr] = field(default_factory=list)
    index: dict[Expr, int] = field(default_factory=dict)
    outputs: list[list[tuple[int, int]]] = field(default_factory=list)
    external: list[bool] = field(default_factory=list)
    patterns: list[int] = field(default_factory=list)


def dataflow_graph(function: Function) -> DataflowGraph:
    """The graph of a function's body and of the functions inside it (not of those for other compilers)."""
    graph = DataflowGraph()
    order = post_order(function, enter=_is_ours)
    for e in order:
        if e.__class__ is Function or e.__class__ is Op:
            continue
        graph.index[e] = len(graph.nodes)
        graph.nodes.append(e)
    count = len(graph.nodes)
    graph.outputs = [[] for _ in range(count)]
    graph.external = [False] * count
    graph.patterns = [int(Pattern.OPAQUE)] * count
    for e in order:
        _CONNECT.get(e.__class__, _leaf)(graph, e)
    return graph


def _is_ours(e: Expr) -> bool:
    return not (isinstance(e, Function) and "Compiler" in e.attrs)


def _leaf(graph: DataflowGraph, e: Expr) -> None:
    pass


def _refer(graph: DataflowGraph, e: Expr) -> None:
    node_index = graph.index.get(e)
    if node_index is not None:
        graph.external[node_index] = True


def _refer_to_children(graph: DataflowGraph, e: Expr) -> None:
    for child in children(e):
        _refer(graph, child)


def _edge(graph: DataflowGraph, source: Expr, user: int, pattern: int) -> None:
    node_index = graph.index.get(source)
    if node_index is not None:
        graph.outputs[node_index].append((user, pattern))


def _function(graph: DataflowGraph, e: Function) -> None:
    if _is_ours(e):
        for p in e.params:
            _refer(graph, p)
        _refer(graph, e.body)


def _let(graph: DataflowGraph, e: Let) -> None:
    _refer(graph, e.var)
    _refer(graph, e.value)
    _refer(graph, e.body)


def _constant(graph: DataflowGraph, e: Constant) -> None:
    if e.dtype in _SIMPLE_CONSTANTS and not isinstance(e.data, MissingData) and e.data.ndim == 0:
        graph.patterns[graph.index[e]] = Pattern.ELEMWISE


def _call(graph: DataflowGraph, e: Call) -> None:
    node_index = graph.index[e]
    if not isinstance(e.op, Op):
        _refer(graph, e.op)
        for arg in e.args:
            _edge(graph, arg, node_index, Pattern.OPAQUE)
        return
    pattern = pattern_of(e)
    graph.patterns[node_index] = pattern
    if pattern != Pattern.BROADCAST:
        for arg in e.args:
            _edge(graph, arg, node_index, pattern)
        return
    result = e.checked_type
    for arg in e.args:
        # A broadcasting operator reads an operand of the result's own shape element by element.
        seen = arg.checked_type
        same = isinstance(seen, TensorType) and isinstance(result, TensorType) and seen.shape == result.shape
        _edge(graph, arg, node_index, Pattern.ELEMWISE if same else pattern)


def pattern_of(e: Call) -> int:
    """The fusion pattern of a call of an operator; opaque where its shape can only be known from the data."""
    operator = e.op.operator  # type: ignore[attr-defined]  # the callee is an operator
    if operator.pattern is None:
        return Pattern.OPAQUE
    if operator.shape_from_data and is_dynamic(e.checked_type):
        return Pattern.OPAQUE
    return operator.pattern


def is_dynamic(t: Type | None) -> bool:
    """True if a tensor in the type has a dimension that is no number."""
    return t is not None and not has_static_shapes(t)


def _tuple(graph: DataflowGraph, e: Tuple) -> None:
    node_index = graph.index[e]
    graph.patterns[node_index] = Pattern.TUPLE
    for f in e.fields:
        if isinstance(f.checked_type, TensorType):
            _edge(graph, f, node_index, Pattern.INJECTIVE)
        else:
            _refer(graph, f)


def _tuple_get_item(graph: DataflowGraph, e: TupleGetItem) -> None:
    t = e.tuple.checked_type
    # A kernel takes tensors and flat tuples of tensors; nothing else may end up on its border.
    if isinstance(t, TupleType) and t.is_flat:
        node_index = graph.index[e]
        graph.patterns[node_index] = Pattern.INJECTIVE
        _edge(graph, e.tuple, node_index, Pattern.INJECTIVE)
    else:
        _refer(graph, e.tuple)


_CONNECT: dict[type, Callable[[DataflowGraph, Any], None]] = {
    Function: _function,
    Let: _let,
    Constant: _constant,
    Call: _call,
    Tuple: _tuple,
    TupleGetItem: _tuple_get_item,
    If: _refer_to_children,
    Match: _refer_to_children,
    RefCreate: _refer_to_children,
    RefRead: _refer_to_children,
    RefWrite: _refer_to_children,
    Var: _leaf,
}
