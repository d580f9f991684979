"""The order of steps: no tensor has a length in its shape before a step has set it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...diagnostics import InternalError
from ...symbolic_int import Symbol, symbols_of
from ...tir.program import Branch, Fork, HostFunction, Loop, SetLengths, Slot


def require_set_before_use(function: HostFunction) -> None:
    """Raises InternalError for a step before the one that sets the extents of its tensors."""
    own = set(function.lengths)
    if not own:
        return
    stack: list[tuple[Sequence[Any], set[Symbol]]] = [(function.body, set())]
    while stack:
        body, known = stack.pop()
        for s in body:
            if isinstance(s, SetLengths):
                known.update(s.symbols)
            elif isinstance(s, Fork):
                stack += [(arm, set(known)) for arm in s.arms]
                known.update(set.intersection(*map(_set_in, s.arms)))
            elif isinstance(s, Loop):
                stack += [(b, set(known)) for b in s.bodies]
                known.update(set.intersection(*map(_set_in, s.bodies)))
            read = s.cond.symbols if isinstance(s, Branch) and not isinstance(s.cond, Slot) else ()
            missing = {*_lengths_of((*s.reads, *s.writes)), *read} & own - known
            if missing:
                names = ", ".join(sorted(x.name for x in missing))
                raise InternalError(f"@{function.name} uses {names} before a step sets it")


def _set_in(body: Sequence[Any]) -> set[Symbol]:
    """The lengths that each run through the steps sets."""
    return {x for s in body if isinstance(s, SetLengths) for x in s.symbols}


def _lengths_of(slots: Sequence[Slot]) -> set[Symbol]:
    return set(symbols_of(d for slot in slots for d in slot.resolve().shape))
