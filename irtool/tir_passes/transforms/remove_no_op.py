"""Removal of statements without effect."""

from __future__ import annotations

from ...tir.expr import Const, Expr, Load, Var, post_order
from ...tir.interning import Interner
from ...tir.stmt import (
    Allocate,
    Annotate,
    Buffer,
    For,
    If,
    Let,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    expressions,
    pre_order,
    rewrite_stmt,
    seq,
)


def remove_no_ops(f: PrimFunc) -> PrimFunc:
    """The function without loops and branches around nothing, stores of equal elements, and variables and memory that nothing reads."""
    body = f.body
    while True:
        cleaned = _swept(f, body)
        if cleaned is body:
            return f.with_body(body)
        body = cleaned


def _swept(f: PrimFunc, body: Stmt) -> Stmt:
    read: set[Var | Buffer] = set()
    for s in pre_order(body):
        for e in post_order(*expressions(s)):
            if isinstance(e, Var):
                read.add(e)
            elif isinstance(e, Load):
                read.add(e.source)
    live = {*f.params, *read}
    same = Interner()

    def change(s: Stmt) -> Stmt:
        if isinstance(s, Store):
            return _NOTHING if s.buffer not in live or _is_there(s, same) else s
        if isinstance(s, For):
            empty = isinstance(s.extent, Const) and s.extent.value <= 0
            return _NOTHING if empty or _is_nothing(s.body) else s
        if isinstance(s, If):
            if s.other is not None and _is_nothing(s.other):
                s = If(s.cond, s.then)
            return _NOTHING if _is_nothing(s.then) and s.other is None else s
        if isinstance(s, Let):
            return s.body if s.var not in read or _is_nothing(s.body) else s
        if isinstance(s, Allocate):
            return s.body if s.buffer not in read or _is_nothing(s.body) else s
        if isinstance(s, Annotate):
            return s.body if s.buffer not in live or _is_nothing(s.body) else s
        if isinstance(s, Seq):
            left = [x for x in s.stmts if not _is_nothing(x)]
            return s if len(left) == len(s.stmts) else seq(left)
        return s

    return rewrite_stmt(body, change)


_NOTHING = Seq(())


def _is_nothing(s: Stmt) -> bool:
    return isinstance(s, Seq) and not s.stmts


def _is_there(s: Store, same: Interner) -> bool:
    """True for `b[i] = b[i]`."""
    value: Expr = s.value
    if not isinstance(value, Load) or value.source is not s.buffer:
        return False
    return all(same(a) is same(b) for a, b in zip(value.indices, s.indices, strict=True))
