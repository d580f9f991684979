"""Golden files as tests of pytest, in any project that has irtool installed.

    [tool.pytest.ini_options]
    irtool_goldens = ["tests/golden"]

The golden files in these folders, and in those of `--irtool-goldens`, are collected beside other tests; elsewhere nothing is.
`pytest --irtool-update` takes over what is printed as expected output. Where neither is said, this file is all that is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .commands.goldens.golden import Golden

_FOLDERS = pytest.StashKey[list[Path]]()
_WRITTEN = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("irtool", "golden files of irtool")
    group.addoption(
        "--irtool-goldens",
        metavar="DIR",
        action="append",
        default=[],
        help="Also collect the golden files of irtool (// RUN: lines) in this folder. Repeatable.",
    )
    group.addoption(
        "--irtool-update",
        action="store_true",
        help="Overwrite the expected output of golden files with the current one.",
    )
    parser.addini("irtool_goldens", type="paths", default=[], help="Folders with golden files of irtool to collect.")


def pytest_configure(config: pytest.Config) -> None:
    """Finds the folders, and has them collected where the command line says nothing else. Raises pytest.UsageError."""
    asked = [Path(os.path.abspath(config.invocation_params.dir / f)) for f in config.getoption("irtool_goldens")]
    always = [Path(os.path.abspath(f)) for f in config.getini("irtool_goldens")]
    for folder in (*asked, *always):
        if not folder.exists():
            raise pytest.UsageError(f"irtool_goldens: there is no {folder}")
    config.stash[_FOLDERS] = [*asked, *always]
    config.stash[_WRITTEN] = []
    is_split = getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput")
    if config.getoption("irtool_update") and is_split:
        raise pytest.UsageError("--irtool-update writes files, for which one process is enough: leave out -n")
    is_named = config.args_source == pytest.Config.ArgsSource.ARGS
    for folder in asked if is_named else (*asked, *always):
        folders = [Path(os.path.abspath(config.invocation_params.dir / a.split("::")[0])) for a in config.args]
        if not any(folder.is_relative_to(g) for g in folders):
            config.args.append(str(folder))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A golden file in one of the folders, or expected output without one."""
    folders = parent.config.stash.get(_FOLDERS, [])
    if not any(file_path.is_relative_to(folder) for folder in folders):
        return None
    from .commands.goldens.finding import is_test

    return GoldenFile.from_parent(parent, path=file_path) if is_test(str(file_path)) else None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Lists the expected output that was written."""
    for name in config.stash.get(_WRITTEN, []):
        terminalreporter.write_line(f"irtool: updated {name}")


class GoldenFile(pytest.File):
    """A golden file; each of its cases is a test."""

    golden: Golden | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """The cases: `golden` where the file is one, else their numbers."""
        from .commands.goldens.finding import stale_expectation
        from .commands.goldens.golden import Golden

        if stale_expectation(str(self.path)):
            yield GoldenCase.from_parent(self, name="expected", index=-1, line=1)
            return
        self.golden = Golden(str(self.path), self.config.getoption("irtool_update"))
        for index, case in enumerate(self.golden.cases):
            yield GoldenCase.from_parent(self, name=str(case.number or "golden"), index=index, line=case.line)

    def teardown(self) -> None:
        """Writes expected output that is new."""
        if self.golden is None:
            return
        is_written, problem = self.golden.write()
        if is_written:
            self.config.stash[_WRITTEN].append(self.nodeid)
        if problem:
            raise GoldenFailure(problem)


class GoldenFailure(Exception):
    """The failure of a case."""


class GoldenCase(pytest.Item):
    """A case of a golden file."""

    def __init__(self, *, index: int, line: int, **rest: Any) -> None:
        super().__init__(**rest)
        self.index = index
        self.line = line

    def runtest(self) -> None:
        """Runs the case; skips it where something is not there that it requires."""
        from .commands.goldens.finding import stale_expectation
        from .commands.goldens.outcome import FAILED, SKIPPED, XFAILED

        assert isinstance(self.parent, GoldenFile)
        if self.parent.golden is None:
            raise GoldenFailure(stale_expectation(str(self.path)))
        outcome = self.parent.golden.run(self.index)
        if outcome.state == SKIPPED:
            pytest.skip(outcome.message)
        if outcome.state == XFAILED:
            pytest.xfail(outcome.message)
        if outcome.state == FAILED:
            raise GoldenFailure(outcome.message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message, without a traceback of irtool."""
        if not isinstance(excinfo.value, GoldenFailure):
            return super().repr_failure(excinfo, style)
        message = str(excinfo.value).replace("--update", "--irtool-update")
        if self.config.get_terminal_writer().hasmarkup:
            from .commands.colour import paint_diff

            message = paint_diff(message)
        return message

    def reportinfo(self) -> tuple[Path, int, str]:
        """The place of the case, and its name."""
        return self.path, self.line - 1, f"{self.path.name}: {self.name}"
