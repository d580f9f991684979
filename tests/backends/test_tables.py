"""Look-ups in tables of 256 bytes: the same by the instruction and without, and in the loop that makes the bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.formulas import vector_math, vector_types
from irtool.passes.core.bind import bind_params
from tests.backends.instructions import ARM, Way, compile_program, require, run_program

VBMI = ["-march=x86-64-v4", "-mavx512vbmi"]
PATHS = {
    "portable": Way("gcc", "", [], "", "", 16),
    "few lanes": Way("gcc", "", [], "", "", 4),
    "VBMI of 16 bytes": Way("gcc", "", VBMI, "avx512vbmi", "vpermi2b.*zmm", 16),
    "VBMI of 32 bytes": Way("gcc", "", VBMI, "avx512vbmi", "vpermi2b.*zmm", 32),
    "VBMI of 64 bytes": Way("gcc", "", VBMI, "avx512vbmi", "vpermi2b.*zmm", 64),
    "VBMI by clang": Way("clang", "", VBMI, "avx512vbmi", "vpermi2b.*zmm", 16),
    "Arm": Way(*ARM, ["-march=armv8-a"], "", "", 16),
}
"""Lanes are bytes."""


@pytest.mark.parametrize("path", PATHS)
def test_every_path_gives_the_elements(path: str, tmp_path: Path) -> None:
    way = PATHS[path]
    require(way.cc, way.emulator)
    t = vector_types.vector_type("uint8", way.lanes)
    lines = [vector_types.define_type(d, way.lanes) for d in ("uint8", "int8")]
    lines += [text for _, text in vector_math.define("look_up", "uint8", way.lanes)]
    look_up = f"irt_vlook_up_{t[4:]}(d, *(const {t}_u *)(d + 256 + k))"
    lines += ["static uint8_t d[768], y[512];", "int main(void) {", "  int k;"]
    lines += ["  if (fread(d, 1, 768, stdin) != 768) return 1;"]
    lines += [f"  for (k = 0; k < 512; k += {way.lanes}) *({t}_u *)(y + k) = {look_up};"]
    lines += ["  fwrite(y, 1, 512, stdout);", "  return 0;\n}"]
    compile_program(way, lines, tmp_path)
    rng = np.random.default_rng(0)
    table = rng.permutation(256).astype("uint8")
    numbers = np.concatenate([np.arange(256), rng.integers(0, 256, 256)]).astype("uint8")
    got = run_program(way, table.tobytes() + numbers.tobytes(), tmp_path)
    np.testing.assert_array_equal(np.frombuffer(got, "uint8"), table[numbers])


TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 32, 9, 20), uint8], %w: Tensor[(24, 32, 1, 1), int8], %table: Tensor[(256), int8]) {
  %0 = nn.conv2d(%x, %w, channels=24, kernel_size=[1, 1], out_dtype="int32");
  take(%table, cast(right_shift(%0, 6), dtype="uint8"), axis=0, mode="fast")
}"""


@pytest.mark.parametrize("target", ["c{vector=none}", "c{mcpu=x86-64-v3}", "c{mcpu=native}", "llvm"])
def test_a_convolution_looks_up_what_it_has_summed(target: str, tmp_path: Path) -> None:
    if target == "llvm" and not shutil.which("clang"):
        pytest.skip("no clang")
    rng = np.random.default_rng(1)
    x = rng.integers(0, 256, (1, 32, 9, 20)).astype("uint8")
    params = {
        "w": rng.integers(-128, 128, (24, 32, 1, 1)).astype("int8"),
        "table": rng.integers(-128, 128, 256).astype("int8"),
    }
    module = irtool.infer_types(irtool.parse(TEXT))
    expected = irtool.evaluate(bind_params(module, params, "main"), [x])
    artifact = irtool.build(module, params, target=target, out_dir=tmp_path)
    np.testing.assert_array_equal(np.asarray(artifact.run({"x": x})), np.asarray(expected))
    assert len(artifact.report["kernels"]) == (2 if "none" in target else 1)
