"""`fuse`: two loops as one."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Var, rewrite
from ..block import Block
from ..forms import Loop
from .base import primitive


@primitive
def fuse(b: Block, outer: Var | str, inner: Var | str, name: str = "") -> Block:
    """Two loops, one right inside of the other, as one.

    ::

        for i in 4: for j in 16: out[i, j] = f(i, j)    ⇒    fuse(i, j)    for ij in 64: out[ij // 16, ij % 16] = f(ij // 16, ij % 16)

    Where everything moves through both as through one loop, no quotient is left. Raises UsageError for loops that are not
    next to each other.
    """
    (x, n), (y, m) = b.find(outer), b.find(inner)
    fused = Var(name or f"{x.name}{y.name}", x.dtype)

    def joined(loops: tuple[Loop, ...]) -> tuple[Loop, ...] | None:
        for at, (u, w) in enumerate(zip(loops, loops[1:])):
            if u[0] is x and w[0] is y:
                return (*loops[:at], (fused, n * m), *loops[at + 2 :])
        return None

    over, inside = joined(b.loops), joined(b.inner)
    if over is None and inside is None:
        raise UsageError(f"{y.name} is not right inside of {x.name}")
    values = {x: fused // m, y: fused % m}
    bindings = {axis: rewrite(e, lambda z: z, dict(values)) for axis, e in b.bindings.items()}
    bindings.update((axis, e) for axis, e in values.items() if axis not in bindings)
    kinds = {z: k for z, k in b.kinds.items() if z is not x and z is not y}
    return replace(b, loops=over or b.loops, inner=inside or b.inner, bindings=bindings, kinds=kinds, view=None)
