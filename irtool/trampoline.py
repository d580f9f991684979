"""Recursion without Python's stack."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any


def trampoline(generator: Generator[Any, Any, Any]) -> Any:
    """Runs code written as if it were recursive, in constant Python stack.

    Where a recursive function would call `visit(x)`, a generator writes `yield visit(x)` and is sent its result::

        def depth(e):
            return 1 + max([(yield depth(c)) for c in children(e)], default=0)   # not in a comprehension, though: a loop

        trampoline(depth(e))
    """
    stack = [generator]
    value: Any = None
    error: BaseException | None = None
    while stack:
        try:
            if error is not None:
                raised, error = error, None
                step = stack[-1].throw(raised)
            else:
                step = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            value = stop.value
        except BaseException as raised:  # noqa: BLE001 - handed to the generator that waits for this one
            stack.pop()
            error = raised
        else:
            stack.append(step)
            value = None
    if error is not None:
        raise error
    return value
