"""Gradients checked against central differences, computed in double precision.

For a function f of parameters x and a direction v, g · v = (F(x + h v) - F(x - h v)) / 2h up to terms of h², where F is the sum
over the result and g its gradient. One random direction in the space of all parameters shows every wrong gradient, except by
chance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from typing import Any

from ...deferred import np
from ...infer import infer_types
from ...interp.evaluate import evaluate
from ...ir import Call, Constant, Expr, Function, Module, TensorType, Type, Var, refresh, rewrite
from ...ir.types import rebuild_type, type_children
from ...ir.values import value_leaves
from ...trampoline import trampoline

Steps = Generator[Any, Any, Any]

_STEP = 1e-5
_TOLERANCE = 1e-2
"""Of the sum over |g v|: gradients are computed in single precision."""


class NotSmooth(Exception):
    """The function has a kink where it was to be differentiated."""


def gradient_error(before: Module, entry: str, inputs: list[Any], gradients: Any, whole: bool, seed: int) -> str | None:
    """A sentence about gradients that do not fit the function, or None.

    Args:
        before: the module without gradients, typed.
        gradients: of the parameters, in order, as the interpreter gave them for `inputs`.
        whole: whether it is the sum over all tensors of the result that was differentiated, or over the first.

    Raises NotSmooth if the function has no derivative; IrError where it cannot be computed in double precision.
    """
    double = in_double(before)
    rng = np.random.default_rng(seed)
    points = widen_floats(inputs)
    directions = _map(lambda a: rng.standard_normal(a.shape) if _is_float(a) else np.zeros(a.shape), inputs)

    def objective(step: float) -> float:
        moved = _map(lambda x, v: np.asarray(x + step * v) if _is_float(x) else x, points, directions)
        outputs = _floats(evaluate(double, moved, entry=entry), whole)
        return float(sum(np.sum(a, dtype=np.float64) for a in outputs))

    products = []
    for g, v in zip(value_leaves(gradients), value_leaves(directions), strict=True):
        if g.shape != v.shape:
            return f"a gradient has the shape {list(g.shape)}, and its parameter {list(v.shape)}"
        products.append(g.astype(np.float64) * v)
    got = float(sum(np.sum(p) for p in products))
    below, here, above = objective(-_STEP), objective(0), objective(_STEP)
    want = (above - below) / (2 * _STEP)
    scale = max(float(sum(np.sum(np.abs(p)) for p in products)), abs(want), 1e-3)
    if not np.isfinite([want, got]).all():
        raise NotSmooth("the function or its gradient is not finite here")
    if abs((above - here) - (here - below)) / _STEP > _TOLERANCE * scale:
        raise NotSmooth("the function has a kink here")
    if abs(got - want) <= _TOLERANCE * scale:
        return None
    return f"along a random direction the gradient says {got:.6g}, and central differences {want:.6g}"


def in_double(module: Module) -> Module:
    """The module with float32 and float16 computed as float64. Raises IrError if that does not type-check."""
    functions = {n: _function_in_double(f) if isinstance(f, Function) else f for n, f in module.functions.items()}
    return infer_types(module.with_functions(functions))


def widen_floats(values: Any) -> Any:
    """Values as the module in double precision takes them."""
    return _map(lambda a: a.astype(np.float64) if _is_float(a) else a, values)


def _function_in_double(function: Function) -> Expr:
    def leave(old: Expr, new: Expr) -> Any:
        if isinstance(new, Constant) and _is_float(new.data):
            return Constant(np.asarray(new.data).astype(np.float64), span=new.span)
        if isinstance(new, Call) and dataclasses.is_dataclass(new.attrs) and not isinstance(new.attrs, type):
            attrs = new.attrs
            wide = {f.name: "float64" for f in dataclasses.fields(attrs) if getattr(attrs, f.name) in _NARROW}
            if wide:
                return Call(new.op, new.args, dataclasses.replace(attrs, **wide), (), new.span)
        if isinstance(new, Function):
            ret = new.ret_type and _type_in_double(new.ret_type)
            return Function(new.params, new.body, ret, new.type_params, new.attrs, new.span)
        return new

    def annotate(v: Var) -> Type | None:
        t = v.checked_type or v.type_annotation
        return t and _type_in_double(t)

    return rewrite(refresh(function, annotate), leave)


_NARROW = ("float32", "float16")


def _type_in_double(t: Type) -> Type:
    return trampoline(_widened(t))


def _widened(t: Type) -> Steps:
    """Written as if recursive: see `trampoline`."""
    if isinstance(t, TensorType):
        return TensorType(t.shape, "float64") if t.dtype in _NARROW else t
    parts = []
    for part in type_children(t):
        parts.append((yield _widened(part)))
    return rebuild_type(t, parts)


def _is_float(a: Any) -> bool:
    return getattr(a, "dtype", None) is not None and a.dtype.kind == "f"


def _map(change: Callable[..., Any], *values: Any) -> Any:
    """`change` of the tensors that stand in the same places of values which are alike."""
    return trampoline(_mapped(change, values))


def _mapped(change: Callable[..., Any], values: tuple[Any, ...]) -> Steps:
    if not isinstance(values[0], tuple | list):
        return change(*values)
    fields = []
    for together in zip(*values, strict=True):
        fields.append((yield _mapped(change, together)))
    return tuple(fields)


def _floats(value: Any, whole: bool) -> list[Any]:
    leaves = value_leaves(value)
    return [a for a in (leaves if whole else leaves[:1]) if _is_float(a)]
