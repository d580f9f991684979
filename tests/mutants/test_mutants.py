"""The tool that changes irtool, and what its last run showed."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.blocks import block_at, blocks, probed
from tests.mutants.checkout import ROOT
from tests.mutants.mapping import Lines, in_order
from tests.mutants.report import EQUIVALENT, REPORT, drawn, section, write_report
from tests.mutants.sites import mutants, sample
from tests.mutants.trial import Server, try_mutant

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
    (path.parent / "__init__.py").touch()  # or the package that is installed takes its place
    path.write_text(code, encoding="utf-8")
    return path


def test_one_token_of_what_is_computed_is_changed(tmp_path: Path) -> None:
    changes = mutants(place(CODE, tmp_path), tmp_path)
    assert [f"{m.line}: {m.change}" for m in changes] == [
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


PIECES = """\
def sign(x, least=0):
    \"\"\"-1, 0 or 1.\"\"\"
    if x < least:
        y = -1
    elif x > 0:
        y = 1
    else:
        y = 0
    try:
        return (lambda z: z + 0)(y)
    finally:
        x = 2
"""


@pytest.mark.parametrize(("x", "ran"), [(-3, {3, 4, 9, 10, 12}), (3, {3, 5, 6, 9, 10, 12}), (0, {3, 5, 8, 9, 10, 12})])
def test_pieces_that_run_are_noted(x: int, ran: set[int]) -> None:
    pieces = blocks(ast.parse(PIECES))
    space: dict[str, Any] = {"__hits__": bytearray(len(pieces))}
    exec(probed(PIECES, "sign.py"), space)
    assert not any(space["__hits__"])
    assert space["sign"](x) == (x > 0) - (x < 0)
    assert {b.begin[0] for b, hit in zip(pieces, space["__hits__"], strict=True) if hit} == ran
    assert space["sign"].__doc__ == "-1, 0 or 1."


def test_a_place_is_in_the_innermost_piece() -> None:
    pieces = blocks(ast.parse(PIECES))
    places = {(4, 12): (4, 8), (5, 11): (5, 4), (10, 16): (10, 8), (10, 26): (10, 26), (3, 8): (3, 4)}
    assert {p: b.begin for p in places if (b := block_at(pieces, p)) is not None} == places
    assert block_at(pieces, (1, 17)) is None


def test_every_file_of_irtool_takes_probes() -> None:
    for path in sorted((ROOT / "irtool" / "tir").rglob("*.py")):
        probed(path.read_text(encoding="utf-8"), str(path))


def test_tests_are_traced_and_found_again_where_lines_have_moved(tmp_path: Path) -> None:
    root, copy = tmp_path / "root", tmp_path / "copy"
    for folder in (root, copy):
        folder.mkdir()
        place(CODE, folder)
        (folder / "tests" / "mutants").mkdir(parents=True)
        for name in ("tracing", "probes", "blocks", "checkout", "limits"):
            shutil.copy(Path(__file__).parent / f"{name}.py", folder / "tests" / "mutants")
        (folder / "tests" / "test_box.py").write_text(
            "import subprocess, sys\nfrom irtool.box import longest\n\n\n"
            "def test_longest():\n    assert longest([3, 5]) == 6\n\n\n"
            "def test_elsewhere():\n    subprocess.run([sys.executable, '-c', 'import irtool.box as b; b.longest([3, 5])'])\n"
            "\n\ndef test_nothing():\n    pass\n"
        )
        (folder / "tests" / "test_table.py").write_text(
            "from importlib import import_module\n\n\ndef test_table():\n    assert import_module('irtool.box').Shape\n"
        )
    lines = Lines(tmp_path / "store", root)
    assert lines.stale() == ["tests/test_box.py", "tests/test_table.py"]
    lines.trace(lines.stale(), copy)
    assert lines.stale() == []
    (root / "irtool" / "box.py").write_text("# more\n" + CODE, encoding="utf-8")
    both = {"tests/test_box.py::test_longest", "tests/test_box.py::test_elsewhere"}
    assert set(lines.tests_of("irtool/box.py", 14, 8)) == both
    assert set(lines.tests_of("irtool/box.py", 8, 60)) == both
    assert lines.tests_of("irtool/box.py", 11, 8).keys() == both
    assert "tests/test_table.py::test_table" in lines.tests_of("irtool/box.py", 5), "it looks at what is defined there"


def test_tests_of_one_room(tmp_path: Path) -> None:
    for room in ("tir", "te", "tir_more"):
        (tmp_path / "tests" / room).mkdir(parents=True)
        (tmp_path / "tests" / room / "test_it.py").touch()
    near = Lines(tmp_path / "store", tmp_path, near="irtool/tir/transforms")
    assert near.files() == ["tests/tir/test_it.py"] == near.stale()
    assert len(Lines(tmp_path / "store", tmp_path).files()) == 3


class Known(Lines):
    """Every line is run by every test."""

    def tests_of(self, path: str, line: int, column: int = 0) -> dict[str, float]:
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


def test_a_test_that_always_fails_kills_nothing(tmp_path: Path) -> None:
    path = place(CODE, tmp_path)
    (tmp_path / "tests" / "mutants").mkdir(parents=True)
    for name in ("limits", "serving"):
        shutil.copy(Path(__file__).parent / f"{name}.py", tmp_path / "tests" / "mutants")
    (tmp_path / "tests" / "test_box.py").write_text(
        "from irtool.box import longest\n\n\ndef test_longest():\n    assert longest([3, 5]) == 6\n\n\n"
        "def test_wrong():\n    assert longest([3, 5]) == 7\n"
    )
    (tmp_path / ".own").mkdir()
    server = Server(tmp_path, ["tests/test_box.py"])
    changes = {m.change: m for m in mutants(path, tmp_path)}
    tests = ["tests/test_box.py::test_wrong", "tests/test_box.py::test_longest"]
    try:
        verdicts = [server.attempt(changes[c], CODE, tests, 5, 60) for c in ("max → min", "or → and")]
    finally:
        server.close()
    assert [(f["outcome"], f["by"]) for f in verdicts] == [("killed", tests[1]), ("survived", "")]


def test_tests_that_cannot_be_collected_are_an_error(tmp_path: Path) -> None:
    """A process that ends before it answers keeps nobody waiting."""
    (tmp_path / ".own").mkdir()
    with pytest.raises(ChildProcessError, match="cannot be collected"):
        Server(tmp_path, ["tests/test_missing.py"])


def test_quick_tests_of_the_room_come_first() -> None:
    tests = {"tests/ops/test_a.py::slow": 5.0, "tests/ops/test_a.py::quick": 0.1, "tests/tir/test_b.py::quick": 0.1}
    lots = in_order(tests, "irtool/ops/a.py", most=60)
    assert [t for lot in lots for t in lot] == [
        "tests/ops/test_a.py::quick",
        "tests/tir/test_b.py::quick",
        "tests/ops/test_a.py::slow",
    ]


def test_rows_of_rooms_stand_behind_their_seed(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    for seed, only in ((10, "irtool"), (2, "irtool/tir"), (2, "irtool"), (2, "irtool/tir")):
        write_report(path, drawn(seed, only), [])
    assert list(json.loads(path.read_text())) == ["2", "2, irtool/tir", "10"]


def test_what_makes_no_difference_is_still_there() -> None:
    root = Path(__file__).parent.parent.parent
    for entry in json.loads(EQUIVALENT.read_text(encoding="utf-8")):
        changes = {(m.text, m.change) for m in mutants(root / entry["file"], root)}
        assert (entry["line"], entry["change"]) in changes, f"{entry['file']} has changed: {entry['line']}"
        assert entry["why"]


@pytest.mark.promise("mutants")
def test_most_changes_are_noticed() -> None:
    for seed, records in json.loads(REPORT.read_text(encoding="utf-8")).items():
        noticed = sum(r["outcome"] in ("killed", "timed out") for r in records)
        assert noticed >= 0.85 * len(records), f"seed {seed}: {noticed} of {len(records)}"
    assert "| room |" in section()
