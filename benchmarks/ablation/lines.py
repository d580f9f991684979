"""Lines of code that a stage or a strategy has for itself: its module, and modules that serve nothing else."""

from __future__ import annotations

import ast
import inspect

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


def _used(function: object) -> set[str]:
    """The modules of the schedule whose functions and classes a function of `pipeline` names."""
    tree = ast.parse(inspect.getsource(function))  # type: ignore[arg-type]  # it is a function
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    modules = {getattr(getattr(pipeline, n, None), "__module__", "") for n in names}
    return {m for m in modules if m.startswith("irtool.schedule.") and m != _PIPELINE}


def _with_private(modules: set[str]) -> set[str]:
    private = set(modules)
    while True:
        more = {
            m for m, by in importers().items() if m.startswith("irtool.schedule.") and by and by <= private
        } - private
        if not more:
            return private
        private |= more
