"""Lines of code that a stage or a strategy has for itself: its module, and modules that serve nothing else."""

from __future__ import annotations

import inspect
from types import CodeType
from typing import Any

from irtool.schedule import SCHEDULE, pipeline, strategies
from tests.import_graph import files, importers

_PIPELINE = pipeline.__name__


def lines_of(switch: str) -> int:
    """Lines of the modules of a stage or strategy, and of those below irtool.schedule that only these import."""
    return sum(len(files()[m].read_text("utf-8").splitlines()) for m in _with_private(_modules(switch)))


def _modules(switch: str) -> set[str]:
    """The modules that define it: of a stage that `pipeline` makes of functions, theirs, where no other stage has them."""
    stage = next((s for s in SCHEDULE if s.name == switch), None)
    if stage is None:
        return {strategies.get(switch).__module__}
    if stage.run.__module__ != _PIPELINE:
        return {stage.run.__module__}
    others = [s for s in SCHEDULE if s is not stage]
    shared = set().union(*({s.run.__module__} if s.run.__module__ != _PIPELINE else _used(s.run) for s in others))
    return _used(stage.run) - shared


def _used(function: Any) -> set[str]:
    """The modules of the schedule whose functions and classes a function of `pipeline` names, or captures to call."""
    captured = [c.cell_contents for c in function.__closure__ or ()]
    named = [getattr(pipeline, n, None) for n in _names(function.__code__)]
    modules = {getattr(x, "__module__", "") for x in (*named, *captured)}
    inside = [_used(x) for x in captured if inspect.isfunction(x) and x.__module__ == _PIPELINE]
    return {m for m in modules if (m or "").startswith("irtool.schedule.") and m != _PIPELINE}.union(*inside)


def _names(code: CodeType) -> set[str]:
    """The names that a function uses, and those inside of it."""
    return set(code.co_names).union(*(_names(c) for c in code.co_consts if inspect.iscode(c)))


def _with_private(modules: set[str]) -> set[str]:
    private = set(modules)
    while True:
        more = {
            m for m, by in importers().items() if m.startswith("irtool.schedule.") and by and by <= private
        } - private
        if not more:
            return private
        private |= more
