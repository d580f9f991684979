"""Tiers: how much of the tests a run takes, by the recorded times of `tests/times.txt`.

A group is a test function with all of its parameters, or a folder of files that one takes. `--tier=test` runs of each group the cases that fit in
`Tier.each` seconds, and at least one; groups whose cases take longer than `Tier.longest` are left out. The cases are those with the smallest
checksums of their names: the same ones in every run, whatever cases are added. Tests marked `every_tier` run whatever time they take: goldens,
examples and sessions of pages, and rules of the whole source, which any change may break. Without an option all tests run that are named.

`--times` writes the times of the files that ran, and leaves those of others: `pytest -n 2 --times tests/passes` renews a room.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent
RECORD = Path(__file__).parent / "times.txt"
SHORTEST = 0.5
"""Groups that take fewer seconds in all are not recorded, and always run whole."""


@dataclass(frozen=True)
class Tier:
    """Share of each group that a run takes.

    Attributes:
        each: the seconds that a group may take.
        longest: the seconds that a case may take; groups of longer ones are left out.
    """

    each: float
    longest: float

    def cases(self, seconds: float) -> int:
        """Number of cases that run of a group whose cases take that many seconds each."""
        return 0 if seconds > self.longest else max(1, int(self.each / seconds))


TIERS = {"quick": Tier(each=0.1, longest=0.1), "test": Tier(each=0.5, longest=1.5)}


def group_of(name: str) -> str:
    """The group of a test, by its node's name: the function, and of one that takes files the folder."""
    path = name.partition("::")[0]
    if not path.endswith(".py"):
        return f"{PurePosixPath(path).parent}/"
    function, _, case = name.partition("[")
    return f"{function}[{case.rpartition('/')[0]}/" if "/" in case else function


def recorded_times() -> dict[str, float]:
    """The seconds that a case takes, by group."""
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    return {group.strip(): float(seconds) for seconds, group in (line.split(maxsplit=1) for line in lines)}


def chosen(names: Iterable[str], tier: Tier, times: dict[str, float]) -> set[str]:
    """The names of tests that a tier runs."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[group_of(name)].append(name)
    return {
        name
        for group, members in groups.items()
        for name in (
            sorted(members, key=lambda n: (zlib.crc32(n.encode()), n))[: tier.cases(times[group])]
            if group in times
            else members
        )
    }


def names_of(items: Sequence[pytest.Item], tier: Tier, times: dict[str, float]) -> set[str]:
    """The names of collected tests that a tier runs, marked ones included."""
    always = {item.nodeid for item in items if item.get_closest_marker("every_tier")}
    return always | chosen((item.nodeid for item in items), tier, times)


class Tiers:
    """The plug-in of pytest that chooses tests by tier, and records times."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        parts = (
            config.option.tier in TIERS,
            config.option.keyword,
            config.option.markexpr,
            "::" in "".join(config.args),
        )
        if config.option.times and any(parts):
            raise pytest.UsageError("--times measures whole files: it goes with no --tier, -k, -m or FILE::TEST")
        if config.option.tier in TIERS:  # properties are tried on the same examples each time, too
            settings.register_profile("tier", derandomize=True)
            settings.load_profile("tier")
        self.seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    @pytest.hookimpl
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        tier = TIERS.get(config.option.tier)
        if tier is None:
            return
        names = names_of(items, tier, recorded_times())
        left_out = [item for item in items if item.nodeid not in names]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if item.nodeid in names]

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[group_of(report.nodeid)][report.nodeid] += report.duration

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        if not self.config.option.times or hasattr(self.config, "workerinput"):
            return
        RECORD.write_text(renewed(RECORD.read_text(encoding="utf-8"), self.seconds), encoding="utf-8")


def renewed(record: str, seconds: Mapping[str, Mapping[str, float]]) -> str:
    """The record with the times of a run: for each group the seconds of its cases by name.

    Rows of files that ran are replaced, and those of files that are gone are dropped.
    """
    files = {file_of(group) for group in seconds}
    rows = {
        line.split(maxsplit=1)[1]: f"{line}\n"
        for line in record.splitlines()
        if file_of(line.split(maxsplit=1)[1]) not in files and (ROOT / file_of(line.split(maxsplit=1)[1])).exists()
    }
    for group, cases in seconds.items():
        if sum(cases.values()) >= SHORTEST:
            rows[group] = f"{sum(cases.values()) / len(cases):<7.2g} {group}\n"
    return "".join(rows[group] for group in sorted(rows))


def file_of(group: str) -> str:
    """The file or the folder of a group, relative to the project."""
    return group.partition("::")[0].strip()


def add_options(parser: pytest.Parser) -> None:
    """Adds `--tier` and `--times`."""
    parser.addoption(
        "--tier", choices=(*TIERS, "all"), default="all", help="how much of the tests runs; see tests/tiers.py"
    )
    parser.addoption(
        "--times",
        action="store_true",
        help=f"write the times of all tests of the files that run to {RECORD.relative_to(ROOT)}",
    )
