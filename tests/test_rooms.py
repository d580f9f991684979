"""Places of modules: helpers beside their only user, and few entries in a room."""

from __future__ import annotations

import ast
import importlib
import re

import pytest

from irtool.plugin.registry import Registry

from .import_graph import ROOT, files, folder_of, importers

pytestmark = pytest.mark.every_tier

PUBLIC = ("irtool.relay",)
"""Packages whose modules users import by name."""
ENTRIES = {"schedule": 12}
"""The most entries that a room may have, where it has had too many."""


def _room(module: str) -> str:
    return (*module.split("."), "")[1]


def _registered() -> set[str]:
    """The modules whose classes a registry finds by name, without an import of them."""
    for module in files():
        if "Registry(" in files()[module].read_text(encoding="utf-8"):
            importlib.import_module(module)
    registries = [r for r in Registry.every if all(p.startswith("irtool.") for p in r.packages)]  # tests make others
    return {cls.__module__ for registry in registries for cls in registry}


def test_a_module_with_one_importer_lives_in_its_folder() -> None:
    """At or below it. Modules that another room imports are the interface of their own room, and stay."""
    misplaced = []
    registered = _registered()
    for module, users in importers().items():
        if len(users) != 1 or module in registered or module.startswith(PUBLIC):
            continue
        (user,) = users
        home = folder_of(user)
        if _room(user) == _room(module) and not f"{folder_of(module)}.".startswith(f"{home}."):
            misplaced.append(f"{module} belongs in {home}, whose {user} alone imports it")
    assert not misplaced, "\n".join(misplaced)


def test_rooms_have_few_entries() -> None:
    for room, most in ENTRIES.items():
        entries = sorted(
            p.name for p in (ROOT / room).iterdir() if p.suffix == ".py" or (p.is_dir() and p.name != "__pycache__")
        )
        assert len(entries) <= most, f"{room}: {', '.join(entries)}"


def test_every_package_says_what_it_holds() -> None:
    """A package with modules of its own has a docstring."""
    silent = [
        m
        for m, path in files().items()
        if path.name == "__init__.py" and len(list(path.parent.glob("*.py"))) > 2 and '"""' not in path.read_text()
    ]
    assert silent == []


def test_tables_of_a_room_have_a_line_for_each_module() -> None:
    """The table in the docstring of a package: the name of a module, spaces, and its description, each at the beginning of a line."""
    joined_lines = []
    for init in ROOT.rglob("__init__.py"):
        docstring = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""
        names = [p.stem for p in init.parent.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
        for line in docstring.splitlines():
            joined_lines += [
                f"{init.parent.name}: {line}" for n in names if re.search(rf"^\S.*[^,\s] +{n}/? {{3,}}[^⇒\s]", line)
            ]
    assert not joined_lines
