"""Imports point one way: each package may import only packages that stand before it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from irtool.providers import PROVIDERS
from tests.import_graph import ROOT, files, imported_names, importers
from tests.statements import statements

pytestmark = pytest.mark.every_tier

LAYERS = [
    (
        "providers",
        "did_you_mean",
        "extras",
        "deferred",
        "array_blocks",
        "byte_sizes",
        "signals",
        "post_order",
        "gc_tuning",
        "isolation",
        "visible",
        "steps",
        "symbolic_int",
    ),
    ("diagnostics", "hooks"),
    ("plugin", "trampoline", "namespace", "files"),
    ("ir",),
    ("te", "tir"),
    ("ops",),
    ("infer", "interp", "parser", "printer"),
    ("passes",),
    ("tir_passes",),
    ("lower",),
    ("schedule",),
    ("selection",),
    ("boards",),
    ("backends",),
    ("driver",),
    ("tune",),
    ("benchmark",),
    ("quantization",),
    ("training",),
    ("reduction",),
    ("exports",),
    ("relay",),
    ("viz",),
    ("frontends",),
    ("lsp",),
    ("commands",),
    ("cli", "__main__", "onnx_backend", "pytest_plugin"),
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
SEES = {
    "selection": {"diagnostics", "post_order", "trampoline", "tir", "te", "schedule", "symbolic_int"},
    "schedule": {
        "array_blocks",
        "did_you_mean",
        "post_order",
        "diagnostics",
        "plugin",
        "trampoline",
        "steps",
        "symbolic_int",
        "tir",
        "te",
    },
    "backends": {
        "byte_sizes",
        "hooks",
        "did_you_mean",
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
        "symbolic_int",
        "tir",
        "te",
        "schedule",
        "selection",
        "boards",
    },
    "boards": {"byte_sizes", "diagnostics", "files"},
}
"""Rooms with a narrower view than their place in the order gives them."""


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Rooms of irtool that a file imports."""
    return {name.split(".")[1] for name in imported_names(path) if "." in name} & RANK.keys()


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


IMPORT_BY_NAME = {
    "hooks.py": "functions that higher layers provide, listed in providers.py",
    "deferred.py": "numpy",
    "namespace.py": "the modules of a package, for the package itself",
    "plugin/registry.py": "the modules of a registry's packages",
    "passes/core/rule_table.py": "the modules of a table's package",
    "passes/partition/libraries/__init__.py": "its own modules",
    "infer/__init__.py": "its own modules",
    "relay/__init__.py": "names of TVM's, from lower layers",
    "relay/testing/__init__.py": "its own modules",
    "relay/tvm/__init__.py": "names of TVM's, from lower layers",
    "backends/instructions/listing.py": "families of instructions",
    "commands/shell.py": "the module of a command",
}
"""Files that import modules by names made at run time, and which modules these are. Any other import is a statement."""


def test_few_modules_import_by_name() -> None:
    users = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            if name in ("import_module", "__import__"):
                users.add(str(path.relative_to(ROOT)))
    assert users == IMPORT_BY_NAME.keys()


def test_imports_by_name_point_downwards() -> None:
    """Whole names of modules, and beginnings of names made at run time."""
    modules = files().keys() - {"irtool"}
    wrong = []
    for path in (ROOT / name for name in IMPORT_BY_NAME):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, str) and (value in modules or re.match(r"irtool\.[\w.]*$", value)):
                upper = value.split(".")[1]
                if RANK.get(upper, len(LAYERS)) > RANK[room(path)]:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {value}")
    assert not wrong, "\n".join(wrong)


def _declared_hooks() -> list[tuple[str, str]]:
    """The room that declares each hook, and the name of the hook."""
    return [
        (room(path), str(ast.literal_eval(node.args[0])))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Hook"
    ]


def test_every_hook_has_one_name_and_one_provider() -> None:
    declared = _declared_hooks()
    names = [name for _, name in declared]
    assert sorted(names) == sorted(PROVIDERS)
    assert all(name.startswith(f"{room}.") for room, name in declared)


@pytest.mark.parametrize("first", ["irtool.tir.stmt", "irtool.ir.expr", "irtool.driver.artifact"])
def test_hooks_are_provided_whatever_is_imported_first(first: str) -> None:
    code = f"import {first}\nfrom irtool.hooks import PROVIDERS, Hook\nprint(all(Hook(name).get() is not None for name in PROVIDERS))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


BACKENDS = ("c", "llvm")
"""Languages that programs are written in; what they share stands beside them."""


def test_backends_see_nothing_of_each_other() -> None:
    """Not one backend of another one, and what they share of none of them."""
    wrong = []
    for path in sorted((ROOT / "backends").rglob("*.py")):
        here = path.relative_to(ROOT / "backends").parts[0]
        for name in sorted(imported_names(path)):
            parts = name.split(".")
            if parts[1:2] == ["backends"] and parts[2:3] and parts[2] in BACKENDS and parts[2] != here:
                wrong.append(f"{path.relative_to(ROOT)}: {name}")
    assert not wrong, "\n".join(wrong)


def test_no_imports_run_in_circles() -> None:
    """Not inside rooms either, and not by way of imports in functions or for type checking: where two files need each other's types, a
    third has the one that both need, or a Protocol."""
    graph: dict[str, set[str]] = {}
    for module, users in importers().items():
        for user in users:
            graph.setdefault(user, set()).add(module)
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError as error:
        pytest.fail(" → ".join(reversed(error.args[1])))


POSITIONAL = 8
"""Parameters of a constructor that calls may give by position; more are told apart by names."""
FIELDS = 12
"""The same of classes of fields, where each line of the class is a parameter."""
LISTS_OF_ATTRIBUTES = ("ops", "passes", "commands", "backends", "viz")
"""Rooms whose classes of fields are made from names: attributes of operators, options of passes, commands and backends."""


def test_constructors_take_few_arguments_by_position() -> None:
    many = []
    for path in FILES:
        for node in statements(path):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                count, limit = len(node.args.posonlyargs) + len(node.args.args) - 1, POSITIONAL
            elif isinstance(node, ast.ClassDef) and room(path) not in LISTS_OF_ATTRIBUTES:
                count, limit = _fields_by_position(node), FIELDS
            else:
                continue
            if count > limit:
                many.append(f"{path.relative_to(ROOT)}:{node.lineno}: {count} arguments by position")
    assert not many, "\n".join(many)


def _fields_by_position(node: ast.ClassDef) -> int:
    """Fields of a dataclass up to `KW_ONLY`; 0 of other classes."""
    decorators = [ast.unparse(d) for d in node.decorator_list]
    if not any(d.startswith("dataclass") for d in decorators) or any("kw_only=True" in d for d in decorators):
        return 0
    fields = [s for s in node.body if isinstance(s, ast.AnnAssign) and "ClassVar" not in ast.unparse(s.annotation)]
    return next((n for n, s in enumerate(fields) if ast.unparse(s.annotation) == "KW_ONLY"), len(fields))


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
