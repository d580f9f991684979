"""Rewriting expressions bottom-up: shared nodes stay shared, unchanged nodes stay the same objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import overload

from ..diagnostics import IrError, UsageError
from .adt import Clause, Pattern, PatternConstructor, PatternTuple, PatternVar
from .expr import CHILDREN_OF, REBUILD_OF, Call, Expr, Function, Let, Match, Tuple, TupleGetItem, Var
from .spans import spread_place
from .types import Type
from .walk import binders, post_order

Leave = Callable[[Expr, Expr], Expr]
Enter = Callable[[Expr], "Expr | None"]


@overload
def rewrite(
    root: Function, leave: Leave, enter: Enter | None = None, memo: dict[Expr, Expr] | None = None
) -> Function: ...
@overload
def rewrite(root: Expr, leave: Leave, enter: Enter | None = None, memo: dict[Expr, Expr] | None = None) -> Expr: ...
def rewrite(root: Expr, leave: Leave, enter: Enter | None = None, memo: dict[Expr, Expr] | None = None) -> Expr:
    """Rewrites `root` in post-order.

    A function becomes a function: `leave` gives no other kind of expression for a root that is one. `leave(old, new)` is
    called once for each node: `new` is `old` over its rewritten children (the very same object where none changed), and
    what it returns takes the node's place. `enter(old)`, called before the children are looked at, may return a
    replacement, and then nothing below `old` is visited. What takes a node's place and has no `span` gets that of the node,
    and so does an error of `leave` or `enter` that has none. `memo` maps old nodes to new ones and may be shared between
    calls. Binders are left as they are: see `substitute` and `with_binders`.
    """
    memo = {} if memo is None else memo
    stack: list[Expr | None] = [root]
    e: Expr | None = root
    try:
        while stack:
            e = stack.pop()
            if e is None:
                e = stack.pop()
                assert e is not None
                kids = CHILDREN_OF[e.__class__](e)
                new = e
                for k in kids:
                    if memo[k] is not k:
                        new = REBUILD_OF[e.__class__](e, [memo[k] for k in kids])
                        break
                rewritten = memo[e] = leave(e, new)
                if rewritten.span is None and e.span is not None:
                    spread_place(rewritten, e.span)
                continue
            if e in memo:
                continue
            if enter is not None:
                replacement = enter(e)
                if replacement is not None:
                    if replacement.span is None and e.span is not None:
                        spread_place(replacement, e.span)
                    memo[e] = replacement
                    continue
            kids = CHILDREN_OF[e.__class__](e)
            if not kids:
                rewritten = memo[e] = leave(e, e)
                if rewritten.span is None and e.span is not None:
                    spread_place(rewritten, e.span)
                continue
            stack.append(e)
            stack.append(None)
            stack.extend(kids[::-1])
    except UsageError:  # of options, not of this node
        raise
    except IrError as error:
        error.place(e.span if e is not None else None)
        raise
    return memo[root]


@overload
def substitute(root: Function, values: Mapping[Var, Expr]) -> Function: ...
@overload
def substitute(root: Expr, values: Mapping[Var, Expr]) -> Expr: ...
def substitute(root: Expr, values: Mapping[Var, Expr]) -> Expr:
    """Replaces free occurrences of variables. No capture can happen: variables are objects, not names."""
    if not values:
        return root
    memo: dict[Expr, Expr] = dict(values.items())
    return rewrite(root, lambda old, new: new, memo=memo)


def with_type(old: Expr, new: Expr) -> Expr:
    """`new` with the type of the node that it replaces, unless it has one: a `leave` of `rewrite` that keeps modules typed."""
    if new is old or new.checked_type is not None:
        return new
    if isinstance(new, Call):
        return Call(new.op, new.args, new.attrs, new.type_args, new.span, old.checked_type)
    if isinstance(new, Tuple):
        return Tuple(new.fields, new.span, old.checked_type)
    if isinstance(new, TupleGetItem):
        return TupleGetItem(new.tuple, new.index, new.span, old.checked_type)
    return new


def with_binders(e: Expr, renamed: Mapping[Var, Var]) -> Expr:
    """`e` with the variables that it binds itself replaced (its children are left alone)."""
    if not any(v in renamed for v in binders(e)):
        return e
    if isinstance(e, Function):
        params = tuple(renamed.get(p, p) for p in e.params)
        return Function(params, e.body, e.ret_type, e.type_params, e.attrs, e.span, None, e.virtual_device)
    if isinstance(e, Let):
        return Let(renamed.get(e.var, e.var), e.value, e.body, e.span)
    assert isinstance(e, Match)
    clauses = tuple(Clause(_rename(c.pattern, renamed), c.body, c.span) for c in e.clauses)
    return Match(e.data, clauses, e.complete, e.span)


def _rename(pattern: Pattern, renamed: Mapping[Var, Var]) -> Pattern:
    done: dict[Pattern, Pattern] = {}
    stack = [(pattern, False)]
    while stack:
        p, ready = stack.pop()
        if isinstance(p, PatternVar):
            done[p] = PatternVar(renamed[p.var], p.span) if p.var in renamed else p
        elif isinstance(p, PatternConstructor | PatternTuple):
            if not ready:
                stack.append((p, True))
                stack.extend((q, False) for q in p.patterns)
                continue
            parts = tuple(done[q] for q in p.patterns)
            done[p] = (
                PatternConstructor(p.constructor, parts, p.span)
                if isinstance(p, PatternConstructor)
                else PatternTuple(parts, p.span)
            )
        else:
            done[p] = p
    return done[pattern]


@overload
def refresh(
    root: Function, annotate: Callable[[Var], Type | None] | None = None, name: Callable[[Var], str] | None = None
) -> Function: ...
@overload
def refresh(
    root: Expr, annotate: Callable[[Var], Type | None] | None = None, name: Callable[[Var], str] | None = None
) -> Expr: ...
def refresh(
    root: Expr, annotate: Callable[[Var], Type | None] | None = None, name: Callable[[Var], str] | None = None
) -> Expr:
    """A copy of `root` in which every bound variable is a new object of the same name.

    Needed wherever the same code comes to stand twice (inlining, gradients). `annotate(v)` may give another annotation,
    `name(v)` another name.
    """
    renamed: dict[Var, Var] = {}
    for e in post_order(root):
        for v in binders(e):
            ty = annotate(v) if annotate is not None else v.type_annotation
            renamed[v] = Var(name(v) if name is not None else v.name, ty, v.span, None, v.virtual_device)
    memo: dict[Expr, Expr] = dict(renamed.items())
    return rewrite(root, lambda old, new: with_binders(new, renamed), memo=memo)
