"""The graph of a network in the JSON of TVM's graph executor: nodes, their inputs, shapes, dtypes and storage."""

from __future__ import annotations

import json
from typing import Any

from ..diagnostics import Diagnostic, IrError
from ..ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Var,
    post_order,
    tuple_leaves,
)
from ..ir.structural import structural_equal, structural_hash
from ..ir.types import distinct_leaves
from ..lower.naming import kernel_name
from ..lower.storage import StoragePlan, plan
from ..ops.base import is_call_to
from ..passes.core.primitive_functions import is_primitive, only_reshapes
from .mistakes import NotAStraightLine

_CPU = 1


def graph_json(module: Module, entry: str = "main") -> str:
    """The graph of a fused function whose types are known.

    A parameter or a constant is a `null` node (constants are `p0`, `p1`, …); the call of a primitive function is a `tvm_op`
    node; a variable that a `let` binds is its value. Raises IrError, with all reasons, for a function that is no graph: one
    with branches, calls of functions that are no kernels, references, algebraic data, or functions as values, or with lengths that a
    run decides.
    """
    from ..infer import infer_types
    from ..infer.lengths import symbols_of_params
    from ..passes import run_passes

    if not isinstance(module.functions.get(entry), Function):
        raise IrError(f"there is no function @{entry} to make a graph of")
    lengths = symbols_of_params(module[entry])
    if lengths:
        raise IrError(
            f"the graph executor takes shapes of numbers, and a run decides {lengths[0].name}",
            module[entry].span,
            code=NotAStraightLine,
        )
    function = infer_types(run_passes(module, "LabelOps"))[entry]  # labels of the kernels, beside their names
    return _Graph(function).write()


def graph_constants(module: Module, entry: str = "main") -> dict[str, Any]:
    """The constants of that graph by their names in it, as arrays. Raises as `graph_json` does."""
    graph_json(module, entry)
    order = post_order(module[entry].body, enter=lambda e: not isinstance(e, Function))
    return {f"p{n}": e.data for n, e in enumerate(e for e in order if isinstance(e, Constant))}


