"""Every row of `backends.instructions` against the loop nest that it means, by its text in C and by that in LLVM IR.

A row is compiled by any compiler here that knows its instruction sets, and run where the processor has them, or an emulator does.
Instructions on matrix tiles, of which no emulator knows, run by the definitions of `emulated_amx.h`.
"""

from __future__ import annotations

import functools
import math
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from string import Template

import ml_dtypes
import numpy as np
import pytest

from irtool.backends.c.wasm.tools import find_compiler
from irtool.backends.formulas import support, vector_math, vector_types
from irtool.backends.formulas.vector_types import vector_type
from irtool.backends.instructions.listing import choices, choose, row_sets, rows
from irtool.backends.instructions.row import ARCHITECTURES, SUMS, TILES, Form, Row, meaning
from irtool.backends.llvm.instructions import define_by_instruction
from irtool.backends.llvm.small_c.types import Type
from irtool.backends.llvm.tools import Clang
from irtool.backends.toolchain.compiler import read_macros, vectors_of
from irtool.backends.toolchain.described import instruction_sets
from irtool.schedule.core.affine import loads
from irtool.selection.tiles import configuration
from irtool.tir.bf16_dot import DOT_PAIR
from irtool.tir.forms import Reduction, nest_of
from irtool.tir.int8_dot import DOTS, MATRICES, NARROW, TILE
from irtool.tir.stmt import PrimFunc
from tests.backends.dots import narrowed, numbers
from tests.backends.instructions import ARM, ARMV7, FLAGS, X86
from tests.nests import run_nest

GIVEN = {
    "x86_64": {"__SSE2__"},
    "aarch64": {"__AARCH64EL__", "__ARM_NEON"},
    "arm": {"__GNUC__", "!__ARM_BIG_ENDIAN"},
    "wasm32": set(),
}
"""Macros that every compiler of an architecture defines."""
OTHERS = {"__SSE2__": "sse2", "__wasm_simd128__": "simd128", "__wasm_relaxed_simd__": "relaxed-simd"}
OF_ARM = {
    "__ARM_FEATURE_SIMD32": [ARMV7[0], "-march=armv7-a+fp", "-marm"],
    "__ARM_FEATURE_MVE": ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mfloat-abi=hard"],
}
"""Compilers for 32-bit Arm, by macro."""
SIZE = 64
"""Bytes of the largest operand."""
FACTS = [
    "paired_products",
    "wide_products",
    "native_halves",
    "product_rows",
    "summed_products",
    "word_products",
    "byte_tiles",
    "pair_tiles",
]
V3 = "__x86_64__ __SSE2__ __AVX__ __AVX2__"
V4 = f"{V3} __AVX512F__ __AVX512BW__ __AVX512VL__"
NEON = "__aarch64__ __ARM_NEON __AARCH64EL__"
CALLS = 24
"""Calls of a function."""

WAYS = [
    (n, lanes, every)
    for n, row in enumerate(rows())
    for lanes, alternatives in row.when.items()
    for every in alternatives
    if row.rows < TILE
]
TILED = [(row, form) for row in rows() for form in row.forms if row.rows == TILE]
NAMES = [
    f"{''.join(filter(str.isalnum, rows()[n].instruction))}-{32 * lanes}-{'+'.join(every).replace('_', '')}"
    for n, lanes, every in WAYS
]


def options(row: Row, every: tuple[str, ...]) -> list[str]:
    """Options of a compiler that make it define these macros."""
    by_macro = {s.macro: s.option for s in instruction_sets().values() if s.architecture == row.architecture}
    names = [by_macro.get(m) or OTHERS[m] for m in every if m not in GIVEN[row.architecture]]
    if row.architecture == "aarch64":
        return ["-march=" + "+".join(["armv8.2-a", *names])]
    baseline = ["-march=x86-64"] if row.architecture == "x86_64" else []
    return [*baseline, *(f"-m{o}" for o in names)]


@functools.cache
def clang(architecture: str) -> str:
    """A clang that compiles LLVM IR; empty if there is none."""
    clang = Clang.find("", "none", "", False, "")
    return clang.compiler.command[0] if clang else ""


