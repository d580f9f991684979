"""The import graph of irtool: which module imports which, wherever in a file the import stands."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import irtool

from .statements import statements

ROOT = Path(irtool.__file__).parent


def module_of(path: Path) -> str:
    """The dotted name of a file of irtool."""
    parts = ["irtool", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def folder_of(module: str) -> str:
    """The package of a module; a package itself, if it is one."""
    return module if files()[module].name == "__init__.py" else module.rpartition(".")[0]


@cache
def files() -> dict[str, Path]:
    """The file of each module of irtool."""
    return {module_of(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def imported_names(path: Path, for_types: bool = False) -> frozenset[str]:
    """The names of irtool that a file imports, in functions too, each behind the module it is taken from; those for type checking alone
    with `for_types`."""
    package = ["irtool", *path.relative_to(ROOT).parent.parts]
    names = set()
    for node in statements(path, for_types):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            full = [*base, *(node.module.split(".") if node.module else [])]
            names |= {".".join([*full, alias.name]) for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(n for n in names if n.partition(".")[0] == "irtool")


@cache
def importers() -> dict[str, set[str]]:
    """The modules that import each module, by functions and for type checking too."""
    result: dict[str, set[str]] = {module: set() for module in files()}
    for module, path in files().items():
        for name in imported_names(path, for_types=True):
            target = name if name in result else name.rpartition(".")[0]
            if target in result and target != module:
                result[target].add(module)
    return result
