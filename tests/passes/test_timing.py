"""`--time-passes`: who is billed for what, and what is shown."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

import irtool as library
from irtool.passes.core.context import PassInfo, PassInstrument
from irtool.passes.instruments.timing import Row, Timing
from tests.command_line import irtool

pytestmark = pytest.mark.promise("mistakes of newcomers")
ROOT = Path(__file__).parent.parent.parent
NET = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { exp(%x) }\n'


class Slow(PassInstrument):
    def run_before_pass(self, module: library.Module, info: PassInfo) -> None:
        time.sleep(0.05)

    def run_after_pass(self, module: library.Module, info: PassInfo) -> None:
        time.sleep(0.05)


def test_other_instruments_are_no_passes_time() -> None:
    timing = Timing()
    library.run_passes(library.parse(NET), "FuseOps", instruments=[timing.watch(Slow(), "slow"), timing])
    assert timing.stages["slow"] >= 0.2
    assert sum(r.seconds + r.infer_seconds for r in timing.rows) < 0.1
    assert "(slow)" in timing.table()


def test_rows_below_one_percent_are_one_row() -> None:
    timing = Timing()
    timing.rows = [
        Row("Big", 0, 1.0, changed=True),
        *(Row(f"P{n}", 0, 0.001) for n in range(5)),
        Row("C", 0, 0.001, changed=True),
    ]
    timing.stages = {"parse": 0.5, "verify": 0.25}
    lines = [" ".join(line.split()) for line in timing.table().splitlines()]
    assert lines == [
        "pass ms infer ms operators",
        "(parse) 500.00",
        "Big 1000.00 0.00 0 → 0",
        "C 1.00 0.00 0 → 0",
        "(5 others, each below 1 %) 5.00 0.00",
        "(verify) 250.00",
        "total 1756.00 0.00",
    ]


def test_opt_has_rows_for_parsing_verifying_printing(tmp_path: Path) -> None:
    path = tmp_path / "n.relay"
    path.write_text(NET)
    code, _, err = irtool("opt", "-O3", "--time-passes", path)
    assert code == 0
    assert [w for w in ("(parse)", "(verify)", "(print)", "total") if w not in err] == []
    assert re.search(r"\(\d+ others, each below 1 %\)", err) and len(err.splitlines()) < 25


def test_what_the_first_run_ends_in() -> None:
    code, out, _ = irtool("run", "--compare", "interp,c", ROOT / "samples" / "simplenet.relay")
    assert code == 0 and len(out.splitlines()) == 3
    assert re.fullmatch(r"\d+ kernels?, [\d.e+-]+ ms, agrees (exactly|to [\d.e+-]+)", out.splitlines()[-1])
    (line,) = [s for s in (ROOT / "Makefile").read_text().splitlines() if "/irtool run" in s]
    assert "--verbose" not in line and "samples/simplenet.relay" in line
