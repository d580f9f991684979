"""Large constants as parameters, so that a text stays readable and weights go to a file beside it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..ir import Call, Constant, Expr, Function, Module, Op, TensorType, Var, post_order, rewrite, with_function
from ..ir.conversion import marked
from ..ir.walk import names_used
from ..ops.dtypes import dtype_of
from ..ops.qnn.block_products import DenseBlocks
from ..passes.core.constants import has_data


def lift_constants(module: Module, entry: str) -> tuple[Module, dict[str, Any]]:
    """The module with constants of an entry, scalars aside, as parameters behind the others, and their values.

    A constant is named after the operator that takes it and what it is for, `conv2d_0.weight`; one that was a parameter
    before keeps that name.
    """
    function = module.functions[entry]
    assert isinstance(function, Function)
    constants = _named(function)
    if not constants:
        return module, {}
    memo: dict[Expr, Expr] = {
        c: Var(name, TensorType(c.data.shape, c.dtype), c.span)  # type: ignore[union-attr]  # the data of the constant is there
        for name, c in constants.items()
    }
    body = rewrite(function.body, lambda old, new: new, memo=memo)
    variables = tuple(v for v in memo.values() if isinstance(v, Var))[: len(constants)]
    lifted = with_function(function, params=(*function.params, *variables), body=body)
    from ..infer import infer_types

    return infer_types(module.with_function(entry, lifted)), {n: marked(c.data, c.dtype) for n, c in constants.items()}  # type: ignore[arg-type]  # the data of the constants are there


def _roles(e: Call) -> tuple[str, ...]:
    """The roles of a call's arguments."""
    assert isinstance(e.op, Op)
    if e.op.name.startswith("qnn.") and not issubclass(
        e.op.operator, DenseBlocks
    ):  # TVM names these in another order than they are given in
        return tuple(
            "scale" if dtype_of(a).startswith("float") and n else ("weight", "zero_point")[n > 1]
            for n, a in enumerate(e.args)
        )
    return e.op.operator.names_of_arguments(len(e.args))


def _named(function: Function) -> dict[str, Constant]:
    """Constants of one element at least and rank one at least, by name, in post-order."""
    taken = names_used([function])
    counts: Counter[str] = Counter()
    names: dict[Constant, str] = {}
    for e in post_order(function.body):
        if not (isinstance(e, Call) and isinstance(e.op, Op)):
            continue
        short = e.op.name.rpartition(".")[2]
        number, counts[short] = counts[short], counts[short] + 1
        arguments = _roles(e)
        for n, a in enumerate(e.args):
            if isinstance(a, Constant) and has_data(a) and not a.is_scalar and a not in names:
                own = a.span.name if a.span is not None else ""
                role = arguments[n] if n < len(arguments) else str(n)
                names[a] = own or f"{short}_{number}.{role}"
    result: dict[str, Constant] = {}
    for c, name in names.items():
        free, n = name, 1
        while free in taken or free in result:
            free, n = f"{name}_{n}", n + 1
        result[free] = c
    return result
