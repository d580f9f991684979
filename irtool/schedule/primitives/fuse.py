"""`fuse`: two loops as one."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Expr, Var, substitute
from ..core.block import Block
from ..core.forms import Form, Loop
from .base import primitive


@primitive
def fuse(b: Block[Form], outer: Var | str, inner: Var | str, name: str = "") -> Block[Form]:
    """Fuses two loops, one directly inside of the other.

    ::

        for i in 4: for j in 16: out[i, j] = f(i, j)    ⇒    fuse(i, j)    for ij in 64: out[ij // 16, ij % 16] = f(ij // 16, ij % 16)

    If all indices move along both loops as along one, no quotient remains. Raises UsageError for loops that are not next to each
    other.
    """
    (x, n_x), (y, n_y) = b.find(outer), b.find(inner)
    b.check_free(x)
    b.check_free(y)
    fused = Var(name or f"{x.name}{y.name}", x.dtype)

    over, inside = _joined(b.loops, x, y, (fused, n_x * n_y)), _joined(b.inner, x, y, (fused, n_x * n_y))
    if over is None and inside is None:
        raise UsageError(f"{y.name} is not directly inside of {x.name}")
    values: dict[Expr, Expr] = {x: fused // n_y, y: fused % n_y}
    bindings = {axis: substitute(e, values) for axis, e in b.bindings.items()}
    bindings.update((axis, e) for axis, e in values.items() if axis not in bindings)
    kinds = {z: k for z, k in b.kinds.items() if z is not x and z is not y}
    merged = replace(b, loops=over or b.loops, inner=inside or b.inner, bindings=bindings, kinds=kinds, view=None)
    return (
        merged.again() if b.has_loops_only() else merged
    )  # the loop as an axis: quotients go before they are split again


def _joined(loops: tuple[Loop, ...], outer: Var, inner: Var, fused: Loop) -> tuple[Loop, ...] | None:
    """The loops with `fused` in place of two; None if these are not next to each other."""
    for n, (v, _) in enumerate(loops[:-1]):
        if v is outer and loops[n + 1][0] is inner:
            return (*loops[:n], fused, *loops[n + 2 :])
    return None
