"""Walking and rewriting expressions, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import Any

from ..post_order import in_post_order
from .build import cast, if_then_else, logical_not, select
from .nodes import BUILDERS, Axis, Binary, Call, Cast, Const, Expr, Load, Not, Reduce, Select, Var


def _no_children(e: Any) -> tuple[Expr, ...]:
    return ()


_CHILDREN: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Const: _no_children,
    Var: _no_children,
    Axis: _no_children,
    Binary: lambda e: (e.a, e.b),
    Not: lambda e: (e.value,),
    Cast: lambda e: (e.value,),
    Select: lambda e: (e.cond, e.then, e.other),
    Call: lambda e: e.args,
    Load: lambda e: e.indices,
    Reduce: lambda e: e.sources if e.condition is None else (*e.sources, e.condition),
}


def children(e: Expr) -> tuple[Expr, ...]:
    """The expressions directly below."""
    return _CHILDREN[e.__class__](e)


_REBUILD: dict[type, Callable[[Any, Sequence[Expr]], Expr]] = {
    Binary: lambda e, k: BUILDERS[e.op](k[0], k[1]),
    Not: lambda e, k: logical_not(k[0]),
    Cast: lambda e, k: cast(k[0], e.dtype),
    Select: lambda e, k: if_then_else(*k) if e.lazy else select(*k),
    Call: lambda e, k: Call(e.name, tuple(k), e.dtype),
    Load: lambda e, k: Load(e.source, tuple(k)),
    Reduce: lambda e, k: Reduce(
        e.reducer, tuple(k[: len(e.sources)]), e.axes, k[-1] if e.condition is not None else None, e.index
    ),
}


def rebuild(e: Expr, kids: Sequence[Expr]) -> Expr:
    """`e` over other children, folded again; `e` itself if they are the same objects."""
    for old, new in zip(children(e), kids):
        if old is not new:
            return _REBUILD[e.__class__](e, kids)
    return e


def post_order(*roots: Expr, known: Iterable[Expr] = ()) -> list[Expr]:
    """Every node below the roots, once, children first; without `known` nodes and nodes only below those."""
    return in_post_order(_CHILDREN, roots, known)


def rewrite(root: Expr, change: Callable[[Expr], Expr], memo: dict[Expr, Expr] | None = None) -> Expr:
    """`root` with `change(node)` applied to every node after its children; sharing is kept. `memo` gives fixed results."""
    done: dict[Expr, Expr] = {} if memo is None else memo
    if root in done:
        return done[root]
    stack = [root]
    while stack:
        e = stack[-1]
        if e in done:
            stack.pop()
            continue
        kids = _CHILDREN[e.__class__](e)
        if not kids:
            stack.pop()
            done[e] = change(e)
            continue
        missing = [k for k in kids if k not in done]
        if missing:
            stack += missing
            continue
        stack.pop()
        rewritten = [done[k] for k in kids]
        done[e] = change(e if all(map(is_, kids, rewritten)) else _REBUILD[e.__class__](e, rewritten))
    return done[root]


def substitute(root: Expr, values: Mapping[Any, Expr]) -> Expr:
    """`root` with variables replaced."""
    return substitution(values)(root) if values else root


def substitution(values: Mapping[Any, Expr]) -> Callable[[Expr], Expr]:
    """The function that replaces variables. What two expressions share is one node in both of its results."""
    memo: dict[Any, Expr] = dict(values)
    return lambda root: rewrite(root, lambda e: e, memo)


def variables(*roots: Expr) -> list[Var]:
    """Variables used below the roots, in order of first use."""
    return [e for e in post_order(*roots) if isinstance(e, Var)]


_LOGICAL = frozenset(["and", "or"])


def always_evaluated(root: Expr) -> set[Expr]:
    """The parts of an expression that are evaluated under any conditions."""
    seen: set[Expr] = set()
    stack = [root]
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        lazy = (isinstance(e, Select) and e.lazy) or (isinstance(e, Binary) and e.op in _LOGICAL)
        stack.extend(children(e)[:1] if lazy else children(e))
    return seen
