"""`--line-directives`: debuggers show the line of the source for each instruction of a kernel, and the code stays the same."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import irtool
from irtool.backends.c.line_directives import numbered, point_at
from irtool.tir.program import Place
from tests.command_line import irtool as command

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 64), float32], %w: Tensor[(64, 64), float32]) {
  let %a = nn.relu(
    nn.dense(%x, %w, units=64));
  nn.softmax(%a)
}
"""
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
f (float[8, 8] x, float[8, 8] w) => (float[8, 8] y) {
  [product] a = MatMul(x, w)
  [sums] y = Softmax(a)
}
"""

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def output(*words: object) -> str:
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout


def library(folder: Path, *flags: str, **options: Any) -> Path:
    """The library of TEXT, with a function for each kernel."""
    irtool.build(irtool.parse(TEXT, filename="net.relay"), name="net", emit="c", out_dir=folder, **options)
    subprocess.run(
        ["gcc", "-O2", "-fno-inline", "-DIRT_NO_NOTICE", *flags, "-shared", "-fPIC", "net.c", "-o", "net.so", "-lm"],
        cwd=folder,
        check=True,
    )
    return folder / "net.so"


def places(path: Path) -> dict[str, set[str]]:
    """The lines of the instructions of each function, as objdump gives them."""
    lines: dict[str, set[str]] = {}
    function = ""
    for line in output("objdump", "-dl", "--no-show-raw-insn", path).splitlines():
        if (start := re.fullmatch(r"[0-9a-f]+ <(.+)>:", line)) is not None:
            function = start[1]
        elif (place := re.match(r"(?:.*/)?([^/:]+:\d+)", line)) is not None:
            lines.setdefault(function, set()).add(place[1])
    return lines


@pytest.mark.parametrize("options", [{"mcpu": "none"}, {"vector": "none"}, {}])
def test_instructions_of_kernels_are_at_their_lines(options: dict[str, Any], tmp_path: Path) -> None:
    path = library(tmp_path, "-g", flags={"line_directives": True}, **options)
    lines = places(path)
    dense = next(f for f in lines if "dense" in f)
    assert "net.relay:4" in lines[dense] and not any(p.startswith("net.relay") for p in lines[dense] - {"net.relay:4"})
    softmax = next(f for f in lines if "softmax" in f)
    assert "net.relay:5" in lines[softmax]
    (address,) = [words[0] for line in output("nm", path).splitlines() if (words := line.split())[-1] == dense]
    assert output("addr2line", "-e", path, f"0x{address}").strip().endswith("net.relay:4")


def test_lines_between_kernels_are_those_of_the_file(tmp_path: Path) -> None:
    path = library(tmp_path, "-g", "-O0", mcpu="none", flags={"line_directives": True})
    text = (tmp_path / "net.c").read_text().split("\n")
    address = output("nm", path).split(" T net_run\n")[0].split("\n")[-1]
    line = int(output("addr2line", "-e", path, f"0x{address}").strip().split(":")[-1].split()[0])
    assert text[line - 1].startswith("int net_run(")


def test_the_code_stays_the_same(tmp_path: Path) -> None:
    plain = library(tmp_path / "plain", mcpu="none").read_bytes()
    assert library(tmp_path / "lines", mcpu="none", flags={"line_directives": True}).read_bytes() == plain
    assert "#line" not in (tmp_path / "plain" / "net.c").read_text()


def test_nodes_of_models_have_names(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    (tmp_path / "m.onnxtxt").write_text(MODEL)
    code, text, err = command("build", "--emit=c", "-q", "--line-directives", "-o", "-", tmp_path / "m.onnxtxt")
    assert code == 0, err
    assert re.search(r'#line \d+ "m\.onnxtxt\(product\)"', text)


def test_names_of_files_do_not_end_strings() -> None:
    lines = point_at(Place('a "b"\\?.relay:3:1'), ["x;", "#if A", "", "y;"])
    assert lines[:2] == ['#line 3 "a \\042b\\042\\134\\077.relay"', "x;"] and lines[2:4] == ["#if A", ""]
    assert numbered("\n".join(["a;", *lines, "b;"]), "net.c").split("\n")[-2:] == ['#line 9 "net.c"', "b;"]
    assert point_at(None, ["x;"]) == ["x;"]


def test_c_for_certification_has_none(tmp_path: Path) -> None:
    (tmp_path / "net.relay").write_text(TEXT)
    line = ("build", "--profile=certifiable", "--line-directives", "--emit=c", tmp_path / "net.relay")
    code, _, err = command(*line, "-o", tmp_path)
    assert code == 2 and "profile=certifiable has no place for line_directives" in err
