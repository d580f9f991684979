"""Caches: states whose next values are their rows of before, with rows of this step behind them or in the place of some."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...ir import Call, Expr, Function, Op, TensorType, Tuple, Var
from ...ir.tensor_names import state_outputs
from ...ops.base import is_call_to
from ...ops.indexing.scatter import ScatterAlongAxis, ScatterND

REAL = ("float16", "bfloat16", "float32")
"""The dtypes of caches that other dtypes may take the place of."""


@dataclass(frozen=True)
class Cache:
    """A state that is a cache.

    Attributes:
        param: its parameter.
        output: the number of its next value.
        updates: the calls from the parameter to the next value, each of which reads the one before it.
    """

    param: Var
    output: int
    updates: tuple[Call, ...]

    @property
    def type(self) -> TensorType:
        """The type of the parameter."""
        t = self.param.checked_type or self.param.type_annotation
        assert isinstance(t, TensorType), "caches_of looked at it"
        return t


def caches_of(function: Function) -> Iterator[Cache]:
    """The caches among the states of a typed function, in the order of its parameters."""
    fields = results_of(function)
    for p, n in state_outputs(function).items():
        t = p.checked_type or p.type_annotation
        if not isinstance(t, TensorType) or t.dtype not in REAL or not t.shape or n >= len(fields):
            continue
        updates = _updates(fields[n], p)
        if updates is not None and any(not is_call_to(u, "strided_slice") for u in updates):
            yield Cache(p, n, updates)


def results_of(function: Function) -> tuple[Expr, ...]:
    """The results of a function, one by one."""
    return function.body.fields if isinstance(function.body, Tuple) else (function.body,)


def _updates(e: Expr, param: Var) -> tuple[Call, ...] | None:
    """The calls from a parameter to `e`, if each keeps rows or puts further ones among them; None otherwise."""
    calls: list[Call] = []
    while e is not param:
        before = updated(e)
        if before is None or not isinstance(e, Call):
            return None
        calls.append(e)
        e = before
    return tuple(reversed(calls))


def updated(e: Expr) -> Expr | None:
    """The data that a call keeps rows of; None for other expressions."""
    if not isinstance(e, Call) or not isinstance(e.op, Op) or not e.args:
        return None
    if is_call_to(e, "concatenate"):
        joined = e.args[0]
        return joined.fields[0] if isinstance(joined, Tuple) and len(joined.fields) > 1 else None
    if is_call_to(e, "strided_slice"):
        return e.args[0]
    operator = e.op.operator
    if issubclass(operator, ScatterAlongAxis):
        is_write = getattr(e.attrs, "reduction", "update") == "update" and not is_call_to(e, "scatter_add")
        return e.args[0] if is_write else None
    if issubclass(operator, ScatterND):
        return e.args[0] if e.attrs.mode == "update" else None  # type: ignore[union-attr]  # an operator's
    return None
