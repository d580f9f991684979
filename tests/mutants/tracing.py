"""A plug-in of pytest that writes down which pieces of irtool each quick test runs, and how long the test takes.

`python -m pytest -p tests.mutants.tracing --trace-to FOLDER FILES`, with probes in irtool (`tests.mutants.probes`), writes for
each file of tests `FOLDER/FILE.json`: `seconds` of the tests that passed, and in `runs` for each file of irtool and each
number of a piece which of these tests run it, as the bits of a number in hexadecimal digits.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import marshal
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import probes
from tests.mutants.checkout import file_of
from tests.mutants.limits import limited

PER_TEST = 0.06
"""Seconds for the tests of a file, a test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--trace-to", type=Path, required=True, help="the folder for what tests run")
    parser.addoption("--longest", type=float, default=1.5, help="tests that compute for longer (seconds) are left out")
    parser.addoption("--together", type=float, default=6.0, help="how long the tests of a file may compute together")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Tracing(*(config.getoption(o) for o in ("--trace-to", "--longest", "--together"))))


class _Tracing:
    def __init__(self, store: Path, longest: float, together: float) -> None:
        self.store = store
        self.longest = longest
        self.together = together
        self.count: Counter[str] = Counter()
        self.file = ""
        self.left = 0.0
        self.seconds: dict[str, float] = {}
        self.runs: dict[str, dict[int, int]] = {}
        self.passed = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Where there is no time for all tests of a file, some of each kind are taken."""
        self.count.update(map(_file, items))
        files = {f: n for n, f in enumerate(self.count)}
        items.sort(key=lambda i: (files[_file(i)], hashlib.sha256(i.nodeid.encode()).digest()))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if _file(item) != self.file:
            self._finish()
            self._begin(_file(item))
        probes.taken()
        self.passed = False
        begin = _seconds()
        result = yield
        spent = _seconds() - begin
        self.left -= spent
        ran = self._ran()
        if self.passed and spent <= self.longest:
            bit = 1 << len(self.seconds)
            self.seconds[item.nodeid] = round(spent, 4)
            for path, numbers in ran:
                of = self.runs[path]
                for n in numbers:
                    of[n] |= bit
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        if self.left < 0:
            pytest.skip("there is no time left for tests of this file")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        with limited(2 * self.longest, patience=8):
            result = yield
        self.passed = True
        return result

    def pytest_sessionfinish(self) -> None:
        self._finish()

    def _ran(self) -> list[tuple[str, list[int]]]:
        """What this process ran, and those that it started."""
        ran = list(probes.taken().items())
        for path in Path(os.environ["IRTOOL_PROBES"]).glob("*.hits"):
            with contextlib.suppress(ValueError, EOFError):
                ran += marshal.loads(path.read_bytes()).items()
            path.unlink()
        return ran

    def _begin(self, file: str) -> None:
        self.file, self.left, self.seconds = file, self.together + PER_TEST * self.count[file], {}
        self.runs = defaultdict(lambda: defaultdict(int))

    def _finish(self) -> None:
        if self.file:
            runs = {path: {n: f"{bits:x}" for n, bits in of.items()} for path, of in sorted(self.runs.items())}
            traced: dict[str, Any] = {"seconds": self.seconds, "runs": runs}
            file_of(self.store, self.file).write_text(json.dumps(traced), encoding="utf-8")


def _file(item: pytest.Item) -> str:
    return item.nodeid.split("::")[0]


def _seconds() -> float:
    """Seconds of the processor that this process and those that it started have taken: no matter how busy others are."""
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system
