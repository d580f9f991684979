"""`irtool build -MD`, and `irtool_add_network` of irtool.cmake, which rebuilds when a file that the build has read changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import irtool as package
from irtool.commands.dependencies import write_rule
from irtool.commands.destination import Destination
from tests.command_line import irtool

TEXT = (
    '#[version = "0.0.5"]\n'
    + "def @main(%x: Tensor[(1, 3), float32], %w: Tensor[(2, 3), float32]) { nn.dense(%x, %w, units=2) }"
)
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("net.relay").write_text(TEXT)
    write_weights(1)
    return tmp_path


def write_weights(value: float) -> None:
    np.savez("weights.npz", w=np.full((2, 3), value, np.float32))


def test_the_rule_has_what_was_read_and_written(folder: Path) -> None:
    """Also where the cache has the build."""
    for _ in range(2):
        code, out, err = irtool("build", "-MD", "--emit=c", "--params=weights.npz", "-q", "-o", "out", "net.relay")
        assert (code, out, err) == (0, "", "")
        rule, *phony = Path("out/net.d").read_text().split("\n\n")
        targets, _, needed = rule.partition(": \\\n")
        assert sorted(targets.split()) == ["out/net.c", "out/net.h"]
        assert [line.strip(" \\") for line in needed.splitlines()] == ["net.relay", "weights.npz"]
        assert [p.strip() for p in phony] == ["net.relay:", "weights.npz:"]
        shutil.rmtree("out")


def test_another_file_for_the_rule(folder: Path) -> None:
    assert irtool("build", "-MF", "rule.d", "--emit=c", "-q", "-o", "out", "net.relay")[0] == 0
    assert Path("rule.d").read_text().startswith("out/net.c out/net.h:") and not Path("out/net.d").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "-", "net.relay"), "-MD writes a rule about files, and standard output is none"),
        (("-o", "out", "-"), "-MD writes a rule about files, and standard input is none"),
    ],
)
def test_streams_have_no_rule(folder: Path, words: tuple[str, ...], message: str) -> None:
    code, _, err = irtool("build", "-MD", "--emit=c", *words)
    assert code == 2 and message in err and not Path("out").exists()


def test_names_that_make_would_read_otherwise() -> None:
    rule = write_rule(Destination("out dir", "net", "c", "c"), ["net.c"], ["a b.relay", "c$d#e", "a b.relay"])
    assert rule.splitlines() == [
        "out\\ dir/net.c: \\",
        "  a\\ b.relay \\",
        "  c$$d\\#e",
        "",
        "a\\ b.relay:",
        "",
        "c$$d\\#e:",
    ]


def test_a_failed_build_writes_no_rule(folder: Path) -> None:
    Path("net.relay").write_text(TEXT.replace("nn.dense", "nn.dnese"))
    assert irtool("build", "-MD", "--emit=c", "-o", "out", "net.relay")[0] == 1
    assert not Path("out").exists()


@pytest.mark.parametrize("generator", ["Unix Makefiles", "Ninja"])
def test_cmake_builds_again_when_a_file_changes(generator: str, folder: Path) -> None:
    tools = {"Unix Makefiles": "make", "Ninja": "ninja"}
    if not (shutil.which("cmake") and shutil.which(tools[generator])):
        pytest.skip("no cmake, or no tool for it")
    Path("main.c").write_text(MAIN)
    Path("CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.20)
project(app C)
set(IRTOOL_EXECUTABLE "{folder}/irtool")
include("{cmake_folder()}/irtool.cmake")
irtool_add_network(net net.relay OPTIONS --params=${{CMAKE_CURRENT_SOURCE_DIR}}/weights.npz)
add_executable(app main.c)
target_link_libraries(app PRIVATE net)
""")
    root = Path(package.__file__).parents[1]
    Path("irtool").write_text(f'#!/bin/sh\nPYTHONPATH={root} exec {sys.executable} -m irtool "$@"\n')
    Path("irtool").chmod(0o755)
    shell("cmake", "-S", ".", "-B", "made", "-G", generator)
    assert "Compiling the network net" in shell("cmake", "--build", "made")
    assert shell("made/app") == "6 6\n"
    assert "Compiling the network net" not in shell("cmake", "--build", "made")
    write_weights(2)  # known from the rule alone
    later = Path("made/net.irtool/net.c").stat().st_mtime + 10
    os.utime("weights.npz", (later, later))
    assert "Compiling the network net" in shell("cmake", "--build", "made")
    assert shell("made/app") == "12 12\n"


def cmake_folder() -> str:
    code, out, _ = irtool("--cmake-dir")
    assert code == 0
    return out.strip()


def shell(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
