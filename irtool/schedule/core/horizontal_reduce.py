"""The lanes of a vector combined to one number: an array is halved until one element is left."""

from __future__ import annotations

from collections.abc import Callable

from ...tir.expr import Expr, Load, const
from ...tir.nodes import Var
from ...tir.stmt import VECTORIZED, Buffer, For, Scope, Stmt, Store

Combine = Callable[[Expr, Expr], Expr]


def horizontal_reduce(
    name: str, dtype: str, lane: tuple[Var, int], value: Expr, combine: Combine
) -> tuple[Buffer, list[Stmt]]:
    """The array, to be allocated by the caller, and the steps that combine the values of all lanes in its first element."""
    x, lanes = lane
    array = Buffer(f"{name}_lanes", (lanes,), dtype, Scope.LOCAL)
    steps: list[Stmt] = [For(x, lanes, Store(array, (x,), value), VECTORIZED)]
    half = lanes // 2
    while half > 1:
        x = Var("lane")
        steps.append(For(x, half, Store(array, (x,), combine(Load(array, (x,)), Load(array, (x + half,))))))
        half //= 2
    if half:
        steps.append(Store(array, (const(0),), combine(Load(array, (const(0),)), Load(array, (const(1),)))))
    return array, steps