class _Graph:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.nodes: list[dict[str, Any]] = []
        self.inputs: list[int] = []
        self.rows = [0]
        self.dtypes: list[str] = []
        self.shapes: list[list[int]] = []
        self.storage: list[int] = []
        self.order = post_order(function.body, enter=lambda e: not isinstance(e, Function))
        self.bound: dict[Expr, Expr] = {e.var: e.value for e in self.order if isinstance(e, Let)}
        self.at: dict[Expr, list[tuple[int, int]]] = {}
        """By expression, the node and the number of its output, for each tensor of its value."""
        self.kernels: dict[int, list[tuple[Function, str]]] = {}
        self.names: dict[str, int] = {}
        self.node_names: dict[str, int] = {}

    def write(self) -> str:
        """The JSON text."""
        self._refuse_what_is_no_graph()
        stored = plan(self.function)
        for p in self.function.params:
            self._input(p, p.name, stored)
        constants = 0
        for e in self.order:
            if isinstance(e, Constant):
                self._input(e, f"p{constants}", stored)
                constants += 1
            elif isinstance(e, Call) and not is_call_to(e, "on_device"):
                self._call(e, stored)
            elif isinstance(e, Tuple):
                self.at[e] = [x for f in e.fields for x in self._outputs(f)]
            elif isinstance(e, TupleGetItem):
                self.at[e] = self._projection(e)
        graph = {
            "nodes": self.nodes,
            "arg_nodes": self.inputs,
            "heads": [[n, k, 0] for n, k in self._outputs(self.function.body)],
            "attrs": {
                "dltype": ["list_str", self.dtypes],
                "device_index": ["list_int", [_CPU] * len(self.dtypes)],
                "storage_id": ["list_int", self.storage],
                "shape": ["list_shape", self.shapes],
            },
            "node_row_ptr": self.rows,
        }
        return json.dumps(graph, indent=2) + "\n"

    def _refuse_what_is_no_graph(self) -> None:
        """Raises IrError with every part that a list of kernel calls cannot express."""
        problems = [
            Diagnostic(
                f"the graph executor supports straight-line networks only; this is {what}",
                e.span,
                code=NotAStraightLine,
            )
            for e in self.order
            if (what := self._beyond_graphs(e))
        ]
        result = self.function.body.checked_type
        assert result is not None
        if any(not isinstance(t, TensorType) for t in distinct_leaves(result)):
            problems.append(
                Diagnostic("the graph executor returns tensors only", self.function.body.span, code=NotAStraightLine)
            )
        if problems:
            raise IrError(list(dict.fromkeys(problems)))

    def _beyond_graphs(self, e: Expr) -> str:
        """A description of an expression that no graph can hold; None for any other."""
        if isinstance(e, If):
            return "an if"
        if isinstance(e, Match):
            return "a match"
        if isinstance(e, RefCreate | RefRead | RefWrite):
            return "a reference"
        if not isinstance(e, Call):
            return ""
        callee = self.bound.get(e.op, e.op)
        if isinstance(callee, Op):
            return ""
        if isinstance(callee, Constructor):
            return "algebraic data"
        if isinstance(callee, GlobalVar):
            return f"a call of @{callee.name}, which is no kernel"
        return "" if is_primitive(callee) else "a call of a function that is no kernel"

    def _outputs(self, e: Expr) -> list[tuple[int, int]]:
        """The places of the tensors of a value, behind devices and variables that a `let` binds."""
        while e not in self.at:
            if is_call_to(e, "on_device"):
                e = e.args[0]
            else:
                e = e.body if isinstance(e, Let) else self.bound[e]
        return self.at[e]

    def _projection(self, e: TupleGetItem) -> list[tuple[int, int]]:
        t = e.tuple.checked_type
        assert isinstance(t, TupleType)
        start = sum(len(_tensors(f)) for f in t.fields[: e.index])
        return self._outputs(e.tuple)[start : start + len(_tensors(t.fields[e.index]))]

    def _node(self, e: Expr, node: dict[str, Any], stored: StoragePlan) -> None:
        tensors = _tensors(e.checked_type)
        self.nodes.append(node)
        self.rows.append(self.rows[-1] + len(tensors))
        self.dtypes += [t.dtype for t in tensors]
        self.shapes += [list(t.static_shape) for t in tensors]
        self.storage += stored[e].ids if tensors else ()
        self.at[e] = [(len(self.nodes) - 1, k) for k in range(len(tensors))]

    def _input(self, e: Var | Constant, name: str, stored: StoragePlan) -> None:
        self.inputs.append(len(self.nodes))
        self._node(e, {"op": "null", "name": name, "inputs": []}, stored)

    def _call(self, e: Call, stored: StoragePlan) -> None:
        inputs = [[n, k, 0] for a in e.args for n, k in self._outputs(a)]
        function = self._kernel(e)
        node = function if function != "__nop" else "reshape_nop"
        seen = self.node_names[node] = self.node_names.get(node, -1) + 1
        callee = self.bound.get(e.op, e.op)
        callee_attrs = callee.attrs if isinstance(callee, Function) else {}
        attrs = {
            "num_outputs": str(len(_tensors(e.checked_type))),
            "num_inputs": str(len(inputs)),
            "flatten_data": "0",
            "func_name": function,
            **{k: v for k, v in callee_attrs.items() if isinstance(v, str)},
        }
        name = f"{node}{seen}" if seen else node
        self._node(e, {"op": "tvm_op", "name": name, "attrs": attrs, "inputs": inputs}, stored)

    def _kernel(self, e: Call) -> str:
        """The name of the function that does the call; equal primitive functions share one."""
        f = self.bound.get(e.op, e.op)
        if isinstance(f, Op):
            return self._named([f.name])
        assert isinstance(f, Function)
        if only_reshapes(f):
            return "__nop"
        known = self.kernels.setdefault(structural_hash(f), [])
        for other, name in known:
            if structural_equal(other, f):
                return name
        name = self._named([c.op.name for c in post_order(f.body) if isinstance(c, Call) and isinstance(c.op, Op)])
        known.append((f, name))
        return name

    def _named(self, operators: list[str]) -> str:
        name = kernel_name(operators)
        seen = self.names[name] = self.names.get(name, -1) + 1
        return f"{name}_{seen}" if seen else name


def _tensors(t: Any) -> list[TensorType]:
    return [x for x in tuple_leaves(t) if isinstance(x, TensorType)]
