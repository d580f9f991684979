"""A plug-in of pytest that writes down which lines of irtool each quick test runs, and how long the test takes.

`python -m pytest -p tests.mutants.tracing --trace-to FOLDER FILE` writes `FOLDER/lines` (of `coverage`, a context for
each test; lines that run while modules are imported have the empty one) and `FOLDER/seconds.json` (tests that passed).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage

from tests.mutants.limits import limited


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--trace-to", type=Path, required=True, help="the folder for lines and seconds")
    parser.addoption("--longest", type=float, default=1.5, help="tests that compute for longer (seconds) are left out")
    parser.addoption("--together", type=float, default=15.0, help="how long the tests of a file may compute together")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Tracing(*(config.getoption(o) for o in ("--trace-to", "--longest", "--together"))))


class _Tracing:
    def __init__(self, folder: Path, longest: float, together: float) -> None:
        self.folder = folder
        self.longest = longest
        self.left = together
        self.seconds: dict[str, float] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self.coverage = Coverage(data_file=str(folder / "lines"), source=["irtool"], config_file=False, messages=False)
        self.coverage.erase()
        self.coverage.start()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Where there is no time for all tests of a file, some of each kind are taken."""
        items.sort(key=lambda i: hashlib.sha256(i.nodeid.encode()).digest())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        begin = _seconds()
        result = yield
        spent = _seconds() - begin
        self.left -= spent
        self.coverage.switch_context("")
        if item.nodeid in self.seconds:
            self.seconds[item.nodeid] = round(spent, 4)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        if self.left < 0:
            pytest.skip("there is no time left for tests of this file")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        with limited(self.longest):
            result = yield
        self.seconds[item.nodeid] = 0.0
        return result

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        (self.folder / "seconds.json").write_text(json.dumps(self.seconds), encoding="utf-8")


def _seconds() -> float:
    """Seconds of the processor that this process and those that it started have taken: no matter how busy others are."""
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system
