"""All rows, and the instruction that a compiler uses for a function."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from . import families
from .row import ARCHITECTURES, Form, InstructionSet, Row


@cache
def _modules() -> tuple[ModuleType, ...]:
    """The families, by name."""
    names = sorted(m.name for m in pkgutil.iter_modules(families.__path__, f"{families.__name__}."))
    return tuple(importlib.import_module(name) for name in names)


@cache
def rows() -> tuple[Row, ...]:
    """The rows of all families."""
    return tuple(row for module in _modules() for row in module.ROWS)


@cache
def row_sets() -> tuple[InstructionSet, ...]:
    """The instruction sets of the families, older ones first in each."""
    return tuple(s for module in _modules() for s in module.SETS)


@cache
def choices(function: str, lanes: int) -> tuple[tuple[Row, Form], ...]:
    """The rows that compute a function of vectors of `lanes`, the cheapest one first in each architecture."""
    candidates = [(r, f) for r in rows() if lanes in r.when and (f := r.form(function)) is not None]
    return tuple(sorted(candidates, key=lambda x: (ARCHITECTURES.index(x[0].architecture), x[1].cost)))


def choose(function: str, lanes: int, macros: str) -> tuple[Row, Form] | None:
    """The row that computes a function if a compiler defines these macros, each between spaces; None if no row does."""
    return next((x for x in choices(function, lanes) if x[0].holds(lanes, macros)), None)
