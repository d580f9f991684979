"""Functions that return at once if a condition holds."""

from __future__ import annotations

import functools

from ...symbolic_int import Symbol
from .builder import Builder


def refuse(b: Builder, cond: str, result: int | str, dtype: str = "i32") -> None:
    """Returns `result`, a number or an operand of the type `dtype`, if the condition holds."""
    end, go = b.fresh("refuse"), b.fresh("go")
    b.branch(cond, end, go)
    b.start(end)
    b.ret(f"{dtype} {result}")
    b.start(go)


def refuse_if_error(b: Builder, code: str) -> None:
    """Returns the error of a call unless it is 0."""
    refuse(b, b.value(f"icmp ne i32 {code}, 0"), code)


def refuse_outside(b: Builder, s: Symbol, least: int, result: int, dtype: str = "i32") -> None:
    """Returns `result` for a length outside of its values, the first of which is `least`."""
    if s.choices:
        others = [b.value(f"icmp ne i64 %{s.name}, {c}") for c in s.choices]
        refuse(b, functools.reduce(lambda x, y: b.value(f"and i1 {x}, {y}"), others), result, dtype)
        return
    refuse(b, b.value(f"icmp slt i64 %{s.name}, {least}"), result, dtype)
    refuse(b, b.value(f"icmp sgt i64 %{s.name}, {s.high}"), result, dtype)
    if s.step > 1:
        refuse(b, b.value(f"icmp ne i64 {b.value(f'srem i64 %{s.name}, {s.step}')}, 0"), result, dtype)
