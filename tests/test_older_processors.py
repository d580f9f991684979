"""Programs that are told of an older processor: `benchmarks.compare.older`."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.compare.older import answers, replace_questions

ASKS = """
#include <cpuid.h>
#include <stdio.h>
int main(int count, char **words) {
  unsigned a, b, c, d;
  (void)words;
  __cpuid_count(7, 0, a, b, c, d);
  printf("%u %u %u ", b >> 5 & 1, b >> 16 & 1, c >> 11 & 1);
  __cpuid_count(0, 0, a, b, c, d);
  printf("%.4s\\n", (char *)&b);
  if (count > 1) __builtin_trap();
  return 0;
}
"""
"""Prints AVX2, AVX-512 F, AVX-512 VNNI, and the first letters of the maker."""


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not all(map(shutil.which, ("cc", "objdump", "readelf"))),
    reason="for x86-64 and binutils",
)
def test_a_program_finds_no_later_instructions(tmp_path: Path) -> None:
    (tmp_path / "asks.c").write_text(ASKS)
    program = tmp_path / "asks"
    subprocess.run(["cc", "-O1", "-o", str(program), str(program) + ".c"], check=True)
    before = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    replace_questions(program)
    environment = {**os.environ, "LD_PRELOAD": str(answers(tmp_path))}
    after = subprocess.run([program], capture_output=True, text=True, check=True, env=environment).stdout.split()
    assert after == [before[0], "0", "0", before[3]]
    assert subprocess.run([program], capture_output=True, check=False).returncode < 0, "nobody answers"
    trap = subprocess.run([program, "trap"], capture_output=True, check=False, env=environment, timeout=20)
    assert trap.returncode < 0, "another illegal instruction ends the program"
