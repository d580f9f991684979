"""`--build-file meson` and `pkg-config`: builds of others take a network in, and get its results."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.c.banner import Origin
from irtool.backends.c.build_file import write_build_file
from irtool.diagnostics import UsageError
from tests.command_line import irtool as command

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3), float32], %w: Tensor[(2, 3), float32]) { nn.dense(%x, %w, units=2) }
"""
MAIN = """#include <stdio.h>
#include "net.h"
int main(void) {
  const float x[3] = {1, 2, 3};
  float out[2];
  if (net_run(x, out)) return 1;
  printf("%g %g\\n", out[0], out[1]);
  return 0;
}
"""
MESON = """project('app', 'c')
subdir('out')
executable('app', 'app.c', dependencies: net_dep)
"""

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def build(folder: Path, **options: object) -> None:
    """The files of the network in the folder `out`, and a program that calls it."""
    (folder / "app.c").write_text(MAIN)
    weights = {"w": np.array([[1, 0, 0], [0, 1, 1]], "float32")}
    module = irtool.parse(TEXT, filename="net.relay")
    irtool.build(module, weights, name="net", out_dir=folder / "out", weights="inline", **options)  # type: ignore[arg-type]


def output(words: list[str], folder: Path, **environment: str) -> str:
    run = subprocess.run(
        words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="needs pkg-config")
@pytest.mark.parametrize("emit", ["so", "obj"])
def test_pkg_config(emit: str, tmp_path: Path) -> None:
    build(tmp_path, emit=emit, build_file="pkg-config")
    shutil.move(tmp_path / "out", tmp_path / "moved")  # the file names no folder
    path = {"PKG_CONFIG_PATH": str(tmp_path / "moved")}
    flags = output(["pkg-config", "--cflags", "--libs", "net"], tmp_path, **path).split()
    output(["cc", "app.c", "-o", "app", *flags], tmp_path)
    assert output([str(tmp_path / "app")], tmp_path) == "1 5\n"
    output(["pkg-config", "--validate", "net"], tmp_path, **path)


@pytest.mark.skipif(
    importlib.util.find_spec("mesonbuild") is None or shutil.which("ninja") is None, reason="needs Meson and ninja"
)
@pytest.mark.parametrize("options", [{}, {"cflags": '-DQUOTED="a\'b"'}])
def test_meson(options: dict[str, str], tmp_path: Path) -> None:
    build(tmp_path, emit="c", build_file="meson", **options)
    (tmp_path / "meson.build").write_text(MESON)
    meson = [sys.executable, "-m", "mesonbuild.mesonmain"]
    output([*meson, "setup", "built", "."], tmp_path)
    output([*meson, "compile", "-C", "built"], tmp_path)
    assert output([str(tmp_path / "built" / "app")], tmp_path) == "1 5\n"


def test_texts_of_flags_and_weights() -> None:
    origin = Origin("1", "x86_64", 128, False, ("cc", "-m64"), ("-O3", "-DA='b'"))
    text = write_build_file("meson", "net", origin, ["net.c"], "net.bin")
    assert (
        "c_args: ['-m64', '-O3', '-DA=\\'b\\'']" in text
        and "net_weights = meson.current_source_dir() / 'net.bin'" in text
    )
    text = write_build_file("pkg-config", "net", origin, ["net.c"], "net.bin", "so")
    assert "weights=${folder}/net.bin" in text and "Libs: -Wl,-rpath,${folder} ${folder}/net.so -lm" in text


def test_sources_alone_are_no_library(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pkg-config is for libraries, and emit=c has none"):
        build(tmp_path, emit="c", build_file="pkg-config")
    (tmp_path / "net.relay").write_text(TEXT)
    line = ("build", tmp_path / "net.relay", "--emit=exe", "--build-file=pkg-config", "-o", tmp_path / "o")
    assert command(*line)[0] == 2 and not (tmp_path / "o").exists()
