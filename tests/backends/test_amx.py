"""Sums of products in matrix tiles (AMX): the same bits in tiles and in vectors, and what the loop means that tiles stand for.

`emulated_amx.h` has the instructions in plain C, by Intel's manual, for processors without them.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import irtool
from irtool.backends.toolchain.compiler import Compiler
from irtool.schedule.core.forms import Reduction
from irtool.schedule.instructions.matrix_tiles import choose_matrix_tiling
from irtool.schedule.strategies.matrix_tile.nest import nest_in_tiles
from irtool.tir.bf16_dot import dot2
from irtool.tir.expr import Var, const
from irtool.tir.int8_dot import dot
from irtool.tir.stmt import Buffer, PrimFunc, Scope, Store
from irtool.tir.vector_target import VectorTarget
from tests.backends.assembly import count, loops
from tests.backends.instructions import FLAGS, X86, require_processor
from tests.nests import run_nest

V = '#[version = "0.0.5"]\n'
HEADER = Path(__file__).with_name("emulated_amx.h")
MCPU = "x86-64-v4"
"""The least processor that runs the emulation."""
MACHINE = "byte_tiles=16,pair_tiles=16,blocked_updates=1,multiply_adds=1,loads=1"
"""A processor for which tiles pay in small layers too: one whose vectors are half as fast as others'. Schedules of `native` follow the
machine that the tests run on."""
TILES = VectorTarget(64, 32, byte_tiles=16, pair_tiles=16)
BYTES = [("uint8", "int8"), ("int8", "uint8"), ("int8", "int8"), ("uint8", "uint8")]
PAIRS = ("bfloat16", "bfloat16")
emulated = pytest.mark.skipif(
    "avx512bw" not in FLAGS or not shutil.which("gcc"), reason="AVX-512 and gcc run AMX's emulation"
)


def numbers(dtype: str, shape: Sequence[int], seed: int) -> np.ndarray:
    """Of bytes, every third number is an extreme one."""
    g = np.random.default_rng(seed)
    if dtype == "bfloat16":
        return (g.standard_normal(shape) * 2.0 ** g.integers(-8, 8, shape)).astype(ml_dtypes.bfloat16)
    limits = np.iinfo(dtype)
    random = g.integers(limits.min, limits.max + 1, shape)
    return np.where(g.random(shape) < 1 / 3, g.choice([limits.min, limits.max], shape), random).astype(dtype)


# -- the meaning -------------------------------------------------------------------------------------------------------


def product_of(rows: int, columns: int, words: int, kinds: tuple[str, str]) -> tuple[Reduction, list[Buffer]]:
    """A product of a matrix of words and one of weights."""
    out_dtype = "float32" if kinds == PAIRS else "int32"
    x, w = Buffer("x", (rows, words), "int32", Scope.PARAM), Buffer("w", (words, columns), "int32", Scope.PARAM)
    out, acc = Buffer("out", (rows, columns), out_dtype, Scope.PARAM), Buffer("acc", (), out_dtype, Scope.LOCAL)
    i, j, k = Var("i"), Var("j"), Var("k")
    product = dot2(x[i, k], w[k, j]) if kinds == PAIRS else dot(x[i, k], w[k, j], kinds)
    zero = const(0.0, "float32") if kinds == PAIRS else const(0)
    loops = ((i, rows), (j, columns))
    r = Reduction(loops, acc, zero, ((k, words),), acc.element() + product, (Store(out, (i, j), acc.element()),))
    return r, [x, w, out]


def in_words(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view("int32")


def in_tiles(x: np.ndarray, w: np.ndarray, steps: int) -> np.ndarray:
    """What Intel's manual says that TDPBF16PS gives: sums of first and of second numbers, of so many words; every product is exact."""
    a, b = x.astype("float32"), w.astype("float32")
    total = np.zeros((a.shape[0], b.shape[1]), "float32")
    for position in range(0, a.shape[1], 2 * steps):
        parts = [np.zeros_like(total), np.zeros_like(total)]
        for k in range(position, position + 2 * steps):
            parts[k % 2] += np.multiply.outer(a[:, k], b[k])
        total += parts[0] + parts[1]
    return total


