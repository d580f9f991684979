"""The page of robustness has a row for every class of inputs, every shape of module and every seed of mutants."""

from __future__ import annotations

from benchmarks.shapes import SHAPES
from tests.mutants.report import section
from tests.robustness import CLASSES, Robustness
from tests.steep import STEEPER


def test_the_page_has_a_row_for_everything() -> None:
    text = Robustness.path.read_text(encoding="utf-8")
    rows = {line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")}
    expected = {*CLASSES.values(), *(f"`{s.__name__}`" for s in SHAPES)}
    assert rows >= expected, f"make pages: {sorted(expected - rows)}"
    assert text.endswith(section()) and "✘" not in text.split("\n## ", 1)[1]


def test_what_grows_faster_is_a_shape_that_there_is() -> None:
    assert {shape for shape, _ in STEEPER} <= {s.__name__ for s in SHAPES}
    assert all(STEEPER.values())
