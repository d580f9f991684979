"""Parameters that are weights: they are shown in the operator that reads them, not as inputs of the drawing.

Nothing in Relay tells a weight from an input. Here an input is a parameter that a result depends on by a way that does not
pass through the place of a weight: the weight or the bias of a call of an operator, by the name of the argument; the table that rows are taken of;
and, for vectors, the smaller operand of a broadcast.
"""

from __future__ import annotations

from ..ir import Call, Constant, Expr, Function, Let, Op, TensorType, Var, children, post_order
from ..ops.pattern import Pattern

_NAMES = {"weight", "bias", "gamma", "beta", "moving_mean", "moving_var", "alpha", "kernel"}
_ENDINGS = ("_scale", "_zero_point")
_OPEN, _BESIDE, _CLOSED = range(3)
"""How a way goes on: as any; as one on which a vector is a weight; as one on which every parameter is."""


def weights_of(function: Function) -> set[Var]:
    """The parameters that are weights, of a function and of those inside of it."""
    order = post_order(function)
    lets = {e.var: e.value for e in order if isinstance(e, Let)}
    result: set[Var] = set()
    for f in order:  # a kernel before its calls, so that its use of a parameter is known
        if isinstance(f, Function):
            used = _inputs(f, lets, result)
            reads = {e for e in post_order(f.body) if isinstance(e, Var)} if len(f.params) > 1 else set()
            result.update(p for p in f.params if p not in used and p in reads)
    return result


def _inputs(function: Function, lets: dict[Var, Expr], closed: set[Var]) -> set[Expr]:
    """The variables that a result of a function depends on as on inputs."""
    used: set[Expr] = set()
    seen: set[tuple[Expr, int]] = set()
    waiting: list[tuple[Expr, int]] = [(function.body, _OPEN)]
    while waiting:
        e, way = waiting.pop()
        if (e, way) in seen:
            continue
        seen.add((e, way))
        if isinstance(e, Var):
            if e in lets:
                waiting.append((lets[e], way))
            elif way == _OPEN or not _is_vector(e):
                used.add(e)
        elif isinstance(e, Call):
            waiting.append((e.op, way))
            for n, a in enumerate(e.args):
                place = _place(e, n, closed)
                if place != _CLOSED:
                    waiting.append((a, max(way, place)))
        else:
            waiting += [(below, way) for below in children(e)]
    return used


def _place(call: Call, position: int, closed: set[Var]) -> int:
    """The role of a call's operand that has the value of a _WAY."""
    if isinstance(call.op, Function):
        return _CLOSED if position < len(call.op.params) and call.op.params[position] in closed else _OPEN
    if not isinstance(call.op, Op):
        return _OPEN
    operator = call.op_class
    names = operator.names_of_arguments(len(call.args))
    name = names[position] if position < len(names) else ""
    if position and (name in _NAMES or name.endswith(_ENDINGS)):
        return _CLOSED
    if operator.name == "nn.matmul" and position == 1:
        return _CLOSED
    others = [a for n, a in enumerate(call.args) if n != position]
    if operator.name == "take" and position == 0 and not isinstance(others[0], Constant):
        return _CLOSED
    if operator.pattern is not Pattern.BROADCAST:
        return _OPEN
    return _BESIDE if _elements(call.args[position]) < max(map(_elements, others), default=0) else _OPEN


def _is_vector(e: Expr) -> bool:
    """True if a tensor is one value for each channel: of one axis, or of others of one step behind it."""
    t = e.checked_type
    if not isinstance(t, TensorType) or not t.shape:
        return False
    return len(t.shape) == 1 or all(d == 1 for d in t.shape[1:])


def _elements(e: Expr) -> int:
    """Elements of a tensor; 0 if their number is not known."""
    t = e.checked_type
    count = 1
    for d in t.shape if isinstance(t, TensorType) else (0,):
        count *= d if isinstance(d, int) else 0
    return count
