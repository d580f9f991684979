"""Test modules stand alone: helpers are in modules of their own, and a rule about many files is one test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.statements import statements

pytestmark = pytest.mark.every_tier

TESTS = Path(__file__).parent
TEST_MODULE = re.compile(r"(?:^|\.)test_\w+$")


def imported_modules(path: Path) -> set[str]:
    """The modules that a file may import, by full name: a name taken from a package may be a module, too."""
    package = ("tests", *path.relative_to(TESTS).parent.parts)
    modules: set[str] = set()
    for node in statements(path):
        if isinstance(node, ast.Import):
            modules |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            full = ".".join([*base, *([node.module] if node.module else [])])
            modules |= {full, *(f"{full}.{a.name}" for a in node.names)}
    return modules


def test_no_test_module_is_imported() -> None:
    """Imports between test modules make one of them a library that nobody looks for there, and move its tests' fixtures."""
    importers = []
    for path in sorted(TESTS.rglob("*.py")):
        for module in sorted(imported_modules(path)):
            if module.startswith("tests.") and TEST_MODULE.search(module) and file_of(module).exists():
                importers.append(f"{path.relative_to(TESTS)} imports {module}")
    assert not importers, "move the names to a helper module:\n" + "\n".join(importers)


def file_of(module: str) -> Path:
    return TESTS.joinpath(*module.split(".")[1:]).with_suffix(".py")


def test_no_program_in_a_string_imports_a_test_module() -> None:
    pattern = re.compile(r"(?:import|from) +tests(?:\.\w+)*\.test_\w+")
    importers = [str(p.relative_to(TESTS)) for p in sorted(TESTS.rglob("*.py")) if pattern.search(p.read_text("utf-8"))]
    assert not importers, importers


def test_no_parameter_is_a_source_file(request: pytest.FixtureRequest) -> None:
    """A rule about many files is one test that lists all that break it; this looks at all tests of the run."""
    names = (re.fullmatch(r"(.*)\[([^\[]+\.py)\]", item.nodeid) for item in request.session.items)
    by_file = {
        m[1] for m in names if m and any((TESTS.parent / room / m[2]).exists() for room in ("", "irtool", "tests"))
    }
    assert not by_file, sorted(by_file)
