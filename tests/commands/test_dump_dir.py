"""`build --dump-dir`: all steps of a build as numbered files."""

from __future__ import annotations

from pathlib import Path

import irtool
from tests.command_line import irtool as command

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) { nn.relu(nn.dense(%x, %w, units=4)) }
"""


def test_every_step_is_a_file(tmp_path: Path) -> None:
    net, steps = tmp_path / "net.relay", tmp_path / "a" / "steps"
    net.write_text(TEXT)
    line = ("build", "-q", "--emit=c", net, "-o", tmp_path / "out", "--dump-dir", steps)
    assert command(*line)[0] == 0
    names = sorted(p.name for p in steps.iterdir())
    assert [int(n[:3]) for n in names] == list(range(len(names)))
    assert names[0] == "000-input.relay" and any(n.endswith("-FuseOps.relay") for n in names)
    assert {"relay", "tir", "h", "c"} == {n.rpartition(".")[2] for n in names}
    assert irtool.parse((steps / names[0]).read_text())["main"]
    assert (steps / names[-1]).read_text() == (tmp_path / "out" / "net.c").read_text()
    before = {p: p.read_bytes() for p in steps.iterdir()}
    code, _, err = command(*line)  # a second build would add files of other numbers
    assert code == 2 and f"--dump-dir={steps} is not empty" in err
    assert {p: p.read_bytes() for p in steps.iterdir()} == before
    code, _, err = command(*line[:-1], net)
    assert code == 2 and "is no folder" in err


def test_a_build_that_fails_writes_nothing(tmp_path: Path) -> None:
    net = tmp_path / "net.relay"
    net.write_text(TEXT)
    assert command("build", net, "--cc=no-such-compiler", "-o", tmp_path / "out", "--dump-dir", tmp_path / "s")[0] == 4
    assert not (tmp_path / "s").exists()
