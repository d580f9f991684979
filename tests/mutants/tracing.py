"""A plug-in of pytest that writes down which lines of irtool each quick test runs, and how long the test takes.

`python -m pytest -p tests.mutants.tracing --trace-to FOLDER FILES` writes for each file of tests `FOLDER/FILE/lines` (of
`coverage`, a context for each test) and `FOLDER/FILE/seconds.json` (tests that passed).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage

from tests.mutants.checkout import folder_of
from tests.mutants.limits import limited


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--trace-to", type=Path, required=True, help="the folder for lines and seconds")
    parser.addoption("--longest", type=float, default=1.5, help="tests that compute for longer (seconds) are left out")
    parser.addoption("--together", type=float, default=6.0, help="how long the tests of a file may compute together")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Tracing(*(config.getoption(o) for o in ("--trace-to", "--longest", "--together"))))


class _Tracing:
    def __init__(self, store: Path, longest: float, together: float) -> None:
        self.store = store
        self.longest = longest
        self.together = together
        self.file = ""
        self.left = 0.0
        self.seconds: dict[str, float] = {}
        self.coverage: Coverage | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Where there is no time for all tests of a file, some of each kind are taken."""
        files = {f: n for n, f in enumerate(dict.fromkeys(map(_file, items)))}
        items.sort(key=lambda i: (files[_file(i)], hashlib.sha256(i.nodeid.encode()).digest()))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if _file(item) != self.file:
            self._finish()
            self._begin(_file(item))
        assert self.coverage is not None
        self.coverage.switch_context(item.nodeid)
        begin = _seconds()
        result = yield
        spent = _seconds() - begin
        self.left -= min(spent, self.longest)
        self.coverage.switch_context("")
        if item.nodeid in self.seconds and spent <= self.longest:
            self.seconds[item.nodeid] = round(spent, 4)
        else:
            self.seconds.pop(item.nodeid, None)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        if self.left < 0:
            pytest.skip("there is no time left for tests of this file")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        with limited(10 * self.longest):
            result = yield
        self.seconds[item.nodeid] = 0.0
        return result

    def pytest_sessionfinish(self) -> None:
        self._finish()

    def _begin(self, file: str) -> None:
        folder = folder_of(self.store, file)
        folder.mkdir(parents=True, exist_ok=True)
        self.file, self.left, self.seconds = file, self.together, {}
        self.coverage = Coverage(data_file=str(folder / "lines"), source=["irtool"], config_file=False, messages=False)
        self.coverage.erase()
        self.coverage.start()

    def _finish(self) -> None:
        if self.coverage is not None:
            self.coverage.stop()
            self.coverage.save()
            text = json.dumps(self.seconds)
            (folder_of(self.store, self.file) / "seconds.json").write_text(text, encoding="utf-8")
            self.coverage = None


def _file(item: pytest.Item) -> str:
    return item.nodeid.split("::")[0]


def _seconds() -> float:
    """Seconds of the processor that this process and those that it started have taken: no matter how busy others are."""
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system
