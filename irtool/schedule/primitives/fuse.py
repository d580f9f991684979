"""`fuse`: two loops as one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ...diagnostics import UsageError
from ...tir.expr import Expr, Var, rewrite
from ..block import Block
from ..forms import Form, Loop
from .base import primitive


@primitive
def fuse(b: Block[Form], outer: Var | str, inner: Var | str, name: str = "") -> Block[Form]:
    """Two loops, one right inside of the other, as one.

    ::

        for i in 4: for j in 16: out[i, j] = f(i, j)    ⇒    fuse(i, j)    for ij in 64: out[ij // 16, ij % 16] = f(ij // 16, ij % 16)

    Where everything moves through both as through one loop, no quotient is left. Raises UsageError for loops that are not
    next to each other.
    """
    (x, n_x), (y, n_y) = b.find(outer), b.find(inner)
    fused = Var(name or f"{x.name}{y.name}", x.dtype)

    def joined(loops: tuple[Loop, ...]) -> tuple[Loop, ...] | None:
        at: int | None = next((n for n, (u, w) in enumerate(pairwise(loops)) if u[0] is x and w[0] is y), None)
        return None if at is None else (*loops[:at], (fused, n_x * n_y), *loops[at + 2 :])

    over, inside = joined(b.loops), joined(b.inner)
    if over is None and inside is None:
        raise UsageError(f"{y.name} is not right inside of {x.name}")
    values: dict[Expr, Expr] = {x: fused // n_y, y: fused % n_y}
    bindings = {axis: rewrite(e, lambda z: z, dict(values)) for axis, e in b.bindings.items()}
    bindings.update((axis, e) for axis, e in values.items() if axis not in bindings)
    kinds = {z: k for z, k in b.kinds.items() if z is not x and z is not y}
    return replace(b, loops=over or b.loops, inner=inside or b.inner, bindings=bindings, kinds=kinds, view=None)
