"""Functions that call themselves last, as `Loop`.

The body of the function is the body of the loop. Its state is what changes from turn to turn, and the results: a turn either
sets the state of the next one, or the results and the end. A parameter that every turn hands on as it is is read from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...deferred import np
from ...ir import Call, Expr, Function, GlobalVar, If, TensorType, Var, post_order
from .frames import Closure, Frame
from .graph import Graph, Value
from .no_form import NoForm
from .values import flatten, nested, tensor_leaves

if TYPE_CHECKING:
    from .emit import Emitter, Steps


@dataclass
class _Turn:
    """The end of a turn: the condition of another one, and the state and the results at that time."""

    more: Value
    state: list[Value]
    results: list[Value]


@dataclass
class _Loop:
    """The loop, for the end of a turn.

    Attributes:
        header: the function that is the loop.
        is_state: for each parameter, whether it is part of the state.
        state: the state as the turn has found it.
        results: the same for the results.
        types: the types of the state and the results.
    """

    emitter: Emitter
    header: Function
    is_state: list[bool]
    state: list[Value]
    results: list[Value]
    types: list[TensorType]


def write_loop(emitter: Emitter, callee: Closure, arguments: Sequence[Any], call: Call, graph: Graph) -> Steps:
    """The value of a call of a function that reaches itself: the results of a `Loop`; run by a trampoline."""
    f = callee.function
    is_constant = emitter.callees.constant_params(f)
    try:
        state_types = [
            t for p, k in zip(f.params, is_constant, strict=True) if not k for t in tensor_leaves(p.checked_type)
        ]
        result_types = tensor_leaves(call.checked_type)
    except NoForm as reason:
        emitter.missing.add("recursion", f"{reason}, and changes from turn to turn", call.span)
        return emitter.unknown(call.checked_type)
    initial = [v for a, k in zip(arguments, is_constant, strict=True) if not k for v in flatten(a)]
    body = emitter.subgraph(graph, call.span)
    if body is None:
        return emitter.unknown(call.checked_type)
    names = emitter.names

    def entry(hint: str, dtype: str, shape: Any) -> Value:
        v = Value(names.fresh(hint), dtype)
        body.inputs.append((v, shape))
        return v

    scalar = TensorType((), "int64")
    entry("turn", "int64", scalar)
    entry("go_on", "bool", TensorType((), "bool"))
    frame = emitter.instance(callee, body)
    state: list[Value] = []
    for p, k, a in zip(f.params, is_constant, arguments, strict=True):
        if k:
            frame.variables[p] = a
        else:
            leaves = [entry(p.name, t.dtype, lasting(t)) for t in tensor_leaves(p.checked_type)]
            state += leaves
            frame.variables[p] = nested(leaves, p.checked_type)
    results = [entry("result", t.dtype, lasting(t)) for t in result_types]
    loop = _Loop(emitter, f, [not k for k in is_constant], state, results, [*state_types, *result_types])
    emitter.active.append(f)
    turn = yield _end(loop, f.body, frame, body)
    emitter.active.pop()
    flag = TensorType((), "bool")
    for v, t in zip((turn.more, *turn.state, *turn.results), (flag, *state_types, *result_types), strict=True):
        body.outputs.append((emitter.owned(body, v), lasting(t)))
    w = emitter.writer(graph, call.span, "loop", emitter._hints.get(call, "loop"))
    start = [*initial, *(emitter.zeros(t) for t in result_types)]
    always = w.constant(np.array(True), "bool")
    loop_outputs = w.nodes("Loop", len(start), None, always, *start, dtypes=[v.dtype for v in start], body=body)
    return nested(loop_outputs[len(initial) :], call.checked_type)


def lasting(t: TensorType) -> TensorType | None:
    """The type that a value has in every turn; None if its extents may change."""
    return t if t.is_static else None


def _end(loop: _Loop, e: Expr, frame: Frame, graph: Graph) -> Steps:
    """The end of a turn that ends with an expression."""
    emitter = loop.emitter
    e = yield emitter.lets(e, frame)
    if isinstance(e, If) and _leads_on(loop, e):
        return (yield _branches(loop, e, frame, graph))
    callee = None
    if isinstance(e, Call):
        target = emitter.callees.function(e.op)
        if target is not None or isinstance(e.op, Var):
            callee = yield emitter.value(e.op, frame)
    w = emitter.writer(graph)
    if isinstance(e, Call) and isinstance(callee, Closure):
        f = callee.function
        if f is loop.header or (f not in emitter.active and loop.header in emitter.callees.reached(f)):
            arguments = []
            for a in e.args:
                arguments.append((yield emitter.value(a, frame)))
            if f is loop.header:
                state = [v for a, c in zip(arguments, loop.is_state, strict=True) if c for v in flatten(a)]
                return _Turn(w.constant(np.array(True), "bool"), state, loop.results)
            inner = emitter.instance(callee, graph)
            inner.variables.update(zip(f.params, arguments, strict=True))
            emitter.active.append(f)
            turn = yield _end(loop, f.body, inner, graph)
            emitter.active.pop()
            return turn
    value = yield emitter.value(e, frame)
    return _Turn(w.constant(np.array(False), "bool"), loop.state, flatten(value))


def _leads_on(loop: _Loop, e: If) -> bool:
    """True if another turn may follow from an `if`."""
    callees = loop.emitter.callees
    for part in post_order(e.true_branch, e.false_branch):
        if isinstance(part, GlobalVar | Var | Function):
            f = callees.function(part)
            if f is not None and (f is loop.header or loop.header in callees.reached(f)):
                return True
    return False


def _branches(loop: _Loop, e: If, frame: Frame, graph: Graph) -> Steps:
    """The end of a turn that depends on a condition."""
    emitter = loop.emitter
    home, _ = frame.home(e)
    condition = yield emitter.value(e.cond, frame)
    bodies: list[Graph] = []
    ends: list[_Turn] = []
    for scope, branch in zip(home.analysis.scopes.inner[e], (e.true_branch, e.false_branch), strict=True):
        body = emitter.subgraph(graph, e.span)
        if body is None:
            return _Turn(condition, loop.state, loop.results)
        home.graphs[scope] = body
        bodies.append(body)
        ends.append((yield _end(loop, branch, home, body)))
    results = [[t.more, *t.state, *t.results] for t in ends]
    types = [TensorType((), "bool"), *map(lasting, loop.types)]
    merged = emitter.choose(condition, bodies, results, types, graph, e.span, "if")
    return _Turn(merged[0], merged[1 : 1 + len(loop.state)], merged[1 + len(loop.state) :])
