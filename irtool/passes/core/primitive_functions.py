"""Functions that passes leave unchanged, and the nodes that they share with others."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from ...ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Op,
    Var,
    children,
    post_order,
    refresh,
    rewrite,
    with_function,
)
from ...ir.expr import REBUILD_OF

RESHAPE_ONLY = "relay.reshape_only"
"""The attribute of kernels that FuseOps saw to do nothing but reshape one tensor."""


def is_primitive(e: Expr) -> TypeGuard[Function]:
    """True if `e` is a kernel: a function that becomes one loop nest, and whose inside is on one device."""
    return isinstance(e, Function) and bool(e.attrs.get("Primitive"))


def is_finished(e: Expr) -> bool:
    """True if `e` is a kernel, or a function for another compiler."""
    return is_primitive(e) or (isinstance(e, Function) and "Compiler" in e.attrs)


def only_reshapes(f: Function) -> bool:
    """True if a kernel is marked as one that gives its argument another shape and does nothing else, and is one.

    FuseOps makes the mark; a pass that changes the inside of kernels may since have added a cast, which copies.
    """
    if not f.attrs.get(RESHAPE_ONLY) or len(f.params) != 1 or not isinstance(f.body, Call):
        return False
    e: Expr = f.body
    while isinstance(e, Call) and isinstance(e.op, Op) and e.op.operator.reshapes:
        e = e.args[0]
    return e is f.params[0]


def without_wrong_mark(f: Function) -> Function:
    """`f` without the mark of a kernel that only reshapes, if it does more than that."""
    if RESHAPE_ONLY not in f.attrs or only_reshapes(f):
        return f
    return with_function(f, attrs={k: v for k, v in f.attrs.items() if k != RESHAPE_ONLY})


def separate_primitives(root: Function) -> Function:
    """`root` with copies of finished functions that share a node with their surroundings, or with one another.

    What is inside of them stays as it is: a pass that rewrites around them would otherwise leave two nodes that bind the same
    variable, or bind what is shared outside, where the inside does not read it.
    """
    outside = post_order(root, enter=lambda e: e is root or not is_finished(e))
    finished = [e for e in outside if e is not root and is_finished(e)]
    if not finished:
        return root
    seen = {e for e in outside if not isinstance(e, _ATOMS)}
    shared: set[Expr] = set()
    for function in finished:
        inside = {e for c in children(function) for e in post_order(c) if not isinstance(e, _ATOMS)}
        if seen.isdisjoint(inside):
            seen |= inside
        else:
            shared.add(function)
    if not shared:
        return root
    return rewrite(root, lambda old, new: new, lambda e: _copied(e) if e in shared else None)


_ATOMS = (Constructor, GlobalVar, Op, Var)
"""What has no place of its own."""


def _copied(function: Expr) -> Expr:
    """The function without a node of the old one, variables that it binds included."""
    return rewrite(refresh(function), lambda old, new: _again(new))


def _again(e: Expr) -> Expr:
    if isinstance(e, Constant):
        return replace(e)
    return REBUILD_OF[e.__class__](e, children(e)) if e.__class__ in REBUILD_OF else e
