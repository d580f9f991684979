"""Constants in loop nests: bound where they are used, or handed over as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tir.expr import Load, post_order
from ..tir.stmt import AllocateConst, Buffer, PrimFunc, Stmt, expressions, pre_order, rewrite_stmt


def bind_constants(f: PrimFunc, constants: Sequence[Any]) -> PrimFunc:
    """The loop nest with its last inputs, one for each of these arrays, bound to them: TVM's `BindParams`.

    An input that nothing reads is left out.
    """
    if not constants:
        return f
    first = len(f.inputs) - len(constants)
    bound = range(first, len(f.inputs))
    read = {
        e.source for s in pre_order(f.body) for root in expressions(s) for e in post_order(root) if isinstance(e, Load)
    }
    body: Stmt = f.body
    for n in reversed(bound):
        if f.params[n] in read:
            body = AllocateConst(f.params[n], constants[n - first], body)
    return PrimFunc(
        f.name,
        [b for n, b in enumerate(f.params) if n not in bound],
        body,
        f.num_outputs,
        f.attrs,
        f.checked_type,
        [b for n, b in enumerate(f.preflattened) if n not in bound],
    )


def hand_over_constants(f: PrimFunc) -> tuple[PrimFunc, list[Any]]:
    """The inverse: a loop nest that takes its constants behind its other inputs, and these, in order of use.

    What schedules and compiles loop nests shares data between kernels, and so takes it as arguments.
    """
    bound = [s for s in pre_order(f.body) if isinstance(s, AllocateConst)]
    if not bound:
        return f, []
    body = rewrite_stmt(f.body, lambda s: s.body if isinstance(s, AllocateConst) else s)
    buffers = [s.buffer for s in bound]
    before = f.preflattened and [
        *f.preflattened[: len(f.inputs)],
        *map(_as_it_was, bound),
        *f.preflattened[len(f.inputs) :],
    ]
    params = [*f.inputs, *buffers, *f.outputs]
    made = PrimFunc(f.name, params, body, f.num_outputs, f.attrs, None, before)
    return made, [s.data for s in bound]


def _as_it_was(s: AllocateConst) -> Buffer:
    return Buffer(s.buffer.name, s.data.shape, s.buffer.dtype, s.buffer.scope)
