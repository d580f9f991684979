"""Lines of code that a stage or a strategy has for itself: its module, and modules that serve nothing else."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path

import irtool
from irtool.schedule import SCHEDULE, pipeline, strategies

_ROOT = Path(irtool.__file__).parent
_PIPELINE = pipeline.__name__


def lines_of(switch: str) -> int:
    """Lines of the modules of a stage or strategy, and of those below irtool.schedule that only these import."""
    return sum(len(_file(m).read_text("utf-8").splitlines()) for m in _with_private(_modules(switch)))


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
    found = {getattr(getattr(pipeline, n, None), "__module__", "") for n in names}
    return {m for m in found if m.startswith("irtool.schedule.") and m != _PIPELINE}


def _with_private(modules: set[str]) -> set[str]:
    importers = _importers()
    found = set(modules)
    while True:
        more = {m for m, by in importers.items() if m.startswith("irtool.schedule.") and by and by <= found} - found
        if not more:
            return found
        found |= more


@cache
def _importers() -> dict[str, set[str]]:
    """Who imports each module, by names."""
    found: dict[str, set[str]] = {_module(p): set() for p in _ROOT.rglob("*.py")}
    for path in _ROOT.rglob("*.py"):
        name = _module(path)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom):
                continue
            parts = package.split(".")
            base = (
                ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])
                if node.level
                else node.module
            )
            for target in {f"{base}.{a.name}" if f"{base}.{a.name}" in found else base for a in node.names}:
                if target in found:
                    found[target].add(name)
    return found


def _module(path: Path) -> str:
    parts = ["irtool", *path.relative_to(_ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _file(module: str) -> Path:
    path = _ROOT.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
