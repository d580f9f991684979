"""AVX-VNNI-INT8: its texts with the instructions' definitions in their place, and the code of networks.

Few processors have it, and qemu-x86_64 does not run it: 7.2 with `-cpu max` runs AVX2 and ends with an illegal instruction at `vpdpbssd`,
as it does at AVX-VNNI's `vpdpbusd` and at AVX-512.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.formulas.templates import fill
from irtool.backends.instructions.listing import choose
from irtool.backends.instructions.row import meaning
from irtool.backends.llvm.tools import Clang
from irtool.backends.toolchain.compiler import vectors_of
from irtool.tir.int8_dot import DOTS, STEPS
from tests.backends.dots import V, by_the_loop, numbers
from tests.backends.instructions import X86

MACROS = " __x86_64__ __SSE2__ __AVX__ __AVX2__ __AVXVNNI__ __AVXVNNIINT8__ "
MANY = 8 * 40

# `op` ends in two letters for the signs of the first and of the second source: `vpdpbsud` has a signed first one.
_DEFINED = """
#include <stdint.h>
#include <stdio.h>
#define LANES 8
typedef int32_t whole __attribute__((vector_size(4 * LANES)));
typedef uint32_t unsigned_whole __attribute__((vector_size(4 * LANES)));
static int number(char sign, uint32_t word, int k) {
  const uint8_t byte = (uint8_t)(word >> 8 * k);
  return sign == 's' ? (int8_t)byte : byte;
}
static whole defined(const char *op, whole acc, whole a, whole b) {
  int n, k;
  for (n = 0; n < LANES; ++n)
    for (k = 0; k < 4; ++k)
      acc[n] = (int32_t)((uint32_t)acc[n] + (uint32_t)(number(op[5], (uint32_t)a[n], k) * number(op[6], (uint32_t)b[n], k)));
  return acc;
}
#define irt_dpb(op, acc, a, b) acc = defined(op, acc, a, b)
static whole dot(whole acc, whole a, whole b) {
$body
}
static int32_t d[3][$many], y[$many];
int main(void) {
  int k, n;
  if (fread(d, 1, sizeof d, stdin) != sizeof d) return 1;
  for (k = 0; k < $many; k += LANES) {
    whole v[3];
    for (n = 0; n < 3 * LANES; ++n) v[n / LANES][n % LANES] = d[n / LANES][k + n % LANES];
    v[0] = dot(v[0], v[1], v[2]);
    for (n = 0; n < LANES; ++n) y[k + n] = v[0][n];
  }
  return fwrite(y, 1, sizeof y, stdout) != sizeof y;
}
"""


@pytest.mark.parametrize("function", DOTS)
def test_operands_and_signs_are_those_of_the_manual(function: str, tmp_path: Path) -> None:
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    chosen = choose(function, 8, MACROS)
    assert chosen is not None
    row, form = chosen
    assert row.instruction == "vpdpb(ss|su|uu)d" and not form.moved_to
    body = re.sub(r"^#(define|undef).*\n", "", fill(form.c, t="whole", u="unsigned_whole"), flags=re.MULTILINE)
    (tmp_path / "p.c").write_text(fill(_DEFINED, body=body, many=str(MANY)))
    subprocess.run(["gcc", "-std=c99", "-O1", "-Wno-psabi", "-o", "p", "p.c"], cwd=tmp_path, check=True)
    start = np.random.default_rng(1).integers(-(2**31), 2**31, MANY).astype("int32")
    a, b = (numbers(d, MANY * STEPS, n).reshape(MANY, STEPS) for n, d in enumerate(DOTS[function], 2))
    data = b"".join(x.tobytes() for x in (start, a, b))
    got = subprocess.run(["./p"], input=data, cwd=tmp_path, capture_output=True, check=True).stdout
    np.testing.assert_array_equal(np.frombuffer(got, "int32"), by_the_loop(meaning(function), start, a, b))


def test_no_bytes_are_moved_for_their_signs() -> None:
    machine = vectors_of(MACROS)
    assert machine.first_factor == "" and vectors_of(MACROS.replace("__AVXVNNIINT8__ ", "")).first_factor == "uint8"


@pytest.mark.parametrize("backend", ["c", "llvm"])
@pytest.mark.parametrize(("signs", "instruction"), [("s8s8", "vpdpbssd"), ("u8s8", "vpdpbsud"), ("u8u8", "vpdpbuud")])
def test_networks_are_made_of_the_instruction(backend: str, signs: str, instruction: str, tmp_path: Path) -> None:
    clang = Clang.find("", "none", "", False, "")
    if not X86 or clang is None:
        pytest.skip("clang 16 or later for x86-64 makes the code")
    command = clang.compiler.command[0]
    a, b = DOTS[f"dot4_{signs}"]
    text = f'{V}def @main(%x: Tensor[(64, 256), {a}], %w: Tensor[(192, 256), {b}]) {{ nn.dense(%x, %w, units=192, out_dtype="int32") }}'
    w = numbers(b, 192 * 256, 1).reshape(192, 256)
    options = {"target": backend, "mcpu": "x86-64-v3", "cflags": "-mavxvnniint8", "cc": command, "weights": "file"}
    irtool.build(
        irtool.parse(text), {"w": w}, name="m", emit="c" if backend == "c" else "ll", out_dir=tmp_path, **options
    )
    source = f"m.{'c' if backend == 'c' else 'll'}"
    flags = ["-O3", "-march=x86-64-v3", "-mavxvnniint8", "-Wno-override-module", "-S", "-o", "m.s", source]
    subprocess.run([command, *flags], cwd=tmp_path, check=True)
    assembly = (tmp_path / "m.s").read_text()
    assert len(re.findall(rf"\s{instruction}\s.*%ymm", assembly)) >= 8
    assert not re.search(r"\s(v?pmaddwd|vpdpbusd)\s", assembly)
