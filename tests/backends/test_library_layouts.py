"""Libraries for other build systems: the C of each compiles with its example, and manifests name what is there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import irtool
from irtool.backends.c.packages.layout import KINDS
from irtool.diagnostics import UsageError

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
needs_arm = pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc (Debian: gcc-arm-none-eabi)"
)
HEAD = '#[version = "0.0.5"]\n'
NET = "def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) { nn.softmax(nn.dense(%x, %w, units=4)) }\n"
STEP = "def @main(%x: Tensor[(4), float32], %s: Tensor[(4), float32]) { (exp(%x), add(%x, %s)) }\n"
STAND_IN = """\
#include <stdio.h>
static struct { void begin(int) {} template <class T> void println(T x) { printf("%g\\n", (double)x); } } Serial;
static void delay(int) {}
"""
"""What a sketch needs of Arduino's core."""


def library(folder: Path, kind: str, text: str = NET, **options: Any) -> Path:
    weights = {"w": np.ones((4, 8), "float32")} if "%w" in text else None
    irtool.build(
        irtool.parse(HEAD + text, filename="net.relay"), weights, emit=kind, name="net", out_dir=folder, **options
    )
    return folder


def compiled(command: list[str], folder: Path) -> None:
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr


def test_each_layout_has_a_table() -> None:
    path = Path(irtool.__file__).parent / "backends" / "c" / "packages" / "layouts.toml"
    assert {*tomllib.loads(path.read_text())} == {*KINDS}


@needs_cc
@pytest.mark.parametrize("text", [NET, STEP], ids=["net", "states"])
@pytest.mark.parametrize("kind", KINDS)
def test_examples_run(kind: str, text: str, tmp_path: Path) -> None:
    options = {} if text == NET else {"states": {"s": "out1"}}
    folder = library(tmp_path, kind, text, **options)
    (example,) = [*folder.rglob("main.c"), *folder.rglob("*.ino")]
    sources = [str(p) for p in (folder / "src").glob("*.c")]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", str(folder / "src")]
    compiled(["cc", *flags, "-c", *sources], folder)
    objects = [f"{Path(s).stem}.o" for s in sources]
    source = example.read_text()
    if example.suffix == ".ino":
        (folder / "sketch.cc").write_text(STAND_IN + source + "int main() { setup(); loop(); }\n")
        compiled(["c++", "-I", "src", "sketch.cc", *objects, "-o", "run", "-lm"], folder)
    else:
        more = "int main(void) { app_main(); return 0; }\n" if "app_main" in source else ""
        (folder / "run.c").write_text(source + more)
        compiled(["cc", *flags, "run.c", *objects, "-o", "run", "-lm"], folder)
    output = subprocess.run(["./run"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert "0.25" in output if text == NET else output.split()[-1] == "1"


@needs_arm
@pytest.mark.parametrize("kind", KINDS)
def test_sources_compile_for_a_microcontroller(kind: str, tmp_path: Path) -> None:
    folder = library(tmp_path, kind)
    for source in (folder / "src").glob("*.c"):
        flags = ["-mcpu=cortex-m4", "-mthumb", "-std=gnu99", "-Os", "-Wall", "-Wextra", "-Werror"]
        compiled(["arm-none-eabi-gcc", *flags, "-c", str(source), "-o", "net.o"], folder)


@pytest.mark.parametrize("kind", KINDS)
def test_manifests_are_whole(kind: str, tmp_path: Path) -> None:
    folder = library(tmp_path, kind, weights="split")
    texts = {
        str(p.relative_to(folder)): p.read_text()
        for p in folder.rglob("*")
        if p.is_file() and p.suffix not in (".c", ".h")
    }
    assert not [n for n, t in texts.items() if re.search(r"@[A-Z_]+@", t)]
    named = "\n".join(texts.values())
    if kind == "platformio":
        assert json.loads(texts["library.json"])["license"] == "LicenseRef-owner"
    elif kind == "cmsis-pack":
        pack = ElementTree.parse(folder / "irtool.net.pdsc").getroot()
        assert all((folder / e.attrib["name"]).exists() for e in pack.iter("file"))
        assert {"src/net.c", "src/net_weights.c"} <= {e.attrib["name"] for e in pack.iter("file")}
    else:
        assert "LicenseRef-owner" in named
    if kind in ("zephyr", "esp-idf"):
        assert "src/net.c" in named
        assert "src/net_weights.c" in named


def test_what_else_a_build_writes_stands_apart(tmp_path: Path) -> None:
    folder = library(tmp_path, "arduino", profile="certifiable", testbench=True)
    assert {p.name for p in (folder / "extras").iterdir()} == {"net_test.c", "net.ffx", "net_trace.json"}
    assert {p.name for p in (folder / "src").iterdir()} == {"net.c", "net.h", "net_weights.c", "net_weights.h"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "file"}, "is for devices without a file system for weights"),
        ({"openmp": True}, "has no place for openmp"),
        ({"api": "tvm"}, "has no place for api=tvm"),
        ({"ram_limit": "64K"}, "has no place for ram_limit"),
    ],
)
def test_options_without_a_place_are_refused(kind: str, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        library(tmp_path / "out", kind, **options)
    assert not (tmp_path / "out").exists()


def test_a_file_in_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "src").write_text("mine")
    with pytest.raises(irtool.IrError, match="cannot write"):
        library(tmp_path, "zephyr")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["src"]
