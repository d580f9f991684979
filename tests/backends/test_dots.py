"""Sums of products of 8-bit numbers, four at a time: the same bits by every instruction, and from the plain loop that they mean."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.formulas import vector_math, vector_types
from irtool.backends.formulas.words import dot_of_words
from irtool.passes.core.bind import bind_params
from irtool.schedule.instructions.dot_kinds import word_kinds
from irtool.tir.int8_dot import DOTS, NARROW, STEPS, meaning
from tests.backends.bundle import Bundle
from tests.backends.dots import CASES, V, by_the_loop, narrowed, numbers, program
from tests.backends.instructions import (
    ARM,
    ARMV7,
    FLAGS,
    Way,
    arm_loops,
    check_hottest_loop,
    compile_program,
    require,
    run_program,
)

PATHS = {
    "portable": Way("gcc", "", [], "", "", 2),
    "pairs of SSE2": Way("gcc", "", ["-march=x86-64"], "", "pmaddwd", 4),
    "pairs of AVX2": Way("gcc", "", ["-march=x86-64-v3"], "avx2", "vpmaddwd", 8),
    "pairs of AVX-512": Way("gcc", "", ["-march=x86-64-v4"], "avx512bw", "vpmaddwd.*zmm", 16),
    "pairs by clang": Way("clang", "", ["-march=x86-64-v4"], "avx512bw", "vpmaddwd.*zmm", 16),
    "AVX-VNNI": Way("gcc", "", ["-march=x86-64-v3", "-mavxvnni"], "avx_vnni", "vpdpbusd.*ymm", 8),
    "VNNI of 16 bytes": Way("gcc", "", ["-march=x86-64-v4", "-mavx512vnni"], "avx512_vnni", "vpdpbusd.*xmm", 4),
    "VNNI of 64 bytes": Way("gcc", "", ["-march=x86-64-v4", "-mavx512vnni"], "avx512_vnni", "vpdpbusd.*zmm", 16),
    "VNNI by clang": Way("clang", "", ["-march=x86-64-v4", "-mavx512vnni"], "avx512_vnni", "vpdpbusd.*zmm", 16),
    "portable on Arm": Way(*ARM, ["-march=armv8-a"], "", "", 4),
    "Arm's dot product": Way(*ARM, ["-march=armv8.2-a+dotprod"], "", "[su]dot", 4),
    "Arm's mixed product": Way(*ARM, ["-march=armv8.2-a+dotprod+i8mm"], "", "usdot", 4),
    "one by one": Way("gcc", "", [], "", "", 1),
    "one by one on Armv7": Way(*ARMV7, ["-march=armv7-a+fp", "-mthumb"], "", "smlad.*", 1),
    "Armv6": Way(*ARMV7, ["-march=armv6+fp", "-marm"], "", "smlad.*", 1),
    **{name: Way.on(name, "smlad.*", 1) for name in ("Cortex-M4", "Cortex-M7", "Cortex-M33", "Cortex-M55")},
}


@pytest.mark.parametrize("path", PATHS)
def test_every_instruction_gives_what_the_loop_gives(path: str, tmp_path: Path) -> None:
    way = PATHS[path]
    require(way.cc, way.emulator)
    lanes = way.lanes
    many = 16 * 40
    start = np.random.default_rng(1).integers(-(2**31), 2**31, many).astype("int32")
    start[::5], start[1::5] = 2**31 - 1, -(2**31)
    types = [(d, lanes) for d in ("int32", "uint32")] if lanes > 1 else []
    lines = [vector_types.define_type(*t) for t in types]
    t = vector_types.vector_type("int32", lanes)
    if lanes == 1:
        lines = [dot_of_words(name) for name in DOTS]
    calls, data, want = [], [start.tobytes()], []
    for n, name in enumerate(DOTS):
        a, b = (numbers(d, many * STEPS, 10 * n + k).reshape(many, STEPS) for k, d in enumerate(DOTS[name]))
        b = narrowed(b) if name == NARROW else b
        data += [a.tobytes(), b.tobytes()]
        want.append(by_the_loop(meaning(name), start, a, b))
        texts = [text for _, text in vector_math.define(name, "int32", lanes)] if lanes > 1 else []
        assert name == NARROW or not any("pmaddubs" in text for text in texts), "its sums of 16 bits saturate"
        lines += texts
        operand = f"(d + {many} * %d + k)"
        first, second, third = "(d + k)", operand % (1 + 2 * n), operand % (2 + 2 * n)
        values = ", ".join(f"*(const {t}_u *){x}" if lanes > 1 else f"*{x}" for x in (first, second, third))
        sum_to = f"*({t}_u *)(y + k) = irt_v{name}_{t[4:]}" if lanes > 1 else f"y[k] = irt_{name}"
        calls.append(f"for (k = 0; k < {many}; k += {lanes}) {sum_to}({values});")
        calls.append(f"fwrite(y, 4, {many}, stdout);")
    size = many * (1 + 2 * len(DOTS))
    lines += [f"static int32_t d[{size}], y[{many}];", "int main(void) {", "  int k;"]
    lines += [f"  if (fread(d, 4, {size}, stdin) != {size}) return 1;", *calls, "  return 0;\n}"]
    compile_program(way, lines, tmp_path)
    got = run_program(way, b"".join(data), tmp_path)
    np.testing.assert_array_equal(np.frombuffer(got, "int32"), np.concatenate(want))


BUILDS = {
    "scalar": ("cc", {"mcpu": "native", "vector": "none"}, [], ""),
    "x86-64-v2": ("gcc", {"mcpu": "x86-64-v2"}, ["-march=x86-64-v2"], ""),
    "x86-64-v3": ("gcc", {"mcpu": "x86-64-v3"}, ["-march=x86-64-v3"], ""),
    "native": ("cc", {"mcpu": "native"}, ["-march=native"], ""),
    "clang": ("clang", {"mcpu": "native"}, ["-march=native"], ""),
    "AArch64": (ARM[0], {"mcpu": "none", "cc": ARM[0]}, ["-static"], ARM[1]),
    "AArch64 with dot products": (
        ARM[0],
        {"mcpu": "armv8.2-a+dotprod", "cc": ARM[0]},
        ["-static", "-march=armv8.2-a+dotprod"],
        ARM[1],
    ),
    "AArch64 with products of matrices": (
        ARM[0],
        {"mcpu": "armv8.6-a", "cc": ARM[0]},
        ["-static", "-march=armv8.6-a"],
        ARM[1],
    ),
    "products of matrices without their instruction": (
        "gcc",
        {"mcpu": "x86-64-v2", "target": "c{product_rows=2}"},
        ["-march=x86-64-v2"],
        "",
    ),
    "sums of words without their instruction": (
        "gcc",
        {"mcpu": "x86-64-v2", "target": "c{summed_products=16,scalar_results=4,blocked_updates=64}"},
        ["-march=x86-64-v2"],
        "",
    ),
    "Armv7 with SMLAD": (
        ARMV7[0],
        {"mcpu": "armv7-a+fp", "cc": ARMV7[0]},
        ["-static", "-march=armv7-a+fp", "-mthumb"],
        ARMV7[1],
    ),
}
"""By name: compiler, options of the build, flags, emulator."""


@pytest.mark.parametrize("build", BUILDS)
def test_products_are_those_of_the_interpreter(build: str, tmp_path: Path) -> None:
    cc, options, flags, emulator = BUILDS[build]
    require(cc, emulator)
    bundle, want = Bundle(tmp_path, **options), []
    kinds = [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")]
    for n, case in enumerate(CASES):
        taken = kinds if case == "padded" else [kinds[0]] if case == "two layers" else [kinds[0], kinds[n % 4]]
        for a, b in taken:
            module, x, w = program(case, a, b)
            result = np.asarray(irtool.evaluate(module, {"x": x, "w": w}))
            bundle.add(bind_params(module, {"w": w}), [x])
            want.append(result)
            if case in ("padded", "dense", "matrices"):
                bundle.add(module, [x, w])
                want.append(result)
    got = bundle.run(["-O1", *flags], cc=cc, prefix=emulator.split())
    for g, w in zip((y for outputs in got for y in outputs), want, strict=True):
        np.testing.assert_array_equal(g, w)


def test_long_sums_wrap() -> None:
    """65,025 times 40,000 is more than an int32 holds."""
    text = f'{V}def @main(%x: Tensor[(2, 40000), uint8], %w: Tensor[(16, 40000), uint8]) {{ nn.dense(%x, %w, units=16, out_dtype="int32") }}'
    x, w = np.full((2, 40000), 255, "uint8"), np.full((16, 40000), 255, "uint8")
    got = irtool.build(irtool.parse(text), {"w": w}).run([x])
    np.testing.assert_array_equal(np.asarray(got), np.full((2, 16), 65025 * 40000 - 2**32, "int32"))


@pytest.mark.parametrize("case", CASES)
def test_which_sums_are_made_of_words(case: str, tmp_path: Path) -> None:
    module, _, w = program(case, "uint8", "int8")
    irtool.build(module, {"w": w}, name="m", emit="c", out_dir=tmp_path, mcpu="x86-64-v3", weights="file")
    assert ("irt_vdot2_i16" in (tmp_path / "m.c").read_text()) == (case != "depthwise")
    irtool.build(module, {"w": w}, name="n", emit="c", out_dir=tmp_path, mcpu="icelake-server", weights="file")
    assert ("irt_vdot4_u8s8" in (tmp_path / "n.c").read_text()) == (case != "depthwise")


def test_bytes_in_blocks_are_read_as_words_and_pooled_in_vectors(tmp_path: Path) -> None:
    """Padding decides between whole words, and a pool between two convolutions keeps their blocks."""
    text = f"""{V}def @main(%x: Tensor[(1, 32, 16, 16), uint8], %w: Tensor[(32, 32, 3, 3), int8]) {{
      %0 = nn.conv2d(%x, %w, padding=[1, 1], out_dtype="int32");
      %1 = nn.max_pool2d(cast(right_shift(%0, 9), dtype="uint8"), pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);
      nn.conv2d(%1, %w, padding=[1, 1], out_dtype="int32")
    }}"""
    x, w = numbers("uint8", 32 * 256, 1).reshape(1, 32, 16, 16), numbers("int8", 32 * 32 * 9, 2).reshape(32, 32, 3, 3)
    module = irtool.parse(text)
    artifact = irtool.build(module, {"w": w}, name="m", out_dir=tmp_path, mcpu="icelake-server", weights="file")
    code = (tmp_path / "m.c").read_text()
    assert "irt_vwords_i32x4(p0 +" in code
    assert [k["strategy"] for k in artifact.report["kernels"] if "nn.max_pool2d" in k["operators"]] == ["register_tile"]
    if "avx512_vnni" in FLAGS:
        expected = irtool.evaluate(bind_params(irtool.infer_types(module), {"w": w}, "main"), [x])
        np.testing.assert_array_equal(np.asarray(artifact.run([x])), np.asarray(expected))


def test_the_hottest_loop_is_of_dot_products(tmp_path: Path) -> None:
    """Nothing is spilled, and weights are read once for all rows of a tile."""
    text = f'{V}def @main(%x: Tensor[(64, 256), uint8], %w: Tensor[(192, 256), int8]) {{ nn.dense(%x, %w, units=192, out_dtype="int32") }}'
    w = numbers("int8", 192 * 256, 1).reshape(192, 256)
    check_hottest_loop(text, w, "-mavx512vnni", "vpdpbusd", tmp_path)


def test_words_hold_neighbours_and_zeros() -> None:
    data = np.arange(-3, 7, dtype="int8").reshape(2, 5)
    pack_words = word_kinds()[0].pack_data
    got = pack_words(data, 1)
    assert got.dtype == np.dtype("int32") and got.shape == (2, 2)
    np.testing.assert_array_equal(got.astype("<i4").view("int8").reshape(2, 8)[:, :5], data)
    assert not got.astype("<i4").view("int8").reshape(2, 8)[:, 5:].any()
    np.testing.assert_array_equal(pack_words(data.T, 0), got.T)


@pytest.mark.parametrize("mcpu", ["cortex-m4", "cortex-m7", "cortex-m33"])
@pytest.mark.parametrize("case", ["dense", "padded", "one row"])
def test_the_hottest_loop_of_a_microcontroller(case: str, mcpu: str, tmp_path: Path) -> None:
    """Words are widened once for a tile, and the compiler keeps its sums in registers: at most two instructions for a product."""
    require(ARMV7[0], ARMV7[1])
    module, _, w = program(case, "int8", "int8")
    irtool.build(
        module, {"w": w}, name="m", emit="c", out_dir=tmp_path, mcpu=mcpu, cc=ARMV7[0], weights="file", cflags="-mthumb"
    )
    flags = [f"-mcpu={mcpu}", "-mthumb", "-std=c99", "-O3"]
    subprocess.run([ARMV7[0], *flags, "-S", "-o", "m.s", "m.c"], cwd=tmp_path, check=True)
    counts = [(sum("smlad" in x for x in lines), len(lines)) for lines in arm_loops((tmp_path / "m.s").read_text())]
    assert any(smlads >= 8 and length <= 2 * 2 * smlads for smlads, length in counts), counts


OF_THE_RUN = {
    "dense": ("nn.dense(%a, %b, units=96, out_dtype='int32')", (40, 128), (96, 128)),
    "odd sums": ("nn.dense(%a, %b, units=96, out_dtype='int32')", (150, 133), (96, 133)),
    "batches": ("nn.batch_matmul(%a, %b, transpose_b=True, out_dtype='int32')", (3, 40, 64), (3, 48, 64)),
    "padding": (
        "nn.conv2d(%a, %b, padding=[1, 1], channels=32, kernel_size=[3, 3], out_dtype='int32')",
        (1, 32, 14, 14),
        (32, 32, 3, 3),
    ),
}


@pytest.mark.parametrize("case", OF_THE_RUN)
def test_operands_of_the_run_have_their_sums_added_up(case: str) -> None:
    """Where an instruction takes unsigned numbers first, one operand is shifted, and a stage adds up the other one."""
    call, *shapes = OF_THE_RUN[case]
    types = [f"Tensor[{shape}, int8]" for shape in shapes]
    text = f'#[version = "0.0.5"]\ndef @main(%a: {types[0]}, %b: {types[1]}) {{ {call} }}'.replace("'", '"')
    module, rng = irtool.infer_types(irtool.parse(text)), np.random.default_rng(0)
    artifact = irtool.build(module)
    for low, high in ((-128, 128), (-128, -127), (127, 128)):
        inputs = [rng.integers(low, high, shape).astype("int8") for shape in shapes]
        np.testing.assert_array_equal(artifact.run(inputs), irtool.evaluate(module, inputs))
