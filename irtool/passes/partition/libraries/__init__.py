"""Libraries with conditions beyond a table, one per module: their composite functions, and the operators that they support alone.

A module defines `LIBRARY`; it is found by its file, which has the library's name with `_` for `-`.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from .library import Library


@cache
def libraries() -> dict[str, Library]:
    """Every library by name."""
    modules = [m.name for m in pkgutil.iter_modules(__path__) if m.name != "library"]
    found_libraries = [importlib.import_module(f"{__name__}.{name}").LIBRARY for name in sorted(modules)]
    return {library.name: library for library in found_libraries}


__all__ = ["Library", "libraries"]
