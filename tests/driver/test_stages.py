"""The stages between Relay and C: in order, seen by instruments, printed like passes, and what the C is made from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import irtool
from irtool.driver.stages import STAGES
from irtool.passes.core.context import PassContext, PassInstrument
from tests.command_line import irtool as irtool_command

ROOT = Path(__file__).parent.parent.parent
TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 6), float32], %w: Tensor[(8, 6), float32]) { nn.relu(nn.dense(%x, %w, units=8)) }
"""


@dataclass
class Seen(PassInstrument):
    """Notes the stages that it sees."""

    events: list[str] = field(default_factory=list)

    def run_before_stage(self, program: Any, stage: str) -> None:
        self.events.append(f"before {stage}")

    def run_after_stage(self, program: Any, stage: str) -> None:
        self.events.append(f"after {stage}")


def test_instruments_see_every_stage_in_order() -> None:
    seen = Seen()
    with PassContext(opt_level=3, instruments=[seen]):
        irtool.build(irtool.parse(TEXT), emit="tir")
    names = [s.name for s in STAGES]
    assert seen.events[0] == "after Lower"
    assert [s.removeprefix("after ") for s in seen.events if s.startswith("after")] == names
    assert [s.removeprefix("before ") for s in seen.events if s.startswith("before")] == names[1:]


def test_scalar_code_skips_what_only_helps_vectors() -> None:
    seen = Seen()
    irtool.build(irtool.parse(TEXT), emit="tir", vector=False, instruments=[seen])
    assert "after ChooseLayouts" not in seen.events and "after ScheduleKernels" in seen.events


def test_every_stage_has_a_reason_and_a_row_in_the_manual() -> None:
    manual = (ROOT / "docs" / "building.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([A-Z][a-z]\w+)` \|", manual, re.MULTILINE) == [s.name for s in STAGES]
    assert all(s.reason for s in STAGES)


def test_a_program_is_printed_or_written(tmp_path: Path) -> None:
    source = tmp_path / "net.relay"
    source.write_text(TEXT)
    code, printed, _ = irtool_command("build", "--emit=tir", "--no-cache", source)
    assert code == 0 and list(tmp_path.iterdir()) == [source]
    assert irtool_command("build", "--emit=tir", "--no-cache", "-o", tmp_path / "out", source)[0] == 0
    assert (tmp_path / "out" / "net.tir").read_text() == printed


def test_stages_are_printed_as_passes_are(tmp_path: Path) -> None:
    source = tmp_path / "net.relay"
    source.write_text(TEXT)
    _, printed, err = irtool_command("build", "--emit=tir", "--print-after=FuseOps,PlanMemory", source)
    assert re.findall(r"^// after (\w+)", err, re.MULTILINE) == ["FuseOps", "PlanMemory"]
    assert err.split("// after PlanMemory\n")[1].rstrip("\n") == printed.rstrip("\n")
    _, _, err = irtool_command("build", "--emit=tir", "--print-changed=diff", source)
    assert "+++ after ScheduleKernels" in err
    code, _, err = irtool_command("build", "--emit=tir", "--print-after=FuseKernel", source)
    assert code == 2 and "unknown pass or stage FuseKernel" in err and "FuseKernels" in err


def test_a_program_whose_shapes_are_open_is_refused() -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(?), float32]) { exp(%x) }\n'
    with pytest.raises(irtool.IrError):
        irtool.build(irtool.parse(text), emit="tir")