@pytest.mark.parametrize("kinds", [*BYTES, PAIRS], ids="-".join)
@pytest.mark.parametrize(("rows", "columns", "words"), [(32, 32, 16), (33, 48, 32), (7, 64, 24), (49, 16, 16)], ids=str)
def test_the_loop_that_tiles_stand_for(kinds: tuple[str, str], rows: int, columns: int, words: int) -> None:
    r, (x, w, out) = product_of(rows, columns, words, kinds)
    tiling = choose_matrix_tiling(r, TILES)
    assert tiling is not None and tiling.numbers == kinds
    each = 2 if kinds == PAIRS else 4
    data, weights = numbers(kinds[0], (rows, words * each), 1), numbers(kinds[1], (words * each, columns), 2)
    packed = np.ascontiguousarray(weights.reshape(words, each, columns).swapaxes(1, 2))
    nest = PrimFunc("product", [x, w, out], nest_in_tiles(r, tiling, TILES, True))
    got = run_nest(nest, [in_words(data), in_words(packed).reshape(words, columns)])[0]
    result = np.asarray(got).reshape(rows, columns)
    if kinds == PAIRS:  # sums are in double precision here
        want = in_tiles(data, weights, tiling.steps)
        np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-6 * float(np.abs(want).max()))
    else:
        np.testing.assert_array_equal(result, (data.astype("int64") @ weights.astype("int64")).astype("int32"))


