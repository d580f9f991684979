"""Dropouts in training: random elements are zeros, and the others are scaled up."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir import Expr, TensorType, Tuple, TupleGetItem, Var, rewrite
from ..ops.base import call, is_call_to
from ..passes.core.arithmetic import multiply
from ..passes.core.constants import scalar_constant

NAME = "nn.dropout"
KEY = TensorType((10,), "uint64")
"""The type of a generator of random numbers."""


def with_factors(root: Expr) -> tuple[Expr, dict[Var, float]]:
    """The typed expression with a product in the place of each dropout, and the new variables: the factors of its elements.

    Returns also the rate of each variable's dropout, in order.
    """
    rates: dict[Var, float] = {}

    def leave(old: Expr, new: Expr) -> Expr:
        if isinstance(new, TupleGetItem) and isinstance(new.tuple, Tuple) and is_call_to(old.tuple, NAME):  # type: ignore[attr-defined]  # a projection becomes one
            return new.tuple.fields[new.index]
        if not (is_call_to(old, NAME) and is_call_to(new, NAME)):
            return new
        t = old.args[0].known_type
        factor = Var("factors", t)
        rates[factor] = new.attrs.rate
        return Tuple((multiply(new.args[0], factor), factor))

    return rewrite(root, leave), rates


def drawn_factors(rates: Mapping[Var, float], key: Expr) -> tuple[dict[Var, Expr], Expr]:
    """The factors of a step, 0 with the probability of the dropout and `1 / (1 - rate)` otherwise; and the next generator."""
    factors: dict[Var, Expr] = {}
    for variable, rate in rates.items():
        t = variable.type_annotation
        assert isinstance(t, TensorType)

        def number(value: float, dtype: str = t.dtype) -> Expr:
            return scalar_constant(value, dtype)

        drawn = call("random.uniform", key, number(0.0), number(1.0), out_shape=t.shape, out_dtype=t.dtype)
        key = TupleGetItem(drawn, 0)
        is_left_out = call("less", TupleGetItem(drawn, 1), number(rate))
        scale = number(1 / (1 - rate) if rate < 1 else 0.0)
        factors[variable] = call("where", is_left_out, number(0.0), scale)
    return factors, key