def compilers(row: Row, every: tuple[str, ...]) -> list[list[str]]:
    """The C compilers here that know these instruction sets, as commands."""
    if row.architecture == "arm":
        command = next(c for m, c in OF_ARM.items() if m in every)
        return [command] if shutil.which(command[0]) and defines(command, every) else []
    flags = options(row, every)
    if row.architecture == "wasm32":
        command = find_compiler("")
        return [[*command, *flags]] if command is not None and defines([*command, *flags], every) else []
    here = [[c, *flags] for c in ("gcc", "clang", clang("x86_64")) if c and shutil.which(c)] if X86 else []
    cross = [[ARM[0], *flags]] if shutil.which(ARM[0]) else []
    compilers = here if row.architecture == "x86_64" else cross
    return [c for c in dict.fromkeys(map(tuple, compilers)) for c in [list(c)] if defines(c, every)]


def defines(command: list[str], every: tuple[str, ...]) -> bool:
    macros = read_macros(tuple(command))[0]
    return bool(macros) and all((f" {m.lstrip('!')} " in macros) == (m[0] != "!") for m in every)


def emulator(row: Row, every: tuple[str, ...]) -> list[str]:
    """The command that runs a program. Skips the test where there is none."""
    if row.architecture == "arm":
        if "__ARM_FEATURE_MVE" in every or not shutil.which(ARMV7[1].split()[0]):
            pytest.skip("no emulator of it here: the text was compiled")
        return ARMV7[1].split()
    if row.architecture == "wasm32":
        pytest.importorskip("wasmtime")
        return [sys.executable, str(Path(__file__).with_name("wasi.py"))]
    if row.architecture == "aarch64":
        if not shutil.which(ARM[1].split()[0]):
            pytest.skip("no emulator of Arm's processors: the text was compiled")
        return ARM[1].split()
    flags = {s.macro: s.flag for s in instruction_sets().values()}
    missing = [flags[m] for m in every if m not in GIVEN["x86_64"] and flags[m] not in FLAGS]
    if missing:
        pytest.skip(f"this processor has no {missing[0]}: the text was compiled")
    return []


