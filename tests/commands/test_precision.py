"""`--precision` on the command line: the line about the error, what is refused, and the cache."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent.parent
NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 12, 12), float32], %w: Tensor[(16, 8, 3, 3), float32], %d: Tensor[(10, 16), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]));
  nn.softmax(nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%0)), %d, units=10))
}
"""
LINE = r"{}: error against float32: [\d.e-]+ of the largest output, signal-to-noise ratio \d+\.\d dB"


@pytest.fixture
def irtool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "net.relay").write_text(NETWORK)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "irtool", *arguments]
        return subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)

    return run


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_run_says_the_error_on_the_inputs(irtool, tmp_path: Path, dtype: str) -> None:
    np.save(tmp_path / "x.npy", np.ones((1, 8, 12, 12), "float32"))
    made = irtool("run", "net.relay", "--precision", dtype, "--compare=interp,c", "--input", "x=x.npy")
    assert made.returncode == 0, made.stderr
    assert "out0: float32[1, 10]" in made.stdout and re.search(LINE.format(dtype), made.stdout)
    assert "interp and c agree" in made.stdout and "allowed 0.05" in made.stdout
    assert "error against" not in irtool("run", "net.relay", "--precision", dtype, "-q").stdout
    assert "error against" not in irtool("run", "net.relay").stdout


def test_build_measures_on_random_inputs_and_the_cache_remembers(irtool, tmp_path: Path) -> None:
    quiet = irtool("build", "net.relay", "--precision=bfloat16", "-q", "-o", "a/")
    assert quiet.returncode == 0 and not quiet.stdout
    said = [irtool("build", "net.relay", "--precision=bfloat16", "-o", "b/").stdout for _ in range(2)]
    found = [re.search(LINE.format("bfloat16") + r" \(random inputs\)", text) for text in said]
    assert all(found) and "from the cache" in said[1]
    assert found[0][0] == found[1][0]
    assert "error against" not in irtool("build", "net.relay", "-o", "c/").stdout


def test_the_testbench_agrees_as_far_as_16_bits_go(irtool, tmp_path: Path) -> None:
    made = irtool("build", "net.relay", "--precision=bfloat16", "--emit=exe", "--testbench", "-o", "t/")
    assert made.returncode == 0, made.stderr
    ran = subprocess.run([tmp_path / "t" / "net"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "passed" in ran.stdout


def test_what_is_refused(irtool, tmp_path: Path) -> None:
    wrong = irtool("build", "net.relay", "--precision=bf16")
    assert wrong.returncode == 2 and "bfloat16" in wrong.stderr
    heavy = np.full((16, 8, 3, 3), 1e5, "float32")
    np.savez(tmp_path / "w.npz", w=heavy)
    for command in ("build", "run"):
        refused = irtool(command, "net.relay", "--precision=float16", "--params=w.npz")
        assert refused.returncode == 1 and "100000 is beyond float16, which ends at 65504" in refused.stderr
        assert "bfloat16 has the range of float32" in refused.stderr
    assert not list(tmp_path.glob("*.out"))


def test_kernels_are_tuned_in_the_precision_that_they_are_built_in(irtool) -> None:
    made = irtool("tune", "net.relay", "--precision=bfloat16", "-o", "t.json", "--trials=1", "--each=0.001")
    assert made.returncode == 0, made.stderr
    assert irtool("build", "net.relay", "--precision=bfloat16", "--tuned=t.json", "-o", "b/").returncode == 0
