"""The loop nest that a dot product of words stands for, with any numbers in the words."""

from __future__ import annotations

from .build import cast, const
from .forms import Reduction
from .nodes import Binary, Var
from .stmt import Buffer, Scope, Store


def dot_meaning(numbers: int, first: str, second: str, result: str = "int32") -> Reduction:
    """`out[] = acc`, where `for k in numbers: acc += a[k] * b[k]`, of buffers of these dtypes, multiplied and summed in that of the result."""
    a, b = Buffer("a", (numbers,), first, Scope.PARAM), Buffer("b", (numbers,), second, Scope.PARAM)
    out, acc = Buffer("out", (), result, Scope.PARAM), Buffer("acc", (), result, Scope.LOCAL)
    k = Var("k")
    product = Binary("*", cast(a[k], result), cast(b[k], result), result)
    update = Binary("+", acc.element(), product, result)
    zero = const(0) if result == "int32" else const(0.0, result)
    return Reduction((), acc, zero, ((k, numbers),), update, (Store(out, (), acc.element()),))
