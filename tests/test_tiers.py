"""Choice of tests by tier."""

from __future__ import annotations

import re

import pytest

from tests.tiers import RECORD, ROOT, TIERS, Tier, chosen, group_of, names_of, recorded_times, renewed

TIER = Tier(each=1.0, longest=10.0)
CASES = [f"tests/a/test_b.py::test_c[{n}]" for n in range(100)]


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("tests/a/test_b.py::test_c[1::2]", "tests/a/test_b.py::test_c"),
        ("tests/a/test_b.py::TestC::test_d", "tests/a/test_b.py::TestC::test_d"),
        ("tests/golden/passes/fuse.relay::2", "tests/golden/passes/"),
        ("tests/test_b.py::test_c[samples/net.relay]", "tests/test_b.py::test_c[samples/"),
    ],
)
def test_groups(name: str, group: str) -> None:
    assert group_of(name) == group


def test_a_group_runs_the_cases_that_fit() -> None:
    for seconds, count in ((0.001, 100), (0.1, 10), (0.4, 2), (5.0, 1), (11.0, 0)):
        assert len(chosen(CASES, TIER, {group_of(CASES[0]): seconds})) == count


def test_groups_without_a_time_run_whole() -> None:
    assert chosen(CASES, TIER, {}) == set(CASES)


def test_cases_do_not_change_their_places() -> None:
    """A new case takes the place of one other at most."""
    times = {group_of(CASES[0]): 0.1}
    before = chosen(CASES, TIER, times)
    assert before == chosen(reversed(CASES), TIER, times)
    assert len(before - chosen([*CASES, "tests/a/test_b.py::test_c[new]"], TIER, times)) <= 1


def test_the_record_names_tests_that_are_there() -> None:
    times = recorded_times()
    assert times, f"{RECORD.relative_to(ROOT)} is empty: pytest -n 2 --times writes it"
    for group in times:
        file, _, function = group.partition("[")[0].partition("::")
        path = ROOT / file
        assert path.exists(), group
        if function:
            assert re.search(rf"def {function.rpartition('::')[2]}\b", path.read_text(encoding="utf-8")), group


def test_marked_tests_run_in_every_tier(request: pytest.FixtureRequest) -> None:
    item = request.node
    times = {group_of(item.nodeid): 11.0}
    assert names_of([item], TIER, times) == set()
    item.add_marker("every_tier")
    assert names_of([item], TIER, times) == {item.nodeid}


def test_times_of_a_run_replace_those_of_its_files() -> None:
    record = (
        "2       tests/test_tiers.py::test_gone\n"
        "3       tests/test_tiers.py::test_groups\n"
        "4       tests/test_no_such_file.py::test_gone\n"
        "5       tests/test_golden.py::test_golden[samples/\n"
    )
    seconds = {
        "tests/test_tiers.py::test_groups": {"tests/test_tiers.py::test_groups[1]": 0.5, "tests/test_tiers.py::test_groups[2]": 1},
        "tests/test_tiers.py::test_short": {"tests/test_tiers.py::test_short": 0.1},
    }  # fmt: skip
    assert renewed(record, seconds) == (
        "5       tests/test_golden.py::test_golden[samples/\n0.75    tests/test_tiers.py::test_groups\n"
    )


def test_a_quicker_tier_runs_a_part_of_a_slower_one() -> None:
    times = recorded_times()
    names = [f"{group}[{n}]" for group in times if "::" in group for n in range(50)]
    assert chosen(names, TIERS["quick"], times) < chosen(names, TIERS["test"], times) < set(names)
