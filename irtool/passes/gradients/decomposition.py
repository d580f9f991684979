"""Gradients of operators through others of which they are made: for layers whose own formula would repeat those of their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import starmap

from ...infer import infer_expr
from ...ir import Call, Expr, Function, Op, Tuple, TupleGetItem, Type, Var, post_order, rewrite
from ...ops.base import is_call_to
from ..core.arithmetic import add
from .rule import GradientSite, no_gradient, rule_of, zeros_like


def through(grad: Expr, make: Callable[..., Expr], values: Sequence[tuple[Expr, Type]]) -> list[Expr]:
    """The gradients with respect to `values`, each with its type, where `grad` is that of `make(*values)`.

    `make` calls operators that have gradients, on tensors.
    """
    params = [Var(f"argument_{i}", t) for i, (_, t) in enumerate(values)]
    function = infer_expr(Function(tuple(params), make(*params)))
    return _backward(function, [v for v, _ in values], grad)


def _backward(function: Function, arguments: Sequence[Expr], grad: Expr) -> list[Expr]:
    values: dict[Expr, Expr] = dict(zip(function.params, arguments, strict=True))
    rewrite(function.body, lambda old, new: values.get(old, new), memo=values)
    order = list(post_order(function.body))
    depends: set[Expr] = set(function.params)
    for e in order:
        if isinstance(e, Call | Tuple | TupleGetItem) and any(k in depends for k in _operands(e)):
            depends.add(e)
    gradients: dict[Expr, Expr] = {function.body: grad}

    def give(e: Expr, part: Expr) -> None:
        if e in depends and not is_call_to(part, "zeros_like"):
            gradients[e] = add(gradients[e], part) if e in gradients else part

    for e in reversed(order):
        part = gradients.get(e)
        if part is None or not isinstance(e, Call):
            continue
        assert isinstance(e.op, Op)
        rule = rule_of(e)
        if rule is None:
            raise no_gradient(e)
        out = values[e]
        assert isinstance(out, Call)
        types = tuple(a.known_type for a in e.args)
        site = GradientSite(out.args, types, e.attrs, out, e.known_type, part, e.args)
        for a, g in zip(e.args, rule(site), strict=True):
            if isinstance(a, Tuple):
                fields = g.fields if isinstance(g, Tuple) else [TupleGetItem(g, i) for i in range(len(a.fields))]
                list(starmap(give, zip(a.fields, fields, strict=True)))
            else:
                give(a, g)
    return [gradients.get(p) or zeros_like(a) for p, a in zip(function.params, arguments, strict=True)]


def _operands(e: Call | Tuple | TupleGetItem) -> Sequence[Expr]:
    return e.args if isinstance(e, Call) else e.fields if isinstance(e, Tuple) else (e.tuple,)
