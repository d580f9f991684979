"""The numbers that schedules are tuned by stand in one file, `cost/machine.py`, each with what it is and where it is from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import irtool

SCHEDULE = Path(irtool.__file__).parent / "schedule"
MACHINE = SCHEDULE / "cost" / "machine.py"
MOST = 50

FACTS = {
    "constants/high_products.py": {"_HALF"},  # of a product
    "core/block_sums.py": {"LONGEST"},  # how exact sums are
    "core/data_affinity.py": {"ALONE"},  # stands for no thread
    "graph/canonical_views.py": {"IMAGE_AXES"},  # of a tensor in NCHW
    "graph/step_lists.py": {"_OUTSIDE"},  # stands for no step
    "graph/split_groups.py": {"_CHANNELS"},  # of a tensor in NCHW
    "instructions/matrix_tiles.py": {"WORDS"},  # of a register
    "instructions/narrow_weights.py": {"MOST"},  # of 16 bits
    "instructions/signedness_shift.py": {"BY", "_ONES"},  # from one byte to the other, and the bytes that add up a word
    "strategies/by_hand.py": {"_SHOWN"},  # of a message
    "strategies/strassen/algorithm.py": {"MUCH_LARGER"},  # how exact products are
    "strategies/strassen/nest.py": {"_LARGEST"},  # how exact products are
    "strategies/winograd/cook_toom.py": {"POINTS"},  # of the algorithm
    "strategies/winograd/find.py": {"_MOST_TAPS", "_TAPS_OF_PART"},  # how exact products are
    "strategies/winograd/plans.py": {"SIZES"},  # of the algorithm
    "windows/divisors.py": {"LONGEST"},  # longer than any memory
}
"""Numbers that no processor would have otherwise: of a format, an algorithm or a message. The table may only shrink."""


def numbers_of(file: Path) -> Iterator[tuple[str, str]]:
    """Names of a module that stand for numbers which are written there, and the docstring behind each."""
    body = ast.parse(file.read_text("utf-8")).body
    for n, s in enumerate(body):
        if isinstance(s, ast.Assign | ast.AnnAssign) and s.value is not None and is_number(s.value):
            targets = s.targets if isinstance(s, ast.Assign) else [s.target]
            after = body[n + 1] if n + 1 < len(body) else None
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            yield from ((x.id, str(text)) for t in targets for x in ast.walk(t) if isinstance(x, ast.Name))


def is_number(e: ast.expr) -> bool:
    """True for a number, what is computed of numbers alone, and several of these."""
    if isinstance(e, ast.Constant):
        return isinstance(e.value, int | float) and not isinstance(e.value, bool)
    if isinstance(e, ast.Tuple | ast.List):
        return bool(e.elts) and all(map(is_number, e.elts))
    if isinstance(e, ast.BinOp):
        return is_number(e.left) and is_number(e.right)
    return isinstance(e, ast.UnaryOp) and is_number(e.operand)


def test_no_other_file_has_numbers_of_its_own() -> None:
    numbers = {
        f.relative_to(SCHEDULE).as_posix(): {name for name, _ in numbers_of(f)}
        for f in sorted(SCHEDULE.rglob("*.py"))
        if f != MACHINE
    }
    assert {f: names for f, names in numbers.items() if names} == FACTS


def test_the_model_has_few_constants() -> None:
    assert 0 < len(list(numbers_of(MACHINE))) <= MOST


def test_each_constant_has_its_origin() -> None:
    """A date or a processor of a measurement; `inherited`, `assumed` or a fact of the processor where there is none."""
    origins = ("2026-", "nherited", "ssumed", "L1 cache", "all processors", "unit of")
    assert [name for name, text in numbers_of(MACHINE) if not any(o in text for o in origins)] == []


def test_numbers_are_seen_in_every_form() -> None:
    forms = {"x = 3": True, "x: int = -1": True, "a, b = 4, 8": True, "x = 1 << 16": True, "x = (1, 2)": True}
    forms |= {"x = A // 2": False, "x = True": False, "x = f(3)": False, "x = ()": False, 'x = "3"': False}
    for text, expected in forms.items():
        (s,) = ast.parse(text).body
        assert isinstance(s, ast.Assign | ast.AnnAssign) and s.value is not None
        assert is_number(s.value) == expected, text
