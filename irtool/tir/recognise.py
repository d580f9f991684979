"""The forms of a nest that arrives as loops: one read from text, or written out by an operator.

What lowering makes of tensor expressions has its forms from the beginning, and does not come here.
"""

from __future__ import annotations

from .expr import Load, post_order
from .forms import AnyForm, Map, Reduction, Steps, peel_loops, statements, with_taps, workspace
from .stmt import Allocate, Buffer, Scope, Seq, Stmt, Store
from .windows import overlapping_taps


def recognise(body: Stmt) -> tuple[list[Buffer], list[AnyForm]]:
    """The buffers in the workspace that a nest begins with, and the forms of its stages, in order."""
    buffers, body = workspace(body)
    return buffers, [_form(s) or Steps(s) for s in statements(body)]


def _form(s: Stmt) -> Map | Reduction | None:
    """The form of a stage; None if it has another."""
    loops, body = peel_loops(s)
    if isinstance(body, Store):
        return Map(loops, (body,))
    if isinstance(body, Seq) and all(isinstance(x, Store) for x in body.stmts):
        stores = tuple(x for x in body.stmts if isinstance(x, Store))
        return None if any(x.buffer.scope == Scope.LOCAL for x in stores) else Map(loops, stores)
    if not isinstance(body, Allocate) or body.buffer.scope != Scope.LOCAL or body.buffer.ndim:
        return None
    acc = body.buffer
    parts = statements(body.body)
    if len(parts) < 3 or not isinstance(parts[0], Store) or parts[0].buffer is not acc:
        return None
    inner, update = peel_loops(parts[1])
    rest = parts[2:]
    if not isinstance(update, Store) or update.buffer is not acc or not all(isinstance(x, Store) for x in rest):
        return None
    stores = tuple(x for x in rest if isinstance(x, Store))
    if any(x.buffer is acc for x in stores):
        return None
    read = [e for e in post_order(update.value) if isinstance(e, Load) and e.source is not acc]
    r = Reduction(loops, acc, parts[0].value, inner, update.value, stores)
    return with_taps(r, overlapping_taps(read, loops, inner))
