"""Every variable bound once, every buffer allocated once, in all of a function."""

from __future__ import annotations

from typing import Any

from .renaming import fresh_copy
from .stmt import Allocate, For, Let, PrimFunc, Stmt, children, expressions, rebuild


def convert_to_ssa(f: PrimFunc) -> PrimFunc:
    """The function with a new variable, or buffer, at each further binding of the same one."""
    seen: set[Any] = set()
    done: list[Stmt] = []
    stack: list[tuple[Stmt, bool]] = [(f.body, False)]
    while stack:
        s, ready = stack.pop()
        kids = children(s)
        if ready or not kids:
            first = len(done) - len(kids)
            done[first:] = [rebuild(s, done[first:], expressions(s))]
            continue
        bound = s.var if isinstance(s, For | Let) else s.buffer if isinstance(s, Allocate) else None
        if bound in seen:
            done.append(fresh_copy(s))
            continue
        if bound is not None:
            seen.add(bound)
        stack.append((s, True))
        stack.extend((k, False) for k in reversed(kids))
    return f.with_body(done[0])
