"""Layouts that make a loop the vector axis of a reduction."""

from __future__ import annotations

from ...tir.expr import Binary, Const, Expr, Var, const, post_order, substitute
from ...tir.forms import Reduction
from ...tir.stmt import Buffer
from ..core.affine import depends, loads, operands
from .preference import LayoutPreference


def along(r: Reduction, v: Var, factor: int) -> dict[Buffer, LayoutPreference] | None:
    """The preferences that make `v` the vector axis; None if it cannot be one."""
    preferences: dict[Buffer, LayoutPreference] = {}
    for e in operands(r):
        moving = [n for n, i in enumerate(e.indices) if moves_by_block(i, v, factor)]
        if not moving:
            continue
        if len(moving) > 1 or e.indices[moving[0]] is not v:
            return None
        preferences[e.source] = LayoutPreference(moving[0], factor)
    if not preferences:
        return None
    for s in r.stores:
        moving = [n for n, i in enumerate(s.indices) if depends(i, v)]
        if len(moving) != 1 or s.indices[moving[0]] is not v:
            return None
        preferences[s.buffer] = LayoutPreference(moving[0], factor)
        for e in loads(s.value):
            axes = [n for n, i in enumerate(e.indices) if i is v]
            if e.source is not r.acc and len(axes) == 1 and e.source.shape == s.buffer.shape:
                preferences.setdefault(e.source, LayoutPreference(axes[0], factor))
    return preferences


def filled(preferences: dict[Buffer, LayoutPreference] | None) -> dict[Buffer, LayoutPreference] | None:
    """The preferences; None if a buffer ends within a block: a kernel may read fewer of its elements than its loop has steps."""
    if preferences is not None and any(b.shape[w.axis] % w.factor for b, w in preferences.items()):
        return None
    return preferences


def moves_by_block(index: Expr, v: Var, factor: int) -> bool:
    """True if the index changes within a block of `v` (the number of the group that contains a block does not)."""
    whole: dict[Expr, Expr] = {
        e: const(0)
        for e in post_order(index)
        if isinstance(e, Binary)
        and e.op == "floordiv"
        and e.a is v
        and isinstance(e.b, Const)
        and e.b.value % factor == 0
    }
    return depends(substitute(index, whole), v)
