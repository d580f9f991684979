"""Weights that exporters have merged because their values were equal.

A fresh network has several scales of ones and shifts of zeros, and torch's export for inference writes equal arrays once. Trained as one
weight they would be another network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..deferred import np
from ..ir import Call, Expr, Function, TensorType, Var, rewrite
from ..ir.expr import with_function


def separate(function: Function, params: Mapping[str, Any]) -> tuple[Function, dict[str, Any], dict[str, str]]:
    """The typed function with a parameter for each use of a weight whose elements are all equal.

    Returns the function, all values of weights, and the origins of new parameters, by name.
    """
    values, origins = dict(params), {}
    merged = {p for p in function.params if p.name in params and _is_uniform(p, params[p.name])}
    names = {p.name for p in function.params}
    used: set[Var] = set()
    added: list[Var] = []

    def own(p: Var) -> Var:
        if p not in used:
            used.add(p)
            return p
        number = 1
        while (name := f"{p.name}_{number}") in names:
            number += 1
        names.add(name)
        values[name], origins[name] = params[p.name], p.name
        added.append(Var(name, p.known_type, p.span))
        return added[-1]

    def leave(old: Expr, new: Expr) -> Expr:
        if not isinstance(new, Call) or not merged.intersection(a for a in new.args if isinstance(a, Var)):
            return new
        args = tuple(own(a) if isinstance(a, Var) and a in merged else a for a in new.args)
        return Call(new.op, args, new.attrs, new.type_args, new.span)

    body = rewrite(function.body, leave)
    return with_function(function, params=(*function.params, *added), body=body), values, origins


def _is_uniform(p: Var, value: Any) -> bool:
    """True for an array of floating-point numbers whose elements are all equal."""
    t = p.known_type
    if not isinstance(t, TensorType) or not t.dtype.startswith("float"):
        return False
    array = np.asarray(value)
    return bool(array.size and (array == array.flat[0]).all())
