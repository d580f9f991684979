"""Taking types off, so that inference looks at nodes again."""

from __future__ import annotations

from .expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    with_function,
)
from .rewrite import rewrite


def without_types(root: Expr) -> Expr:
    """A copy in which no node is typed, so that inference looks at all of them again."""
    return rewrite(root, lambda old, new: untyped(new))


def untyped(e: Expr) -> Expr:
    """A copy of one node without its type; variables and nodes of a fixed type stay as they are."""
    if isinstance(e, Call):
        return Call(e.op, e.args, e.attrs, e.type_args, e.span)
    if isinstance(e, Tuple):
        return Tuple(e.fields, e.span)
    if isinstance(e, TupleGetItem):
        return TupleGetItem(e.tuple, e.index, e.span)
    if isinstance(e, Let):
        return Let(e.var, e.value, e.body, e.span)
    if isinstance(e, If):
        return If(e.cond, e.true_branch, e.false_branch, e.span)
    if isinstance(e, Match):
        return Match(e.data, e.clauses, e.complete, e.span)
    if isinstance(e, Function):
        return with_function(e)
    if isinstance(e, RefCreate):
        return RefCreate(e.value, e.span)
    if isinstance(e, RefRead):
        return RefRead(e.ref, e.span)
    if isinstance(e, RefWrite):
        return RefWrite(e.ref, e.value, e.span)
    if isinstance(e, GlobalVar):
        return GlobalVar(e.name, e.span)
    return e
