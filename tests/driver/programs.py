"""Small networks that the tests build, and running what was built as a user would."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

import irtool

STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1"]
SANITIZED = [*STRICT, "-fsanitize=address,undefined"]

DENSE = """
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16), float32], %w: Tensor[(32, 16), float32], %b: Tensor[(32), float32]) {
  %0 = nn.dense(%x, %w, units=32);
  %1 = nn.bias_add(%0, %b);
  nn.relu(%1)
}
"""


def parse(text: str) -> irtool.Module:
    """A module from text, with or without the version line."""
    return irtool.parse(text if "#[version" in text else '#[version = "0.0.5"]\n' + text)


def dense() -> tuple[irtool.Module, dict[str, np.ndarray], np.ndarray]:
    """A dense layer: the module, its weights, an input."""
    g = np.random.RandomState(3)
    weights = {"w": g.randn(32, 16).astype("float32"), "b": g.randn(32).astype("float32")}
    return parse(DENSE), weights, g.randn(1, 16).astype("float32")


def compile_c(folder: Path, output: str, *sources: str, cc: str = "cc", flags: list[str] | None = None) -> Path:
    """Compiles sources in a folder, warnings being errors."""
    command = [cc, *(STRICT if flags is None else flags), "-o", output, *sources, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / output


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in its folder."""
    return subprocess.run([program, *arguments], cwd=program.parent, capture_output=True, text=True, check=False)
