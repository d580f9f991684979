"""The hottest loops of products and convolutions, in the compiler's assembly: nothing is spilled, and few loads a multiply-add."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from tests.backends.assembly import count, loops

pytestmark = pytest.mark.promise("inner loops")

DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 256), float32], %w: Tensor[(192, 256), float32]) { nn.dense(%x, %w, units=192) }
"""
FEW_ROWS = DENSE.replace("(64, 256)", "(4, 256)")
CONV = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 28, 28), float32], %w: Tensor[(64, 64, 1, 1), float32]) {
  nn.relu(nn.conv2d(%x, %w, channels=64, kernel_size=[1, 1]))
}
"""
WINDOW = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 32, 28, 28), float32], %w: Tensor[(32, 32, 3, 3), float32]) {
  nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3])
}
"""
PROCESSORS = {
    "avx2": ("gcc", "x86-64-v3", "", r"\bvfn?madd\w+\b.*%ymm", r"\(.*\)", r"%ymm\d+, -?\d*\(%r[sb]p\)"),
    "avx512": ("gcc", "x86-64-v4", "", r"\bvfn?madd\w+\b.*%zmm", r"\(.*\)", r"%zmm\d+, -?\d*\(%r[sb]p\)"),
    "zen": ("gcc", "x86-64-v4", "-mtune=znver3", r"\bvfn?madd\w+\b.*%zmm", r"\(.*\)", r"%zmm\d+, -?\d*\(%r[sb]p\)"),
    "neon": ("aarch64-linux-gnu-gcc", "armv8-a", "", r"\bfmla\s+v", r"\bld\w*\s+(q|s\d|\{?v)", r"\bst[rp]\s+q.*\[sp"),
    "sve": (
        "aarch64-linux-gnu-gcc",
        "armv8.2-a+sve",
        "-msve-vector-bits=256",
        r"\b(fmla|fmad)\s+z",
        r"\bld\w*\s+(s\d|\{?z)",
        r"\bst\w*\s+\{?z.*\[sp",
    ),
}
"""By name: compiler, processor, further flags; patterns of a multiply-add, of a load of a vector, of a spill."""


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("text", [DENSE, FEW_ROWS, CONV, WINDOW], ids=["dense", "few_rows", "conv", "window"])
def test_the_hottest_loop_spills_nothing_and_loads_little(tmp_path: Path, processor: str, text: str) -> None:
    cc, mcpu, flags, multiply_add, load, spill = PROCESSORS[processor]
    if not shutil.which(cc):
        pytest.skip(f"{cc} is not installed")
    if (
        cc == "gcc"
        and "x86_64" not in subprocess.run([cc, "-dumpmachine"], capture_output=True, text=True, check=True).stdout
    ):
        pytest.skip("gcc makes code for another architecture")
    shape = {DENSE: (192, 256), FEW_ROWS: (192, 256), CONV: (64, 64, 1, 1), WINDOW: (32, 32, 3, 3)}[text]
    weights = {"w": np.random.default_rng(0).random(shape, "float32")}
    artifact = irtool.build(
        irtool.parse(text),
        weights,
        name="net",
        emit="c",
        cc=cc,
        mcpu=mcpu,
        cflags=flags,
        out_dir=tmp_path,
        weights="file",
    )
    line = artifact.report["compile"].split(" -c ")[0]
    done = subprocess.run(
        [*line.split(), "-S", "-o", "net.s", "net.c"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "compiled without" not in done.stderr
    hottest: list[str] = max(
        loops((tmp_path / "net.s").read_text()), key=lambda lines: count(multiply_add, lines), default=[]
    )
    sums = count(multiply_add, hottest)
    reads = [
        x for x in hottest if re.search(load, x) and not re.search(r"\b(lea|prefetch|mov[lq]\s)|, -?\d*\(.*\)$", x)
    ]
    read = len(reads) + sum("ldp" in x for x in reads)
    assert sums >= 4, "no loop of multiply-adds"
    assert not [x for x in hottest if re.search(spill, x)], hottest
    assert read <= sums, f"{read} loads for {sums} multiply-adds"
