"""`docs/robustness.md`: how many inputs of which kinds were tried, how work grows, and how many faults tests notice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mutants import report as mutants
from tests.pages import ROOT, Page, values
from tests.steep import STEEPER

CLASSES = {
    "modules": "random modules through random pipelines of one to six passes: types inferred afresh, values before and after",
    "programs": "random higher-order programs through random pipelines: polymorphic and recursive functions, data, closures, references",
    "texts": "mutated texts: parse, print, read back, infer, passes, C",
    "compiled modules": "random modules of all constructs compiled to C, half of them under sanitizers, on random and hostile inputs: C gives what the interpreter gives",
    "compiled programs": "the same higher-order programs compiled to C, half of them under sanitizers: C gives what the interpreter gives",
    "compiled polymorphic": "higher-order programs with polymorphic functions in tuples, data and references, compiled to C, half of them under sanitizers: C gives what the interpreter gives",
    "compiled data": "random programs that take and give values of data types, on random values: C gives what the interpreter gives",
    "compiled together": "random programs with data, closures, references, recursion, tensors of a length of the run and states at once, a third of them under address sanitizers: steps in C give what the interpreter gives",
    "compiled calls": "random calls of every operator compiled to C, on hostile numbers: C gives what the interpreter gives",
    "compiled kernels": "random operators that are worth a schedule, compiled to C for processors of all sizes, levels and numbers of threads: C gives what the interpreter gives",
    "compiled models": "ONNX models, half of them mutated, imported and compiled to C for such processors: C gives what the interpreter gives",
    "compiled states": "random networks with states, whose next values are any values of their type: steps give the bits of the network that takes and gives the states",
    "compiled extents": "random networks whose extents values decide, with branches and turns that grow tensors, compiled to C, a third of them under sanitizers: C gives what the interpreter gives, or the error of an extent",
    "growing states": "random networks whose states have more rows after each step, written in place or copied, until they are full: the same bits",
    "calls": "calls of every operator with dtypes, ranks and attributes at their corners: `check`, interpreter and C accept or refuse alike",
    "indices": "hostile indices and boxes from data, under address and undefined-behaviour sanitizers",
    "numbers": "NaN, infinities, extreme integers: interpreter against C",
    "sanitized": "programs of a corpus, compiled and run under sanitizers",
    "scale": "large and deeply nested texts",
    "faults": "faults from outside: closed streams, full disks, damaged caches and weights, broken compilers, signals",
    "inputs": "inputs and weights of every dtype, byte order and shape, given to the interpreter and to C",
    "mistakes": "mistakes at the command line",
}
HEAD = """# Robustness

How irtool is attacked by its own tests, generated from the results of a run of all of them (`make pages`). `make fuzz`
runs the random classes for as long as one likes, with other seeds.

## Inputs

A row is ✔ if nothing failed.

| class | inputs | shown by | |
| --- | --- | --- | --- |
"""
GROWTH = """
## Growth

For each shape of module in `benchmarks/shapes.py`, how many stages are measured: every pass that takes it, parsing, inference,
printing, comparison, building. While the module doubles, calls are counted; a test fails where they grow faster than
size^1.15. What grows faster stands in `tests/steep.py` with its reason; so do results that TVM makes larger than the input, whose
work is measured by their size. `python -m benchmarks growth` measures time and memory at full size, as far as its `--budget`
of seconds goes, and says what it left out.

| module | stages | faster, with a reason |
| --- | --- | --- |
"""


class Robustness(Page):
    """One row for each class of inputs, each shape of module that grows, and each room of mutants."""

    path = ROOT / "docs" / "robustness.md"

    def __init__(self) -> None:
        super().__init__()
        self.exponents: dict[str, dict[str, float]] = {}

    def rows_of(self, item: pytest.Item) -> Iterator[tuple[str, str]]:
        for marker in item.iter_markers("robustness"):
            (key,) = marker.args
            assert key in CLASSES, f"{item.nodeid} belongs to a class that tests/robustness.py does not have: {key!r}"
            yield "Inputs", key

    def take(self, report: pytest.TestReport) -> None:
        super().take(report)
        for shape, stage, exponent in values(report, "exponent"):
            self.exponents.setdefault(shape, {})[stage] = exponent

    def text(self) -> str:
        parts = [HEAD]
        for key, title in CLASSES.items():
            row = self.rows["Inputs", key]
            parts.append(f"| {title} | {row.inputs:,} | {row.tests} | {row.mark} |\n")
        parts.append(GROWTH)
        for shape, row in sorted(self.exponents.items()):
            excused = ", ".join(f"`{stage}`" for of, stage in sorted(STEEPER) if of == shape)
            parts.append(f"| `{shape}` | {len(row)} | {excused} |\n")
        return "".join([*parts, mutants.section()])
