"""Constants in loop nests: bound where they are used, or handed over as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .expr import Load, post_order
from .stmt import AllocateConst, PrimFunc, Stmt, expressions, pre_order, rewrite_stmt


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


def hand_over_constants(f: PrimFunc) -> tuple[PrimFunc, list[AllocateConst]]:
    """The inverse: a loop nest that takes its constants behind its other inputs, and these, outermost first.

    What compiles loop nests shares data between kernels, and so hands it to them.
    """
    bound = [s for s in pre_order(f.body) if isinstance(s, AllocateConst)]
    if not bound:
        return f, []
    body = rewrite_stmt(f.body, lambda s: s.body if isinstance(s, AllocateConst) else s)
    params = [*f.inputs, *(s.buffer for s in bound), *f.outputs]
    return PrimFunc(f.name, params, body, f.num_outputs, f.attrs), bound
