"""`build --only-kernel`: texts of some kernels alone, of a build of all."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 16), float32], %w: Tensor[(16, 16), float32]) {
  nn.softmax(nn.dense(%x, %w, units=16))
}
"""


def test_texts_have_these_kernels_alone(tmp_path: Path) -> None:
    net = tmp_path / "net.relay"
    net.write_text(TEXT)
    line = ("build", net, "--mcpu=none", "--emit=c", "-o", tmp_path / "out", "--only-kernel=softmax")
    code, out, err = irtool(*line, "--explain", "--print-after=ScheduleKernels")
    assert code == 0, err
    assert "softmax" in out and "dense" not in out
    assert "primfn" in err and "softmax = primfn" in err and "dense = primfn" not in err and "host(" not in err
    text = (tmp_path / "out" / "net.c").read_text()
    assert "fused_nn_dense" in text and "fused_nn_softmax" in text
    code, out, _ = irtool("build", net, "--mcpu=none", "--emit=tir", "--only-kernel=dense")
    assert code == 0 and "dense = primfn" in out and "softmax = primfn" not in out


def test_no_match_is_said(tmp_path: Path) -> None:
    net = tmp_path / "net.relay"
    net.write_text(TEXT)
    line = ("build", net, "--emit=c", "-o", tmp_path / "out")
    assert "# no kernel's name has a match of 'conv'" in irtool(*line, "--explain", "--only-kernel=conv")[1]
    code, _, err = irtool("build", net, "--emit=tir", "--only-kernel=conv")
    assert code == 2 and "no kernel's name has a match of 'conv'" in err
    code, _, err = irtool(*line, "--only-kernel=(")
    assert code == 2
