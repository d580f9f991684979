"""Imports point one way: each package may import only packages that stand before it."""

from __future__ import annotations

import ast
import functools
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import irtool
from tests.statements import statements

ROOT = Path(irtool.__file__).parent
LAYERS = [
    ("likeness", "extras", "deferred", "signals", "post_order", "garbage", "isolation", "visible", "steps"),
    ("diagnostics",),
    ("plugin", "trampoline", "namespace", "files"),
    ("ir",),
    ("te", "tir"),
    ("ops",),
    ("infer", "interp", "parser", "printer"),
    ("passes",),
    ("tir_passes",),
    ("lower",),
    ("schedule",),
    ("backends",),
    ("driver",),
    ("tune",),
    ("benchmark",),
    ("quantization",),
    ("reduction",),
    ("exports",),
    ("relay",),
    ("viz",),
    ("frontends",),
    ("lsp",),
    ("commands",),
    ("cli", "__main__", "pytest_plugin"),
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
SEES = {
    "schedule": {"likeness", "post_order", "diagnostics", "plugin", "trampoline", "steps", "tir", "te"},
    "backends": {
        "likeness",
        "post_order",
        "diagnostics",
        "plugin",
        "trampoline",
        "files",
        "isolation",
        "visible",
        "extras",
        "signals",
        "steps",
        "tir",
        "te",
        "schedule",
    },
}
"""Rooms with a narrower view than their place in the order gives them."""


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def module_of(path: Path) -> str:
    parts = ["irtool", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imported_names(path: Path) -> set[tuple[str, ...]]:
    """What a file imports, wherever in the file the import stands (type checking aside), each with the name taken from it."""
    package = ["irtool", *path.relative_to(ROOT).parent.parts]
    found: set[tuple[str, ...]] = set()
    for node in statements(path):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            full = base + (node.module.split(".") if node.module else [])
            found |= {(*full, a.name) for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {tuple(a.name.split(".")) for a in node.names}
    return {name for name in found if name[0] == "irtool"}


def imported_rooms(path: Path) -> set[str]:
    """Rooms of irtool that a file imports."""
    return {name[1] for name in imported_names(path) if len(name) > 1} & RANK.keys()


FILES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def test_imports_point_downwards() -> None:
    wrong = []
    for path in FILES:
        here = room(path)
        for other in sorted(imported_rooms(path) - {here}):
            if RANK[other] > RANK[here]:
                wrong.append(f"{path.relative_to(ROOT)}: {here} must not import {other}")
            elif here in SEES and other not in SEES[here]:
                wrong.append(f"{path.relative_to(ROOT)}: {here} must not know of {other}")
    assert not wrong, "\n".join(wrong)


def test_every_package_is_in_the_order() -> None:
    rooms = {room(p) for p in FILES}
    assert rooms <= RANK.keys(), f"these have no place in the order of layers: {sorted(rooms - RANK.keys())}"


def test_driver_and_commands_see_nothing_of_backends_but_their_base() -> None:
    allowed = {"base", "flags", "process"}
    wrong = []
    for path in (p for p in FILES if room(p) in ("driver", "commands")):
        for node in statements(path):
            names: set[str] = set()
            if isinstance(node, ast.ImportFrom) and node.module and "backends" in node.module.split("."):
                behind = node.module.split(".")[node.module.split(".").index("backends") + 1 :]
                names = set(behind[:1] or [a.name for a in node.names])
            elif isinstance(node, ast.Import):
                names = {a.name for a in node.names if ".backends" in a.name}
            if not names <= allowed:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert not wrong, "\n".join(wrong)


BACKENDS = ("c", "llvm")
"""Languages that programs are written in; what they share stands beside them."""


def test_backends_see_nothing_of_each_other() -> None:
    """Not one backend of another one, and what they share of none of them."""
    wrong = []
    for path in sorted((ROOT / "backends").rglob("*.py")):
        here = path.relative_to(ROOT / "backends").parts[0]
        for name in sorted(imported_names(path)):
            if name[1] == "backends" and len(name) > 2 and name[2] in BACKENDS and name[2] != here:
                wrong.append(f"{path.relative_to(ROOT)}: {'.'.join(name)}")
    assert not wrong, "\n".join(wrong)


def test_no_imports_run_in_circles() -> None:
    """Not inside rooms either, and not by way of imports in functions: what two files share is in a third."""
    files = {module_of(p): p for p in ROOT.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for module, path in files.items():
        names = {".".join(n) for n in imported_names(path)}
        graph[module] = {n if n in files else n.rpartition(".")[0] for n in names} & files.keys() - {module}
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError as error:
        pytest.fail(" → ".join(reversed(error.args[1])))


LONGEST = 60
"""Lines of a function behind its docstring."""
LONG = {
    (
        "interp/machine.py",
        "_run",
    ): "the loop of the interpreter: calls for each step would double the time of small ones"
}


def test_functions_are_short_enough_to_be_read_at_once() -> None:
    long = {}
    for path in sorted(ROOT.rglob("*.py")):
        for node in statements(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[1 if ast.get_docstring(node) is not None and len(node.body) > 1 else 0]
                if (node.end_lineno or 0) - first.lineno >= LONGEST:
                    long[str(path.relative_to(ROOT)), node.name] = node.lineno
    assert long.keys() == LONG.keys(), f"take these apart by their ideas: {sorted(long.keys() - LONG.keys())}"
