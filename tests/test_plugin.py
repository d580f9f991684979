"""The registry: finds plug-ins where they are defined, imports what that takes, knows all the others when asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from irtool.diagnostics import UsageError
from irtool.ops import operators
from irtool.passes import passes
from irtool.plugin import PluginError, Registry

PACKAGE = {
    "__init__.py": "",
    "base.py": "from irtool.plugin import Registry\nthings = Registry('thing', '{package}')\n",
    "loud_mouse.py": "from {package}.base import things\n@things.register('LoudMouse')\nclass A: pass\n",
    "family.py": "from {package}.base import things\n"
    'for name in ("cat", "dog"):\n    things.register(f"small.{{name}}")(type(name, (), {{}}))\n',
    "unspelled.py": "from {package}.base import things\nthings.register('s' + 'ecret')(type('S', (), {{}}))\n",
    "deep/__init__.py": "",
    "deep/well.py": 'from {package}.base import things\n@things.register("deep.water", "H2O")\nclass W: pass\n',
}


@pytest.fixture
def things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Registry:
    """The registry of a package of this test's own."""
    package = f"things_of_{request.node.name}"
    for name, text in PACKAGE.items():
        path = tmp_path / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(package=package))
    monkeypatch.syspath_prepend(str(tmp_path))
    return __import__(f"{package}.base", fromlist=["things"]).things


def imported(registry: Registry) -> set[str]:
    """What is imported of the registry's package, beside its root and its base."""
    (package,) = registry.packages
    modules = {m.removeprefix(f"{package}.") for m in sys.modules if m.startswith(f"{package}.")}
    return modules - {"base"}


def test_a_name_is_found_in_the_file_of_that_name(things: Registry) -> None:
    assert things.get("LoudMouse").__name__ == "A"
    assert imported(things) == {"loud_mouse"}


def test_a_name_is_found_in_the_file_that_spells_it(things: Registry) -> None:
    assert things.get("deep.water") is things.get("H2O")
    assert imported(things) == {"deep", "deep.well"}


def test_a_member_of_a_family_is_found_in_the_family(things: Registry) -> None:
    assert things.get("small.dog").name == "small.dog"
    assert imported(things) == {"family"}


def test_a_name_that_no_file_spells_is_found(things: Registry) -> None:
    assert things.get("secret").__name__ == "S"


def test_an_unknown_name_is_told_apart_from_all_there_are(things: Registry) -> None:
    with pytest.raises(UsageError, match=r"unknown thing deep\.wader") as caught:
        things.get("deep.wader")
    assert "deep.water" in str(caught.value.diagnostics[0].help)
    assert things.names() == ["H2O", "LoudMouse", "deep.water", "secret", "small.cat", "small.dog"]


def test_two_of_a_name_are_refused(things: Registry) -> None:
    things.load()
    with pytest.raises(PluginError, match="thing secret: the name secret is taken"):
        things.register("secret")(type("T", (), {}))


def test_a_name_is_found_without_sources(things: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.machinery.SourceFileLoader.get_source", lambda self, name: None)
    assert things.get("deep.water").__name__ == "W"


def test_the_index_says_where_a_name_is(things: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    (package,) = things.packages
    monkeypatch.setattr("irtool.plugin.registry.indexed", lambda kind: {"secret": (f"{package}.unspelled", "")})
    assert things.get("secret").__name__ == "S"
    assert imported(things) == {"unspelled"}


def test_a_stale_index_costs_time_and_nothing_else(things: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    (package,) = things.packages
    stale = {"LoudMouse": f"{package}.gone", "deep.water": f"{package}.family", "small.dog": "another.package"}
    monkeypatch.setattr("irtool.plugin.registry.indexed", lambda kind: {n: (m, "") for n, m in stale.items()})
    assert things.get("LoudMouse").__name__ == "A"
    assert things.get("deep.water").__name__ == "W"
    assert things.get("small.dog").name == "small.dog"


def run_alone(code: str) -> list[str]:
    """The names of irtool's modules that `code` imports in a process of its own."""
    code += "\nimport sys\nprint(*(m for m in sys.modules if m.startswith('irtool.')))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_a_pass_takes_no_other_pass() -> None:
    alone = run_alone("from irtool.passes import passes\npasses.get('FastMath')")
    assert "irtool.passes.fast_math" in alone
    others = {p.__module__ for p in passes if p.__module__ != "irtool.passes.fast_math"}
    assert not others & set(alone)


def test_an_operator_takes_its_family_alone() -> None:
    alone = run_alone("from irtool.ops import operators\noperators.get('nn.dense')")
    assert "irtool.ops.nn.dense" in alone
    assert {o.__module__ for o in operators} & set(alone) == {"irtool.ops.nn.dense"}


def test_operators_and_passes_are_the_same_in_whatever_order_they_are_asked_for() -> None:
    # The names are listed there, not here, where other tests register their own.
    code = """
from irtool.ops import operators
from irtool.passes import passes
pairs = [(r, n) for r in (operators, passes) for n in r.names()][::{step}]
print(*(f"{{r.kind}}:{{n}}={{r.get(n).__module__}}" for r, n in pairs))
"""
    listings = set()
    for step in (1, -1):
        child = subprocess.run([sys.executable, "-c", code.format(step=step)], capture_output=True, text=True)
        assert not child.returncode, child.stderr
        listings.add(tuple(sorted(child.stdout.split())))
    assert len(listings) == 1 and len(listings.pop()) > 350
