"""Fixtures of all tests, and the pages that are made of their results."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance import Conformance
from tests.pages import Pages
from tests.robustness import Robustness
from tests.tiers import Tiers, add_options

# Asserts in helper modules show their operands, too.
FOLDERS = {f"tests.{p.name}" for p in Path(__file__).parent.iterdir() if p.is_dir()}
pytest.register_assert_rewrite(*(FOLDERS - sys.modules.keys()))


@pytest.fixture(autouse=True, scope="session")
def _skip_libraries_of_other_processors() -> Iterator[None]:
    """A test that loads code for instructions which this processor lacks is skipped there, behind what it asserts of the code."""
    from irtool.driver.artifact import Artifact
    from irtool.driver.serving import Serving
    from tests.backends.instructions import require_processor

    load = Artifact._load  # not `run`, whose caller is the line that warnings name

    def guarded(self: Artifact) -> Serving:
        for word in self.report.get("compile", "").split():
            if word.startswith("-march="):
                require_processor(word.removeprefix("-march="))
        return load(self)

    Artifact._load = guarded  # type: ignore[method-assign]
    yield
    Artifact._load = load  # type: ignore[method-assign]


@pytest.fixture
def quick_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """C is compiled without the optimizations that take long; for tests of what programs compute, not how fast."""
    _add_flag(monkeypatch, "-O1")


@pytest.fixture
def own_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor at hand is looked at, whatever IRTOOL_MACHINE describes; for tests of what is read of it."""
    monkeypatch.delenv("IRTOOL_MACHINE", raising=False)


@pytest.fixture(scope="module")
def keeps_denormals() -> Iterator[None]:
    """Compiles C whose runs do not take denormal numbers for zeros: own functions are right for these as well."""
    with pytest.MonkeyPatch.context() as patch:
        _add_flag(patch, "-DIRT_KEEP_DENORMALS")
        yield


def _add_flag(patch: pytest.MonkeyPatch, flag: str) -> None:
    """Adds a flag to those that fixtures of other scopes have set."""
    patch.setenv("CFLAGS", f"{os.environ.get('CFLAGS', '')} {flag}".strip())


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)
    parser.addoption(
        "--pages", action="store_true", help="write the pages of docs/ that are made of all tests' results"
    )
    parser.addoption(
        "--peers",
        action="store_true",
        help="also run what needs tools that irtool does not: clang 15 or later, pyright",
    )


def pytest_configure(config: pytest.Config) -> None:
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # as `&` of a script leaves it, to all programs that tests start
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(Tiers(config), "tiers")
    config.pluginmanager.register(Pages(config, Conformance(), Robustness()), "pages")
