"""Measured choices of strategies, in place of those by estimated cost; see `irtool.tune`.

A table maps the key of a stage to the label of a candidate. The key depends on the computation, the shapes and the layouts of a
stage, and on no names: the same convolution has one key in all networks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import Any

from ...tir.expr import Binary, Const, Expr
from ...tir.forms import AnyForm, buffers_read, nest_of
from ...tir.stmt import Buffer, PrimFunc, Store, pre_order, rewrite_stmt
from ...tir.structure import structural_words
from ...tir.walk import rewrite

_NOTED: ContextVar[list[Any] | None] = ContextVar("noted", default=None)
_TABLE: ContextVar[Mapping[str, str] | None] = ContextVar("tuned", default=None)


@contextmanager
def tuned(table: Mapping[str, str]) -> Iterator[None]:
    """Gives stages the candidates whose labels the table has for their keys, inside of the `with` block."""
    token = _TABLE.set(table)
    try:
        yield
    finally:
        _TABLE.reset(token)


@contextmanager
def noting() -> Iterator[list[Any]]:
    """Gives the list of the stages (`strategies.base.Stage`) that are scheduled inside of the `with` block."""
    noted: list[Any] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def note_stage(stage: Any) -> None:
    """Adds a stage to the list of `noting`, if there is one."""
    noted = _NOTED.get()
    if noted is not None:
        noted.append(stage)


def measured_choice(form: AnyForm) -> str | None:
    """The label of the candidate that the current table has for a stage; None if it has none."""
    table = _TABLE.get()
    return table.get(stage_key(form)) if table else None


def stage_key(form: AnyForm) -> str:
    """Sixteen hexadecimal digits that are equal for stages of the same structure."""
    nest = rewrite_stmt(nest_of(form), lambda s: s, lambda e: rewrite(e, _constants_last))
    own = {s.buffer for s in pre_order(nest) if hasattr(s, "buffer") and not isinstance(s, Store)}
    used: dict[Buffer, None] = {}
    for s in pre_order(nest):
        if isinstance(s, Store):
            used[s.buffer] = None
    written = [b for b in used if b not in own]
    # Sets have no order; the body identifies the buffers, which are numbered there as they appear.
    buffers = sorted(f"{b.dtype} {b.shape} {b.layout} {b.scope}" for b in buffers_read(form) if b not in own)
    words = structural_words(PrimFunc("", written, nest, len(written)))
    return sha256(repr((words, buffers)).encode()).hexdigest()[:16]


def _constants_last(e: Expr) -> Expr:
    """Extremes with a constant as their second operand: its position decides about NaN, and not about speed."""
    if isinstance(e, Binary) and e.op in ("max", "min") and isinstance(e.a, Const) and not isinstance(e.b, Const):
        return Binary(e.op, e.b, e.a, e.dtype)
    return e
