"""Functions that passes leave as they are, and what they share with the rest."""

from __future__ import annotations

from typing import TypeGuard

from ..ir import Expr, Function, binders, children, post_order, refresh, rewrite


def is_primitive(e: Expr) -> TypeGuard[Function]:
    """Whether `e` is a kernel: a function that becomes one loop nest, and whose inside is on one device."""
    return isinstance(e, Function) and bool(e.attrs.get("Primitive"))


def is_finished(e: Expr) -> bool:
    """Whether `e` is a kernel, or a function for another compiler."""
    return is_primitive(e) or (isinstance(e, Function) and "Compiler" in e.attrs)


def separate_primitives(root: Function) -> Function:
    """`root` with finished functions that share a node which binds variables with what is around them copied.

    A pass that rewrites around such functions would otherwise leave two nodes that bind the same variable.
    """
    outside = post_order(root, enter=lambda e: e is root or not is_finished(e))
    finished = [e for e in outside if e is not root and is_finished(e)]
    if not finished:
        return root
    seen = {e for e in outside if binders(e)}
    shared: set[Expr] = set()
    for function in finished:
        inside = {e for c in children(function) for e in post_order(c) if binders(e)}
        if not seen.isdisjoint(inside):
            shared.add(function)
        seen |= inside
    if not shared:
        return root
    return rewrite(root, lambda old, new: new, lambda e: refresh(e) if e in shared else None)
