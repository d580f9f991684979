"""The memory of loops: between turns, objects that nothing leads to any more are taken back, once half of the region is in use.

The loops of `loops` have such a step at the end of each turn. Those stay whose turns may leave objects in the region.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..tir.cycles import components
from ..tir.program import CallFunction, Fork, HostFunction, Loop, calls, steps
from ..tir.region import Collect, MakeObject


def keep_useful_collections(functions: Mapping[str, HostFunction]) -> None:
    """Removes the steps that take objects back where turns leave none."""
    leaving: set[str] = set()
    for group in components({name: calls(f) for name, f in functions.items()}):
        for name in group:
            f = functions[name]
            leaves = _leave(steps(f.body), leaving)
            if not leaves:
                _without_collections(f)
            elif not f.releases:
                leaving.add(name)


def _leave(every: Sequence[Any], leaving: set[str]) -> bool:
    """True if some step may leave an object."""
    return any(isinstance(s, MakeObject) or (isinstance(s, CallFunction) and s.function in leaving) for s in every)


def _without_collections(f: HostFunction) -> None:
    stack = [f.body]
    while stack:
        body = stack.pop()
        body[:] = [s for s in body if not isinstance(s, Collect)]
        for s in body:
            stack += s.arms if isinstance(s, Fork) else s.bodies if isinstance(s, Loop) else []
