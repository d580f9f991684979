"""Sums of products of 16-bit numbers, two at a time: the same bits by every instruction, and from the plain loop that they mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.formulas import vector_math, vector_types
from irtool.backends.formulas.words import WIDE
from irtool.passes.core.bind import bind_params
from irtool.schedule.instructions.dot_kinds import wide_kind
from irtool.tir.int16_dot import DOT_WIDE, NUMBERS, PACK_WIDE, meaning
from tests.backends.dots import V, by_the_loop, numbers
from tests.backends.instructions import ARM, FLAGS, Way, check_hottest_loop, compile_program, require, run_program

PATHS = {
    "portable": Way("gcc", "", [], "", "", 2),
    "SSE2": Way("gcc", "", ["-march=x86-64"], "", "pmaddwd", 4),
    "AVX2": Way("gcc", "", ["-march=x86-64-v3"], "avx2", "vpmaddwd.*ymm", 8),
    "AVX-512": Way("gcc", "", ["-march=x86-64-v4"], "avx512bw", "vpmaddwd.*zmm", 16),
    "AVX-512 by clang": Way("clang", "", ["-march=x86-64-v4"], "avx512bw", "vpmaddwd.*zmm", 16),
    "VNNI of 32 bytes": Way("gcc", "", ["-march=x86-64-v4", "-mavx512vnni"], "avx512_vnni", "vpdpwssd.*ymm", 8),
    "VNNI of 64 bytes": Way("gcc", "", ["-march=x86-64-v4", "-mavx512vnni"], "avx512_vnni", "vpdpwssd.*zmm", 16),
    "portable on Arm": Way(*ARM, ["-march=armv8-a"], "", "", 4),
    "one by one": Way("gcc", "", [], "", "", 1),
}
MANY = 16 * 40


@pytest.mark.parametrize("path", PATHS)
def test_every_instruction_gives_what_the_loop_gives(path: str, tmp_path: Path) -> None:
    way = PATHS[path]
    require(way.cc, way.emulator)
    lanes = way.lanes
    start = np.random.default_rng(1).integers(-(2**31), 2**31, MANY).astype("int32")
    start[::5], start[1::5] = 2**31 - 1, -(2**31)
    a, b = (numbers("int16", MANY * NUMBERS, n).reshape(MANY, NUMBERS) for n in (2, 3))
    t = vector_types.vector_type("int32", lanes)
    lines = [vector_types.define_type(d, lanes) for d in ("int32", "uint32")] if lanes > 1 else [WIDE[DOT_WIDE]]
    lines += [text for _, text in vector_math.define(DOT_WIDE, "int32", lanes)] if lanes > 1 else []
    places = [f"(d + {n * MANY} + k)" for n in range(3)]
    values = ", ".join(f"*(const {t}_u *){x}" if lanes > 1 else f"*{x}" for x in places)
    call = f"*({t}_u *)(y + k) = irt_v{DOT_WIDE}_{t[4:]}" if lanes > 1 else f"y[k] = irt_{DOT_WIDE}"
    lines += [f"static int32_t d[{3 * MANY}], y[{MANY}];", "int main(void) {", "  int k;"]
    lines += [f"  if (fread(d, 4, {3 * MANY}, stdin) != {3 * MANY}) return 1;"]
    lines += [f"  for (k = 0; k < {MANY}; k += {lanes}) {call}({values});", f"  fwrite(y, 4, {MANY}, stdout);"]
    compile_program(way, [*lines, "  return 0;\n}"], tmp_path)
    got = run_program(way, b"".join(x.tobytes() for x in (start, a, b)), tmp_path)
    np.testing.assert_array_equal(np.frombuffer(got, "int32"), by_the_loop(meaning(), start, a, b))


def test_words_hold_widened_neighbours_and_zeros() -> None:
    kind = wide_kind()
    for dtype in ("int8", "uint8", "int16"):
        data = numbers(dtype, 10, 4).reshape(2, 5)
        got = kind.pack_data(data, 1)
        assert got.dtype == np.dtype("int32") and got.shape == (2, 3)
        parts = got.astype("<i4").view("int16").reshape(2, 6)
        np.testing.assert_array_equal(parts[:, :5], data.astype("int16"))
        assert not parts[:, 5].any()


def test_sixteen_bits_are_multiplied_in_pairs(tmp_path: Path) -> None:
    text = f'{V}def @main(%x: Tensor[(9, 66), int16], %w: Tensor[(40, 66), int16]) {{ nn.dense(%x, %w, units=40, out_dtype="int32") }}'
    x, w = numbers("int16", 9 * 66, 5).reshape(9, 66), numbers("int16", 40 * 66, 6).reshape(40, 66)
    module = irtool.parse(text)
    for mcpu in ("x86-64-v2", "x86-64-v3"):
        built = irtool.build(module, {"w": w}, name="m", out_dir=tmp_path / mcpu, mcpu=mcpu)
        assert f"irt_v{DOT_WIDE}" in (tmp_path / mcpu / "m.c").read_text()
        if mcpu == "x86-64-v2" or "avx2" in FLAGS:
            want = irtool.evaluate(bind_params(irtool.infer_types(module), {"w": w}, "main"), [x])
            np.testing.assert_array_equal(np.asarray(built.run([x])), np.asarray(want))


def test_bytes_are_widened_as_they_are_read(tmp_path: Path) -> None:
    """Of neighbours in memory, words are made by one read and one conversion."""
    text = f'{V}def @main(%x: Tensor[(16, 64), uint8], %w: Tensor[(32, 64), int8]) {{ nn.dense(%x, %w, units=32, out_dtype="int32") }}'
    w = numbers("int8", 32 * 64, 7).reshape(32, 64)
    irtool.build(irtool.parse(text), {"w": w}, name="m", emit="c", out_dir=tmp_path, mcpu="x86-64-v3", weights="file")
    code = (tmp_path / "m.c").read_text().split("#else")
    assert any("__builtin_convertvector(*(const irt_u8x16_u *)" in part for part in code)
    assert f"irt_{PACK_WIDE}" in "".join(code), "the twin without vectors packs number by number"


def test_the_hottest_loop_is_of_dot_products(tmp_path: Path) -> None:
    """Nothing is spilled, and weights are read once for all rows of a tile."""
    text = f'{V}def @main(%x: Tensor[(64, 256), uint8], %w: Tensor[(192, 256), int8]) {{ nn.dense(%x, %w, units=192, out_dtype="int32") }}'
    w = numbers("int8", 192 * 256, 1).reshape(192, 256)
    check_hottest_loop(text, w, "-mavx2", "vpmaddwd", tmp_path)