@pytest.mark.parametrize("kinds", [BYTES[0], PAIRS], ids="-".join)
def test_only_sums_of_floats_are_bounded(kinds: tuple[str, str]) -> None:
    """4,096 additions to an element of a tile, one behind the other, have half of the error that as many roundings in one direction have;
    longer sums of floats are left to vectors, whose sums are made in blocks."""
    each = 2 if kinds == PAIRS else 4
    longest, longer = (choose_matrix_tiling(product_of(16, 16, n // each, kinds)[0], TILES) for n in (1 << 17, 1 << 18))
    assert longest is not None and (longer is None) == (kinds == PAIRS)
    if kinds == PAIRS:
        x, w = positive("bfloat16", (16, 1 << 17), 0), positive("bfloat16", (1 << 17, 16), 1)
        assert longest.additions(product_of(16, 16, 1 << 16, kinds)[0]) == 4096
        want = x.astype("float64") @ w.astype("float64")
        assert np.abs(in_tiles(x, w, longest.steps) / want - 1).max() < 4096 * 2**-24 / 2


# -- in C --------------------------------------------------------------------------------------------------------------

DENSE = "nn.dense(%x, %w, units=None, out_dtype=$)"
NEXT = {"uint8": 'cast(right_shift(%0, 9), dtype="uint8")', "int8": 'cast(right_shift(%0, 9), dtype="int8")'}
CASES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    "whole tiles": (DENSE, (64, 128), (64, 128)),
    "odd rows and columns": (DENSE, (40, 148), (88, 148)),
    "a tail of columns": (DENSE, (33, 192), (1000, 192)),
    "few rows": (DENSE, (5, 256), (176, 256)),
    "a row more than a tile": (DENSE, (17, 67), (32, 67)),
    "behind a window": ("nn.conv2d(%x, %w, strides=[2, 2], out_dtype=$)", (1, 48, 19, 23), (48, 48, 2, 2)),
    "padded": ("nn.conv2d(%x, %w, padding=[1, 1], out_dtype=$)", (1, 64, 9, 7), (64, 64, 3, 3)),
    "rows of an image": ("nn.conv2d(%x, %w, padding=[1, 1], out_dtype=$)", (1, 64, 14, 14), (40, 64, 3, 3)),
    "groups": ("nn.conv2d(%x, %w, groups=4, padding=[1, 1], out_dtype=$)", (1, 64, 8, 8), (64, 16, 3, 3)),
    "strided": ("nn.conv2d(%x, %w, strides=[2, 2], padding=[1, 1], out_dtype=$)", (2, 64, 15, 15), (64, 64, 3, 3)),
}  # fmt: skip


def module_of(case: str, kinds: tuple[str, str]) -> tuple[irtool.Module, np.ndarray, np.ndarray]:
    """A convolution stands before a 1 x 1 one, as layouts are those between the layers of a network."""
    call, data, weights = CASES[case]
    out = "float32" if kinds == PAIRS else "int32"
    first = call.replace("$", f'"{out}"')
    lines = first
    if "conv" in call:
        narrow = 'cast(%0, dtype="bfloat16")' if kinds == PAIRS else NEXT[kinds[0]]
        again = f'nn.conv2d({narrow}, %v, out_dtype="{out}")'
        lines = f"%0 = {first};\n  {again}"
    more = f", %v: Tensor[({weights[0]}, {weights[0]}, 1, 1), {kinds[1]}]" if "conv" in call else ""
    text = f"{V}def @main(%x: Tensor[{data}, {kinds[0]}], %w: Tensor[{weights}, {kinds[1]}]{more}) {{\n  {lines}\n}}"
    return irtool.parse(text), numbers(kinds[0], data, 3), numbers(kinds[1], weights, 4)


class Program:
    """A module as a library with tiles, emulated or not, and its counters."""

    def __init__(
        self, case: str, kinds: tuple[str, str], folder: Path, cflags: str, mcpu: str = MCPU, **options: Any
    ) -> None:
        self.module, self.x, w = module_of(case, kinds)
        self.params = {"w": w}
        if "conv" in CASES[case][0]:
            self.params["v"] = numbers(kinds[1], (w.shape[0], w.shape[0], 1, 1), 5)
        self.folder = folder
        target = f"c{{{MACHINE},parallel_updates=1}}"
        artifact = irtool.build(
            self.module,
            self.params,
            name="m",
            out_dir=folder,
            target=target,
            weights="inline",
            cflags=cflags,
            mcpu=mcpu,
            **options,
        )
        self.strategies = [s["strategy"] for k in artifact.report["kernels"] for s in k["stages"]]
        self.out = artifact.report["outputs"][0]

    def reference(self) -> np.ndarray:
        return np.asarray(irtool.evaluate(self.module, {"x": self.x, **self.params}))

    def run(self, times: int = 0) -> tuple[np.ndarray, int]:
        """The result, of a fresh copy of the library, and how many instructions added products. All registers are given back."""
        copy = shutil.copy(self.folder / "m.so", self.folder / f"run{times}.so")
        library = ctypes.CDLL(str(copy))
        result = np.zeros(self.out["shape"], self.out["dtype"])
        x = np.ascontiguousarray(self.x)
        assert library.m_run(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(result.ctypes.data)) == 0
        assert ctypes.c_long.in_dll(library, "emulated_open").value == 0
        return result, ctypes.c_long.in_dll(library, "emulated_products").value


@emulated
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kinds", [BYTES[0], PAIRS], ids="-".join)
def test_tiles_and_vectors_give_the_same_bits(
    case: str, kinds: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(case, kinds, tmp_path, f"-include {HEADER} -O1", cc="gcc", openmp=case in ("padded", "few rows"))
    assert "amx_tile" in program.strategies
    check_both(program, kinds, monkeypatch)


@emulated
@pytest.mark.parametrize("kinds", BYTES[1:], ids="-".join)
def test_every_sign(kinds: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program("whole tiles", kinds, tmp_path, f"-include {HEADER} -O1", cc="gcc")
    check_both(program, kinds, monkeypatch)


def check_both(program: Program, kinds: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMULATED_AMX", raising=False)
    tiles, products = program.run(0)
    monkeypatch.setenv("EMULATED_AMX", "refused")
    vectors, none = program.run(1)
    assert products > 0 and none == 0
    np.testing.assert_array_equal(tiles, vectors)
    if kinds == PAIRS:
        want = program.reference()
        np.testing.assert_allclose(tiles, want, rtol=2e-2, atol=2e-2 * float(np.abs(want).max()))
    else:
        np.testing.assert_array_equal(tiles, program.reference())


@emulated
def test_pairs_are_summed_as_the_manual_says(tmp_path: Path) -> None:
    program = Program("whole tiles", PAIRS, tmp_path, f"-include {HEADER} -O1", cc="gcc")
    want = in_tiles(program.x, np.ascontiguousarray(program.params["w"].T), 16)
    np.testing.assert_array_equal(program.run()[0], want)


@emulated
@pytest.mark.parametrize("count", [1 << 17, 1 << 18])
def test_long_sums_of_floats_keep_their_digits(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile adds up to 4,096 sums of 32 products; what is longer stays in vectors, whose sums are made in blocks."""
    monkeypatch.setitem(CASES, "long", (DENSE, (16, count), (16, count)))
    monkeypatch.setattr("tests.backends.test_amx.numbers", positive)
    program = Program("long", PAIRS, tmp_path, f"-include {HEADER} -O1", cc="gcc")
    tiles, products = program.run()
    assert ("amx_tile" in program.strategies) == (products > 0) == (count <= 1 << 17)
    want = program.x.astype("float64") @ program.params["w"].astype("float64").T
    assert np.abs(tiles / want - 1).max() < 4096 * 2**-24 / 2


def positive(dtype: str, shape: Sequence[int], seed: int) -> np.ndarray:
    """Numbers whose sums round in one direction for long."""
    return np.random.default_rng(seed).uniform(0.5, 1, shape).astype(ml_dtypes.bfloat16)


@emulated
def test_long_sums_wrap_in_tiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """65,025 times 40,000 is more than an int32 holds."""
    monkeypatch.setitem(CASES, "long", (DENSE, (16, 40000), (16, 40000)))
    program = Program("long", ("uint8", "uint8"), tmp_path, f"-include {HEADER} -O1", cc="gcc")
    program.x[:] = 255
    assert "amx_tile" in program.strategies
    tiles, products = program.run()
    assert products
    want = program.x.astype("int64") @ program.params["w"].astype("int64").T
    np.testing.assert_array_equal(tiles, want.astype("int32"))


@pytest.mark.parametrize(
    ("case", "kinds"),
    [("whole tiles", BYTES[0]), ("padded", BYTES[0]), ("odd rows and columns", PAIRS)],
    ids=["whole-int8", "padded-int8", "odd-bfloat16"],
)
def test_plain_code_gives_the_same_bits(case: str, kinds: tuple[str, str], tmp_path: Path) -> None:
    """The loops that tiles stand for, for compilers without vectors."""
    require_processor(MCPU)
    module, x, w = module_of(case, kinds)
    params = {"w": w, **({"v": numbers(kinds[1], (w.shape[0],) * 2 + (1, 1), 5)} if "conv" in CASES[case][0] else {})}
    target = f"c{{{MACHINE}}}"
    plain = "-DIRT_NO_VECTOR -DIRT_NO_NOTICE"
    artifacts = [irtool.build(module, params, target=target, mcpu=MCPU, cflags=f) for f in ("", plain)]
    assert any(s["strategy"] == "amx_tile" for k in artifacts[0].report["kernels"] for s in k["stages"])
    np.testing.assert_array_equal(*(np.asarray(m.run([x])) for m in artifacts))


# -- compilers and processors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("kinds", "instruction"), [(BYTES[0], "tdpbusd"), (PAIRS, "tdpbf16ps")], ids=["int8", "bfloat16"]
)
def test_the_inner_loop_has_a_load_for_each_product(
    cc: str, kinds: tuple[str, str], instruction: str, tmp_path: Path
) -> None:
    """Four products of tiles for four loads, nothing else but numbers of places."""
    if not X86 or not shutil.which(cc):
        pytest.skip(f"no {cc} for x86-64")
    text = f'{V}def @main(%x: Tensor[(64, 2048), {kinds[0]}], %w: Tensor[(64, 2048), {kinds[1]}]) {{ nn.dense(%x, %w, units=64, out_dtype="{"float32" if kinds == PAIRS else "int32"}") }}'
    options = {"mcpu": "sapphirerapids", "cc": cc, "weights": "file"}
    artifact = irtool.build(
        irtool.parse(text), {"w": numbers(kinds[1], (64, 2048), 1)}, name="m", emit="c", out_dir=tmp_path, **options
    )
    line = artifact.report["compile"].split(" -c ")[0].split()
    warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-psabi"]
    subprocess.run([*line, *warnings, "-S", "-o", "m.s", "m.c"], cwd=tmp_path, check=True)
    hottest = max(loops((tmp_path / "m.s").read_text()), key=lambda loop: count(rf"\b{instruction}\b", loop))
    products = count(rf"\b{instruction}\b", hottest)
    assert products >= 4 and products == count(r"\btileloadd\b", hottest), hottest
    assert not count(r"%[xyz]mm\d|call|%r[sb]p", hottest), hottest
    assert len(hottest) <= 8 * products, hottest


def test_which_processors_have_tiles() -> None:
    if not X86 or not shutil.which("gcc"):
        pytest.skip("gcc for x86-64 knows these processors")
    tiles = {name: Compiler("gcc", name).machine() for name in ("sapphirerapids", "x86-64-v4", "znver3")}
    assert [(m.byte_tiles, m.pair_tiles) for m in tiles.values()] == [(16, 16), (1, 1), (1, 1)]


def test_one_row_stays_in_vectors() -> None:
    text = f'{V}def @main(%x: Tensor[(1, 256), uint8], %w: Tensor[(256, 256), int8]) {{ nn.dense(%x, %w, units=256, out_dtype="int32") }}'
    artifact = irtool.build(
        irtool.parse(text), {"w": numbers("int8", (256, 256), 1)}, target="c{byte_tiles=16}", mcpu=MCPU, emit="c"
    )
    assert all(s["strategy"] != "amx_tile" for k in artifact.report["kernels"] for s in k["stages"])


@pytest.mark.parametrize("extent", [16, 14, 13, 8])
def test_results_contiguous_along_rows_are_transposed(extent: int) -> None:
    """The last convolution of a network gives planes of channels; vectors of 16 rows, or of powers of two, store them."""
    shape, weights = (1, 64, extent, extent), (64, 64, 3, 3)
    call = 'nn.conv2d(%x, %w, padding=[1, 1], out_dtype="int32")'
    text = f"{V}def @main(%x: Tensor[{shape}, uint8], %w: Tensor[{weights}, int8]) {{ {call} }}"
    artifact = irtool.build(
        irtool.parse(text), {"w": numbers("int8", weights, 1)}, target=f"c{{{MACHINE}}}", mcpu=MCPU, emit="c"
    )
    (kernel,) = artifact.report["kernels"]
    assert kernel["strategy"] == "amx_tile" and ", transposed," in kernel["reason"]


@pytest.mark.parametrize("kinds", [*BYTES, PAIRS], ids="-".join)
def test_on_a_processor_with_tiles(kinds: tuple[str, str], tmp_path: Path) -> None:
    if "amx_tile" not in FLAGS or not shutil.which("gcc"):
        pytest.skip("this processor has no AMX; its instructions were compiled, and emulated")
    for case in CASES:
        (tmp_path / case).mkdir()
        check_natively(case, kinds, tmp_path / case)


def check_natively(case: str, kinds: tuple[str, str], tmp_path: Path) -> None:
    """Bytes give what the interpreter does, bfloat16 numbers what the emulation does."""
    program = Program(case, kinds, tmp_path, "", cc="gcc", mcpu="sapphirerapids")
    library = ctypes.CDLL(str(tmp_path / "m.so"))
    got = np.zeros(program.out["shape"], program.out["dtype"])
    x = np.ascontiguousarray(program.x)
    assert library.m_run(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(got.ctypes.data)) == 0
    if kinds != PAIRS:
        np.testing.assert_array_equal(got, program.reference())
        return
    other = tmp_path / "emulated"
    other.mkdir()
    want, products = Program(case, kinds, other, f"-include {HEADER}", cc="gcc", mcpu="sapphirerapids").run()
    assert products
    np.testing.assert_array_equal(got, want)


def test_no_copy_of_rows_that_tiles_read() -> None:
    """What a product of heads writes has its columns side by side, as the layer behind it reads them, and not blocks of rows."""
    text = f"""{V}def @main(%x: Tensor[(4, 32, 64), float32], %y: Tensor[(4, 16, 64), float32], %w: Tensor[(64, 64), bfloat16]) {{
      %0 = nn.batch_matmul(%x, %y, transpose_b=True);
      %1 = reshape(transpose(%0, axes=[1, 0, 2]), newshape=[32, 64]);
      nn.dense(cast(%1, dtype="bfloat16"), %w, units=64, out_dtype="float32")
    }}"""
    w = numbers("bfloat16", (64, 64), 1)
    target = "c{pair_tiles=16,blocked_updates=1}"
    artifact = irtool.build(irtool.parse(text), {"w": w}, target=target, mcpu="x86-64-v4", emit="c")
    assert [s["strategy"] for s in artifact.report["kernels"][-1]["stages"]] == ["amx_tile"]
