"""Puts operators in the place of `onnx.node` calls whose extents are known by now: those of parameters that were given shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...infer import infer_types
from ...interp.evaluate import evaluate_expr
from ...ir import Call, Expr, Function, Module, TensorType, Tuple, Var, post_order, rewrite, without_return_type
from ...ops.creation import Arange
from ...ops.onnx_node import OnnxNode, has_waiting_nodes, is_guessed, is_waiting
from ...passes import run_passes
from .graph import GraphImporter, Scope
from .groups import recognised
from .mistakes import DamagedModel
from .model import Graph, Model, Node
from .package import onnx_package
from .program import Functions
from .read import read_node
from .value import Value

_LARGEST = 4096
"""Elements of a vector that is evaluated, since it may decide a shape."""
_MOST_ROUNDS = 20


def settle(module: Module, entry: str, weights: Mapping[str, np.ndarray]) -> Module:
    """The module with operators for those `onnx.node` calls that need no more extents; others stay.

    `weights` has values of parameters of `entry`, which may decide shapes. Raises IrError if a node has no form with its shapes.
    """
    for _ in range(_MOST_ROUNDS):
        # What was computed while the program runs is known by now, in part.
        module = _with_bounds(run_passes(module, "DynamicToStatic", opt_level=3, instruments=()))
        settled = _round(module, entry, weights)
        if settled is module or not has_waiting_nodes(settled):
            break
        module = settled
    return _with_bounds(settled)


def _with_bounds(module: Module) -> Module:
    """The module with calls of `arange` whose attributes, which repeat the arguments, have the arguments of now."""

    def renewed(old: Expr, e: Expr) -> Expr:
        if not (isinstance(e, Call) and isinstance(e.attrs, Arange)):
            return e
        start, stop, step = e.args
        if (e.attrs.start, e.attrs.stop, e.attrs.step) == e.args:
            return e
        return Call(e.op, e.args, replace(e.attrs, start=start, stop=stop, step=step), e.type_args, e.span)

    renewed_functions = {name: rewrite(f, renewed) for name, f in module.relay_functions.items()}
    if all(renewed_functions[name] is f for name, f in module.relay_functions.items()):
        return module
    functions = {n: without_return_type(f) for n, f in renewed_functions.items() if isinstance(f, Function)}
    return infer_types(
        Module({**module.functions, **functions}, module.type_definitions, module.attrs, module.metadata)
    )


def _round(module: Module, entry: str, weights: Mapping[str, np.ndarray]) -> Module:
    functions = Functions(tuple(module.functions))
    rewritten: dict[str, Any] = dict(module.functions)
    changed = False
    for name, f in module.relay_functions.items():
        if not any(is_waiting(e) for e in post_order(f)):
            continue
        known = {p: np.asarray(weights[p.name]) for p in f.params if p.name in weights} if name == entry else {}

        def settled(old: Expr, e: Expr, known: Mapping[Var, np.ndarray] = known) -> Expr:
            return _settled(e, known, functions)

        new = rewrite(f, settled)
        if new is not f and _waiting_count(new) < _waiting_count(f):
            assert isinstance(new, Function)
            rewritten[name], changed = recognised(without_return_type(new)), True
    if not changed:
        return module
    used = {
        n: g for f in rewritten.values() if isinstance(f, Function) for n, g in functions.used_by(f, f.params).items()
    }
    return infer_types(Module({**rewritten, **used}, module.type_definitions, module.attrs, module.metadata))


def _waiting_count(f: Expr) -> int:
    return sum(map(is_waiting, post_order(f)))


def _settled(e: Expr, known: Mapping[Var, np.ndarray], functions: Functions) -> Expr:
    """The replacement of an expression: for a call of `onnx.node` the operators, if they can be made."""
    if not is_waiting(e):
        return e
    assert isinstance(e, Call) and isinstance(e.attrs, OnnxNode)
    if any(map(is_guessed, e.args)):
        return e
    values = [_value(a, known) for a in e.args]
    node, model = _model_of(e)
    scope = Scope(None, dict(zip(e.attrs.input_names, values, strict=True)))
    failures: list = []
    importer = GraphImporter(model, scope, model.opsets, failures, functions=functions, place=e.span)
    converted = importer.convert_nodes([node], scope, [o for o in node.outputs if o])
    if failures:
        from .waiting import has_open_extents, waits

        error = IrError([d for d, _ in failures])
        if waits(error) or has_open_extents(values):
            return e
        raise error
    results = [v.expr for v in converted if v is not None]
    return results[0] if len(results) == 1 else Tuple(tuple(results))


def settle_call(e: Call) -> Expr:
    """The operators that one call of `onnx.node` stands for; the call itself where extents are missing, or a loop is in it."""
    functions = Functions(())
    settled = _settled(e, {}, functions)
    return e if functions.used_by(settled, ()) else settled


def _value(e: Expr, known: Mapping[Var, np.ndarray]) -> Value:
    v = Value.of(e)
    if isinstance(e, Var) and e in known:
        return replace(v, known=known[e], parameter=True)
    t = v.type
    if v.known is not None or not isinstance(t, TensorType) or t.dtype not in ("int32", "int64", "bool", "float32"):
        return v
    if t.extents is None or int(np.prod(t.extents)) > _LARGEST:
        return v
    if any(isinstance(x, Var) for x in post_order(e)):
        return v
    return Value.constant(evaluate_expr(v.expr), t.dtype)


def _model_of(call: Call) -> tuple[Node, Model]:
    """The node that a call stands for, and a model of its opsets. Raises IrError if the attributes hold none."""
    attrs = call.attrs
    assert isinstance(attrs, OnnxNode)
    onnx = onnx_package()
    from google.protobuf.message import DecodeError

    name = call.span.source.name if call.span is not None else "<text>"
    proto = onnx.NodeProto()
    try:
        proto.ParseFromString(attrs.node_bytes)
    except DecodeError as error:
        raise IrError(f"the attributes of onnx.node hold no node: {error}", call.span, code=DamagedModel) from None
    node = read_node(proto, name)
    return node, Model(name, attrs.versions, Graph("", (node,), (), ()))


__all__: Sequence[str] = ["settle", "settle_call"]
