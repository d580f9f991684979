"""Programs that are compiled for a processor, looked at, and run there, or in an emulator."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import irtool
from irtool.backends.formulas import support
from irtool.backends.toolchain.described import described_machine
from tests.backends.assembly import count, loops
from tests.backends.microcontrollers import BOARDS, CC, Board

X86 = platform.machine().lower() in ("x86_64", "amd64")


def _flags() -> list[str]:
    """The instruction sets of this processor by Linux's names; of the described machine, those that it has too."""
    path = Path("/proc/cpuinfo")
    have = path.read_text(encoding="utf-8").split() if path.is_file() else []
    described = described_machine()
    return have if described is None else [f for f in have if f in described.flags]


FLAGS = _flags()
ARM = ("aarch64-linux-gnu-gcc", "qemu-aarch64 -cpu max")
ARMV7 = ("arm-linux-gnueabihf-gcc", "qemu-arm -cpu max")


class Way(NamedTuple):
    """How a program is compiled and run.

    Attributes:
        feature: what Linux calls what the processor needs.
        instruction: a regular expression for one that the compiler makes.
        lanes: of a vector, in elements of 32 bits.
        board: what a program for a microcontroller runs on.
    """

    cc: str
    emulator: str
    flags: list[str]
    feature: str
    instruction: str
    lanes: int
    board: Board | None = None

    @staticmethod
    def on(name: str, instruction: str, lanes: int) -> Way:
        """The way to a microcontroller."""
        board = BOARDS[name]
        return Way(CC, board.emulator, board.flags, "", instruction, lanes, board)


def require(cc: str, emulator: str) -> None:
    """Skips the test where there is no such compiler, or nothing that runs its programs."""
    if not shutil.which(cc) or (emulator and not shutil.which(emulator.split()[0])) or (not emulator and not X86):
        pytest.skip(f"no {cc}, or no {' '.join(emulator.split()[:3]) or 'such processor'}")


def compile_program(way: Way, lines: Sequence[str], folder: Path) -> str:
    """Writes a program, of which `lines` follow what vectors need, and gives its assembly, which has the instruction."""
    text = ["#include <stdint.h>", "#include <stdio.h>", "#include <string.h>", *support.INLINE, *lines]
    (folder / "program.c").write_text("\n".join(text) + "\n")
    subprocess.run([*_line(way), "-S", "-o", "program.s"], cwd=folder, check=True)
    assembly = (folder / "program.s").read_text()
    assert not way.instruction or re.search(way.instruction, assembly)
    return assembly


_NEEDED = {
    "x86-64-v3": ("avx2", "fma", "f16c", "bmi2"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "cascadelake": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni"),
}


def require_processor(name: str) -> None:
    """Skips the test where code for a processor does not run."""
    missing = [f for f in _NEEDED.get(name, ()) if f not in FLAGS]
    if missing:
        pytest.skip(f"code for {name} does not run here: this processor has no {missing[0]}")


def run_program(way: Way, data: bytes, folder: Path) -> bytes:
    """What the program prints when it reads `data`. Skips the test where the processor lacks the feature."""
    if way.feature and way.feature not in FLAGS:
        pytest.skip(f"this processor has no {way.feature}; it was compiled")
    if way.board is not None:
        way.board.prepare(folder)
    subprocess.run([*_line(way), "-o", "program"], cwd=folder, check=True)
    command = [*way.emulator.split(), "./program"]
    if way.board is None:
        return subprocess.run(command, input=data, cwd=folder, capture_output=True, check=True).stdout
    (folder / "stdin.bin").write_bytes(data)
    subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=120)
    return (folder / "stdout.bin").read_bytes()


def _line(way: Way) -> list[str]:
    warnings = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-psabi"]
    return [
        way.cc,
        "-std=c99",
        "-O2",
        *way.flags,
        *warnings,
        *(["-static"] if way.emulator and way.board is None else []),
        "program.c",
    ]


def arm_loops(assembly: str) -> list[list[str]]:
    """The instructions of each loop of Arm's assembly: what is between a label and a branch back to it."""
    labels: dict[str, int] = {}
    lines = assembly.splitlines()
    loops_of_lines: list[list[str]] = []
    for n, line in enumerate(lines):
        label = re.match(r"(\.L\w+):", line)
        branch = re.match(r"\s+(?:b\w*(?:\.\w)?|le\s+lr,)\s+(\.L\w+)", line)
        if label:
            labels[label[1]] = n
        elif branch and branch[1] in labels:
            loops_of_lines.append([x.strip() for x in lines[labels[branch[1]] : n + 1] if re.match(r"\s+[a-z]", x)])
    return loops_of_lines


def check_hottest_loop(text: str, weights: np.ndarray, cflags: str, instruction: str, folder: Path) -> None:
    """The loop with the most of an instruction, on AVX-512: nothing is spilled, weights are read once for all rows of a tile."""
    if not X86 or not shutil.which("gcc"):
        pytest.skip("gcc for x86-64 makes the code")
    options = {"mcpu": "x86-64-v4", "cflags": cflags, "cc": "gcc", "weights": "file"}
    artifact = irtool.build(irtool.parse(text), {"w": weights}, name="net", emit="c", out_dir=folder, **options)
    line = artifact.report["compile"].split(" -c ")[0]
    subprocess.run([*line.split(), "-S", "-o", "net.s", "net.c"], cwd=folder, check=True)
    pattern = rf"\b{instruction}\b.*%zmm"
    hottest = max(loops((folder / "net.s").read_text()), key=lambda lines: count(pattern, lines))
    sums = count(pattern, hottest)
    reads = count(r"\bv(mov|pbroadcast)\w+\s+-?\d*\(.*%zmm", hottest)
    assert sums >= 16 and reads <= sums, hottest
    assert not count(r"%zmm\d+, -?\d*\(%r[sb]p\)", hottest), hottest
