"""Cuts of a network into sections of low precision: hints to cast, after convolutions and the operators that follow them."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnostics import IrError
from ...ir import Call, Expr, Function
from ...ops.base import call
from .forward import Forward, Rule, Undecided, Value, forwarded, is_constant, realized


class Partitioned(Undecided):
    """A value at which a section may end."""

    def __init__(self, expr: Expr, dtype: str) -> None:
        super().__init__()
        self.expr = expr
        self.dtype = dtype

    def make(self) -> Expr:
        return call("annotation.stop_fusion", call("annotation.cast_hint", self.expr, dtype=self.dtype))


def partition(function: Function, dtype: str) -> Function:
    """The function with `annotation.cast_hint` to `dtype` and `annotation.stop_fusion` where sections end."""

    def wrap(e: Expr) -> Partitioned:
        return Partitioned(e, dtype)

    def convolution(old: Call, args: Sequence[Value]) -> Value:
        return wrap(forwarded(old, [realized(args[0]), realized(args[1])]))

    def same(old: Call, args: Sequence[Value]) -> Value | None:
        x = args[0]
        return wrap(forwarded(old, [x.expr])) if isinstance(x, Partitioned) else None

    def add(old: Call, args: Sequence[Value]) -> Value | None:
        left, right = args
        if isinstance(left, Partitioned) and isinstance(right, Partitioned):
            return wrap(forwarded(old, [left.realize(), right.realize()]))
        if isinstance(right, Partitioned):
            return forwarded(old, [realized(left), right.realize()])
        if isinstance(left, Partitioned):
            assert not isinstance(right, Undecided)
            if is_constant(right):
                return wrap(forwarded(old, [left.expr, right]))
            return forwarded(old, [left.realize(), right])
        return None

    def multiply(old: Call, args: Sequence[Value]) -> Value | None:
        left, right = args
        if isinstance(left, Partitioned):
            return wrap(
                forwarded(old, [left.realize(), right.expr if isinstance(right, Partitioned) else realized(right)])
            )
        if isinstance(right, Partitioned):
            raise IrError(
                "QuantizePartition: the second factor is a convolution's result, and the first is not", old.span
            )
        return None

    def average(old: Call, args: Sequence[Value]) -> Value:
        x = args[0]
        return forwarded(old, [x.realize() if isinstance(x, Undecided) else wrap(x).realize()])

    rules: dict[str, Rule] = {
        "nn.conv2d": convolution,
        "clip": same,
        "nn.relu": same,
        "nn.max_pool2d": same,
        "add": add,
        "multiply": multiply,
        "nn.global_avg_pool2d": average,
    }
    return Forward(rules).run(function)
