"""The tool that changes irtool, and what its last run showed."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import pytest

from tests.mutants.mapping import Lines, in_order
from tests.mutants.report import EQUIVALENT, REPORT, section
from tests.mutants.sites import mutants, sample
from tests.mutants.trial import try_mutant

CODE = '''"""Adds 1 + 1 if x > 2."""
from __future__ import annotations

Shape = tuple[int | None, ...]


def longest(values: list[int], least: int | None = 3) -> int:
    """Not 1 + 1."""
    if not values or len(values) < 2:
        raise ValueError(f"{len(values) + 1} values" + "!")
    n = max(values) - 1  # 1 + 1
    while n is not None and True:
        n += 2
        break
    return n


class Box:
    def __repr__(self) -> str:
        return "box" * 2
'''


def place(code: str, root: Path) -> Path:
    path = root / "irtool" / "box.py"
    path.parent.mkdir()
    path.write_text(code, encoding="utf-8")
    return path


def test_one_token_of_what_is_computed_is_changed(tmp_path: Path) -> None:
    found = mutants(place(CODE, tmp_path), tmp_path)
    assert [f"{m.line}: {m.change}" for m in found] == [
        "7: 3 → (3 + 1)",
        "7: 3 → (3 - 1)",
        "9: not values or len(values) < 2 → (not (not values or len(values) < 2))",
        "9: not values → (values)",
        "9: or → and",
        "9: < → <=",
        "9: 2 → (2 + 1)",
        "9: 2 → (2 - 1)",
        "11: max → min",
        "11: - → +",
        "11: 1 → (1 + 1)",
        "11: 1 → (1 - 1)",
        "12: n is not None and True → (not (n is not None and True))",
        "12: is not → is",
        "12: and → or",
        "12: True → False",
        "13: += → -=",
        "13: 2 → (2 + 1)",
        "13: 2 → (2 - 1)",
        "14: break → continue",
        "15: n → None",
    ]


def test_every_mutant_is_a_program_that_differs(tmp_path: Path) -> None:
    path = place(CODE, tmp_path)
    whole = ast.dump(ast.parse(CODE))
    for m in mutants(path, tmp_path):
        assert ast.dump(ast.parse(m.apply(CODE))) != whole


def test_other_lines_do_not_change_which_mutants_are_drawn(tmp_path: Path) -> None:
    path = place(CODE, tmp_path)
    before = sample(tmp_path, 1, 100)
    assert before != sample(tmp_path, 2, 100)
    path.write_text("# more\n" + CODE, encoding="utf-8")
    assert [(m.change, m.line - 1) for m in sample(tmp_path, 1, 100)] == [(m.change, m.line) for m in before]


class Known(Lines):
    """Every line is run by every test."""

    def tests_of(self, path: str, line: int) -> dict[str, float]:
        return {"tests/test_box.py::test_longest": 0.01}


@pytest.mark.parametrize(
    ("change", "outcome"), [("max → min", "killed"), ("3 → (3 + 1)", "survived"), ("break → continue", "timed out")]
)
def test_a_mutant_lives_while_no_test_fails(change: str, outcome: str, tmp_path: Path) -> None:
    path = place(CODE, tmp_path)
    (tmp_path / "tests" / "mutants").mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "limits.py", tmp_path / "tests" / "mutants")
    (tmp_path / "tests" / "test_box.py").write_text(
        "from irtool.box import longest\n\n\ndef test_longest():\n    assert longest([3, 5]) == 6\n"
    )
    (mutant,) = (m for m in mutants(path, tmp_path) if m.change == change)
    result = try_mutant(mutant, Known(tmp_path), tmp_path, most=10, each=0.5)
    assert (result.outcome, result.tests) == (outcome, 1)
    assert path.read_text() == CODE


def test_quick_tests_of_the_room_come_first() -> None:
    tests = {"tests/ops/test_a.py::slow": 5.0, "tests/ops/test_a.py::quick": 0.1, "tests/tir/test_b.py::quick": 0.1}
    lots = in_order(tests, "irtool/ops/a.py", most=60)
    assert [t for lot in lots for t in lot] == [
        "tests/ops/test_a.py::quick",
        "tests/tir/test_b.py::quick",
        "tests/ops/test_a.py::slow",
    ]


def test_what_makes_no_difference_is_still_there() -> None:
    root = Path(__file__).parent.parent.parent
    for entry in json.loads(EQUIVALENT.read_text(encoding="utf-8")):
        found = {(m.text, m.change) for m in mutants(root / entry["file"], root)}
        assert (entry["line"], entry["change"]) in found, f"{entry['file']} has changed: {entry['line']}"
        assert entry["why"]


@pytest.mark.promise("mutants")
def test_most_changes_are_noticed() -> None:
    for seed, records in json.loads(REPORT.read_text(encoding="utf-8")).items():
        noticed = sum(r["outcome"] in ("killed", "timed out") for r in records)
        assert noticed >= 0.75 * len(records), f"seed {seed}: {noticed} of {len(records)}"
    assert "| room |" in section()