def types(form: Form, lanes: int) -> tuple[tuple[str, int], tuple[str, int]]:
    """The types of accumulators and of operands: dtype and lanes."""
    if form.function in SUMS:
        return ("int32", 1), ("uint8", 16)
    acc = "float32" if form.function == DOT_PAIR else "int32"
    return (acc, lanes), ("int64", lanes // 2) if form.function in MATRICES else ("int32", lanes)


def defined(form: Form, lanes: int) -> list[str]:
    """Definitions of the vectors that a text is of."""
    vectors = dict.fromkeys([*types(form, lanes), ("int32", lanes), ("uint32", lanes)])
    scalars = [f"typedef {d}_t {vector_type(d, 1)}, {vector_type(d, 1)}_u;" for d, n in vectors if n == 1]
    return [*scalars, *(vector_types.define_type(d, n) for d, n in vectors if n > 1)]


def operands(row: Row, form: Form, lanes: int) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Accumulators, operands in the order of their bytes, and the sums that the row's meaning gives: 2-D, a line for each call."""
    nest = meaning(form.function)
    count = types(form, lanes)[0][1]
    shape = (CALLS, row.rows if row.rows > 1 else count, nest.inner[-1][1])
    if form.function == DOT_PAIR:  # sums of whole numbers are exact in any order; see test_pairs for the order
        return pairs_of(nest, shape)
    acc = np.random.default_rng(1).integers(-(2**31), 2**31, (CALLS, count)).astype("int32")
    acc[::5], acc[1::5] = 2**31 - 1, -(2**31)
    a, b = (x.source for x in factors(nest))
    x, y = (numbers(buffer.dtype, int(np.prod(shape)), n).reshape(shape) for n, buffer in enumerate((a, b), 2))
    # Extreme words in both operands at once: where sums of 16 bits would saturate, and where they wrap.
    for n, (low, high) in enumerate(product((np.min, np.max), repeat=2)):
        x[n], y[n] = (
            f(np.iinfo(z.dtype).min if f is np.min else np.iinfo(z.dtype).max) for f, z in ((low, x), (high, y))
        )
    if form.function == NARROW:
        y = narrowed(y)
    if row.rows > 1:
        sums = np.stack([by_the_nest(nest, i, j) for i, j in zip(x, y, strict=True)]).reshape(CALLS, lanes)
    else:
        sums = np.array(
            [[by_the_nest(nest, i, j)[()] for i, j in zip(u, v, strict=True)] for u, v in zip(x, y, strict=True)]
        )
    return acc, [x, y], (acc.astype("int64") + sums).astype("int32")


def pairs_of(nest: Reduction, shape: tuple[int, ...]) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """The same of whole numbers of bfloat16."""
    g = np.random.default_rng(1)
    x, y = (g.integers(-128, 129, shape).astype(ml_dtypes.bfloat16) for _ in range(2))
    acc = g.integers(-1000, 1000, shape[:-1]).astype("float32")
    sums = np.array(
        [[by_the_nest(nest, i, j)[()] for i, j in zip(u, v, strict=True)] for u, v in zip(x, y, strict=True)]
    )
    return acc, [x, y], (acc + sums).astype("float32")


def factors(nest: Reduction) -> list:
    return sorted((e for e in loads(nest.update) if e.source is not nest.acc), key=lambda e: e.source.name)


def by_the_nest(nest: Reduction, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The results of a nest, run by the interpreter."""
    (store,) = nest.stores
    function = PrimFunc("dot", [*(e.source for e in factors(nest)), store.buffer], nest_of(nest))
    return np.asarray(run_nest(function, [a, b])[0])


def text_of(row: Row, form: Form, lanes: int) -> str:
    """The function by this row alone."""
    acc, operand = (vector_type(*t) for t in types(form, lanes))
    words = {"t": acc, "u": f"irt_u32x{lanes}", "lanes": str(lanes), **row.words.get(lanes, {})}
    body = Template(form.c).substitute(words)
    return f"#if !({row.condition(lanes)})\n#error no such instructions\n#endif\nIRT_INLINE {acc} by_row({acc} acc, {operand} a, {operand} b) {{\n{body}\n}}"


DRIVER = """
static char d[$CALLS][3][$size], y[$CALLS][$size];
int main(void) {
  int k;
  if (fread(d, 1, sizeof d, stdin) != sizeof d) return 1;
  for (k = 0; k < $CALLS; ++k) one(d[k][0], d[k][1], d[k][2], y[k]);
  return fwrite(y, 1, sizeof y, stdout) != sizeof y;
}
"""


def driver() -> str:
    return Template(DRIVER).substitute(CALLS=CALLS, size=SIZE)


def check(row: Row, form: Form, lanes: int, command: list[str], folder: Path) -> None:
    """Runs the program, and compares its results with those of the meaning."""
    acc, arguments, want = operands(row, form, lanes)
    data = b"".join(x[k].tobytes().ljust(SIZE, b"\0") for k in range(CALLS) for x in (acc, *arguments))
    got = subprocess.run([*command, "./program"], input=data, cwd=folder, capture_output=True, check=True).stdout
    results = np.frombuffer(got, want.dtype).reshape(CALLS, -1)[:, : want.shape[1]]
    np.testing.assert_array_equal(results, want, str((form.function, lanes)))


@pytest.mark.parametrize(("n", "lanes", "every"), WAYS, ids=NAMES)
def test_the_text_in_c_computes_what_the_row_means(n: int, lanes: int, every: tuple[str, ...], tmp_path: Path) -> None:
    row = rows()[n]
    known = compilers(row, every)
    if not known:
        pytest.skip(f"no compiler here defines {' '.join(every)}")
    for command in known:
        for form in row.forms:
            acc, operand = (vector_type(*t) for t in types(form, lanes))
            pieces = defined(form, lanes)
            if form.function in SUMS:
                pieces = ["#include <arm_mve.h>", pieces[0], f"typedef uint8x16_t {operand}, {operand}_u;"]
            call = f"by_row(*(const {acc}_u *)acc, *(const {operand}_u *)a, *(const {operand}_u *)b)"
            one = (
                f"static void one(const void *acc, const void *a, const void *b, void *y) {{ *({acc}_u *)y = {call}; }}"
            )
            lines = [*(f"#include <{h}.h>" for h in ("stdint", "stdio", "string")), *support.INLINE, *pieces]
            (tmp_path / "program.c").write_text("\n".join([*lines, text_of(row, form, lanes), one, driver()]))
            flags = [
                "-std=c99",
                "-O2",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-pedantic",
                "-Wno-psabi",
                "-Wno-unused-command-line-argument",
            ]
            whole = [*command, *flags, *(["-static"] if row.architecture in ("aarch64", "arm") else []), "program.c"]
            subprocess.run([*whole, "-S", "-o", "program.s"], cwd=tmp_path, check=True)
            assert has((tmp_path / "program.s").read_text(), row)
            runs = runner(row, every)
            if runs is not None:
                subprocess.run([*whole, "-o", "program"], cwd=tmp_path, check=True)
                check(row, form, lanes, runs, tmp_path)
    emulator(row, every)


@pytest.mark.parametrize(("n", "lanes", "every"), WAYS, ids=NAMES)
def test_the_text_in_llvm_computes_what_the_row_means(
    n: int, lanes: int, every: tuple[str, ...], tmp_path: Path
) -> None:
    row = rows()[n]
    if row.architecture in ("arm", "wasm32"):
        pytest.skip("LLVM makes code for 64-bit processors only")
    if not clang(row.architecture):
        pytest.skip("no clang that compiles LLVM IR")
    target = [] if row.architecture == "x86_64" and X86 else [f"--target={row.architecture}-linux-gnu"]
    compiler = [clang(row.architecture), *target, *options(row, every)]
    if not defines(compiler, every):
        pytest.skip(f"this clang does not know {' '.join(options(row, every))}")
    for form in row.forms:
        wide = Type("i64", True, lanes // 2) if form.function in MATRICES else Type("i32", True, lanes)
        t = Type("float" if form.function == DOT_PAIR else "i32", True, lanes)
        lines, declared = define_by_instruction("by_row", row, form, lanes, t, wide)
        loaded = [f"  %{x} = load {k}, ptr %p{x}, align 1" for x, k in (("acc", t), ("a", wide), ("b", wide))]
        call = f"  %y = call {t} @by_row({t} %acc, {wide} %a, {wide} %b)"
        one = [
            "define void @one(ptr %pacc, ptr %pa, ptr %pb, ptr %py) {",
            *loaded,
            call,
            f"  store {t} %y, ptr %py, align 1",
        ]
        (tmp_path / "one.ll").write_text("\n".join([*declared, *lines, *one, "  ret void", "}", ""]))
        command = [*compiler, "-O2", "-Wno-override-module", "one.ll"]
        subprocess.run([*command, "-S", "-o", "one.s"], cwd=tmp_path, check=True)
        assert has((tmp_path / "one.s").read_text(), row)
        runs = runner(row, every)
        if runs is not None:
            head = "#include <stdio.h>\nvoid one(const void *, const void *, const void *, void *);\n"
            (tmp_path / "main.c").write_text(head + driver())
            subprocess.run([*command, "-c", "-o", "one.o"], cwd=tmp_path, check=True)
            linked = ["gcc"] if row.architecture == "x86_64" else [ARM[0], "-static"]
            subprocess.run([*linked, "main.c", "one.o", "-o", "program"], cwd=tmp_path, check=True)
            check(row, form, lanes, runs, tmp_path)
    emulator(row, every)


def has(assembly: str, row: Row) -> bool:
    return re.search(rf"\s({row.instruction})\s", assembly) is not None


def runner(row: Row, every: tuple[str, ...]) -> list[str] | None:
    """The command that runs a program; None where there is none."""
    try:
        return emulator(row, every)
    except pytest.skip.Exception:
        return None


@pytest.mark.parametrize(("n", "lanes", "every"), WAYS, ids=NAMES)
def test_the_chain_of_conditions_takes_the_row_that_is_chosen(
    n: int, lanes: int, every: tuple[str, ...], tmp_path: Path
) -> None:
    """C's preprocessor, LLVM's backend and the schedule choose alike."""
    row = rows()[n]
    for command, form in product(compilers(row, every), row.forms):
        chosen = choose(form.function, lanes, read_macros(tuple(command))[0])
        assert chosen is not None
        dtype = types(form, lanes)[0][0]
        acc, operand = (vector_type(*t) for t in types(form, lanes))
        if lanes == 1 or form.function in SUMS:
            texts, name = support.definitions([support.Helper(form.function)]), f"irt_{form.function}"
            operand = "irt_bytes" if form.function in SUMS else operand
        else:
            texts = [t for _, t in vector_math.define(form.function, dtype, lanes)]
            name = vector_math.c_name(form.function, dtype, lanes)
        one = f"void one(const {operand} *a, const {operand} *b, {acc} *y); void one(const {operand} *a, const {operand} *b, {acc} *y) {{ *y = {name}(*y, *a, *b); }}"
        (tmp_path / "f.c").write_text(
            "\n".join(["#include <stdint.h>", *support.INLINE, *defined(form, lanes), *texts, one])
        )
        subprocess.run([*command, "-std=c99", "-O2", "-S", "-Wno-psabi", "-o", "f.s", "f.c"], cwd=tmp_path, check=True)
        assembly = (tmp_path / "f.s").read_text()
        assert has(assembly, chosen[0])
        others = [r for r, _ in choices(form.function, lanes) if r is not chosen[0]]
        others = [r for r in others if not re.search(r.instruction, chosen[1].c)]  # it is a part of the text
        assert not any(has(assembly, r) for r in others)


def test_every_row_is_whole() -> None:
    for row in rows():
        assert row.architecture in ARCHITECTURES and row.when and row.forms
        for form in row.forms:
            # LLVM makes code for 64-bit processors only, and has no code for matrix tiles.
            has_llvm = row.architecture not in ("arm", "wasm32") and row.rows < TILE
            assert form.c and bool(form.llvm) == has_llvm, (row.instruction, form.function)
            nest = meaning(form.function)
            assert nest.inner[-1][1] in (
                row.depth,
                2 * row.depth,
            )  # twice: bytes by two instructions for pairs of 16 bits
    macros = [s.macro for s in row_sets()]
    assert len(set(macros)) == len(macros)


def test_of_several_rows_the_one_of_fewest_instructions_is_first() -> None:
    for function, lanes in product((*DOTS, *MATRICES, *SUMS, *TILES, DOT_PAIR), (1, 4, 8, 16)):
        for architecture in ARCHITECTURES:
            costs = [f.cost for r, f in choices(function, lanes) if r.architecture == architecture]
            assert costs == sorted(costs)


@pytest.mark.parametrize(
    ("macros", "costs", "facts"),
    [
        ("__x86_64__ __SSE2__", (6, 6, 6, 6), {"wide_products": 2}),
        ("__x86_64__ __SSE2__ __AVX__", None, {}),
        (f"{V3} __AVXVNNI__", (1, 2, 2, 1), {"wide_products": 2, "first_factor": "uint8"}),
        (f"{V3} __AVXVNNI__ __AVXVNNIINT8__", (1, 1, 1, 1), {"wide_products": 2}),
        (f"{V4} __AVX512VNNI__", (1, 2, 2, 1), {"wide_products": 2, "first_factor": "uint8"}),
        (f"{V4} __AVX512BF16__", (6, 6, 6, 3), {"wide_products": 2, "paired_products": 2}),
        (
            f"{V4} __AVX512VNNI__ __AMX_TILE__ __AMX_INT8__ __AMX_BF16__",
            (1, 2, 2, 1),
            {"wide_products": 2, "first_factor": "uint8", "byte_tiles": 16, "pair_tiles": 16},
        ),
        (f"{V4} __AMXTILE__ __AMXINT8__", (6, 6, 6, 3), {"wide_products": 2, "byte_tiles": 16}),
        (NEON, None, {}),
        (f"{NEON} __ARM_FEATURE_BF16_VECTOR_ARITHMETIC", None, {}),  # two instructions for two products
        (f"{NEON} __ARM_FEATURE_DOTPROD", (2, 1, 1, 2), {"first_factor": "int8"}),
        (f"{NEON} __ARM_FEATURE_DOTPROD __ARM_FEATURE_MATMUL_INT8", (1, 1, 1, 2), {"product_rows": 2}),
        ("__wasm__ __wasm_simd128__", (6, 6, 6, 6), {"wide_products": 2}),
        ("__wasm__ __wasm_simd128__ __wasm_relaxed_simd__", (4, 4, 6, 4), {"wide_products": 2}),
        ("__wasm__", None, {}),
        ("__GNUC__ __ARM_FEATURE_SIMD32", (4, 4, 4, 4), {"word_products": 2}),
        ("__GNUC__ __ARM_FEATURE_MVE", None, {"summed_products": 16}),
        ("__GNUC__ __ARM_ARCH_PROFILE 77", None, {}),
    ],
)
def test_what_schedules_know_follows_from_the_rows(
    macros: str, costs: tuple[int, ...] | None, facts: dict[str, int | str]
) -> None:
    """Instructions for a dot product of bytes of each pair of signs, then of narrow weights, and the facts that are not those of a core without instructions."""
    machine = vectors_of(f" {macros} ")
    assert tuple(machine.dot_cost(name) for name in DOTS) == (costs or (math.inf,) * 4)
    usual = dict.fromkeys(FACTS, 1) | {"first_factor": ""}
    assert {f: getattr(machine, f) for f in usual if getattr(machine, f) != usual[f]} == facts


@functools.cache
def tile_program(function: str) -> str:
    """A program that adds the products of two tiles to one of zeros."""
    kind = function.removeprefix("tiles_")
    config = ", ".join(map(str, configuration(TILE, TILE, False)))
    add = support.Helper("add_tiles", (kind, "1x1"))
    helpers = [support.TILES, support.Helper("clear_tiles", ("1x1",)), support.Helper("store_tiles", ("1x1",)), add]
    text = """
static unsigned char d[2][1024], y[1024];
int main(void) {
  static const uint8_t config[64] __attribute__((aligned(64))) = {$config};
  if (fread(d, 1, sizeof d, stdin) != sizeof d) return 1;
  irt_begin_tiles(config);
  irt_clear_tiles_1x1();
  $add(d[0], 64, d[1], 64);
  irt_store_tiles_1x1(y, 64, 1024);
  irt_end_tiles();
  return fwrite(y, 1, sizeof y, stdout) != sizeof y;
}
"""
    body = Template(text).substitute(config=config, add=add.name)
    return "\n".join(
        [*(f"#include <{h}.h>" for h in ("stdint", "stdio")), *support.INLINE, *support.definitions(helpers), body]
    )


@pytest.mark.parametrize(("row", "form"), TILED, ids=[f.function for _, f in TILED])
def test_tiles_compute_what_the_row_means(row: Row, form: Form, tmp_path: Path) -> None:
    if not X86 or not shutil.which("gcc"):
        pytest.skip("no gcc for x86-64")
    nest = meaning(form.function)
    shapes = [x.source for x in factors(nest)]
    g = np.random.default_rng(1)
    if form.function == "tiles_bf16":
        x, y = (g.integers(-16, 17, b.shape).astype(ml_dtypes.bfloat16) for b in shapes)
    else:
        x, y = (numbers(b.dtype, b.size, n).reshape(b.shape) for n, b in enumerate(shapes))
    want = by_the_nest(nest, x, y)
    (tmp_path / "p.c").write_text(tile_program(form.function))
    for every in row.when[16][:1]:
        subprocess.run(
            ["gcc", *options(row, every), "-std=c99", "-O1", "-S", "-o", "p.s", "p.c"], cwd=tmp_path, check=True
        )
        assert has((tmp_path / "p.s").read_text(), row)
    emulation = ["-include", str(Path(__file__).with_name("emulated_amx.h"))]
    subprocess.run(["gcc", *emulation, "-std=gnu99", "-O1", "-o", "p", "p.c", "-lm"], cwd=tmp_path, check=True)
    data = x.tobytes() + y.tobytes()
    got = subprocess.run(["./p"], input=data, cwd=tmp_path, capture_output=True, check=True).stdout
    np.testing.assert_array_equal(np.frombuffer(got, want.dtype).reshape(want.shape), want)
