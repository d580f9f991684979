"""Arithmetic on float16 in 16 bits: the bits of float32 that is rounded at once, by instructions and without, and nothing between them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.formulas import support, vector_halves, vector_math, vector_types
from irtool.backends.llvm.tools import Clang
from irtool.backends.toolchain.compiler import Compiler
from irtool.selection.vectors.types import VectorType
from irtool.tir.native_halves import HALF
from tests.backends.assembly import count, loops
from tests.backends.bundle import Bundle
from tests.backends.instructions import ARM, X86, Way, arm_loops, compile_program, require, run_program

ON_ARM_LLVM = "aarch64-linux-gnu"
FAST = ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
FP16 = ["-march=x86-64-v4", "-mavx512fp16", *FAST]
ON_ARM = ["-march=armv8.2-a+fp16", *FAST]
PATHS = {
    "portable": Way("gcc", "", ["-march=x86-64", *FAST], "", "", 8),
    "portable, two": Way("gcc", "", ["-march=x86-64", *FAST], "", "", 2),
    "AVX-512": Way("gcc", "", ["-march=x86-64-v4", *FAST], "avx512f", "", 32),
    "FP16 of 8 bytes": Way("gcc", "", FP16, "avx512_fp16", "vaddph.*xmm", 4),
    "FP16 of 16 bytes": Way("gcc", "", FP16, "avx512_fp16", "vaddph.*xmm", 8),
    "FP16 of 32 bytes": Way("gcc", "", FP16, "avx512_fp16", "vaddph.*ymm", 16),
    "FP16 of 64 bytes": Way("gcc", "", FP16, "avx512_fp16", "vaddph.*zmm", 32),
    "FP16 by clang": Way("clang", "", FP16, "avx512_fp16", "vaddph.*zmm", 32),
    "FP16 of 8 bytes by clang": Way("clang", "", FP16, "avx512_fp16", "", 4),
    "Arm without": Way(*ARM, ["-march=armv8.2-a", *FAST], "", "", 8),
    "Arm": Way(*ARM, ON_ARM, "", r"fadd\s+v\d+\.8h", 8),
    "Arm, 8 bytes": Way(*ARM, ON_ARM, "", r"fadd\s+v\d+\.4h", 4),
}


def keep(which: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """One of two numbers, bit by bit."""
    return lambda a, b: np.where(which(a, b), a.view("uint16"), b.view("uint16")).view(HALF)


def rounded(what: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """In float64, in which products are exact, rounded once."""
    return lambda *numbers: what(*(x.astype("float64") for x in numbers)).astype(HALF)


ROOTS: dict[str, Callable[..., np.ndarray]] = {"sqrt": rounded(np.sqrt), "fabs": np.abs}
PAIRS: dict[str, Callable[..., np.ndarray]] = {
    "add": rounded(np.add),
    "subtract": rounded(np.subtract),
    "multiply": rounded(np.multiply),
    "divide": rounded(np.divide),
    "min": keep(np.less),
    "max": keep(np.greater),
    "minimum": keep(lambda a, b: (a < b) | np.isnan(a)),
    "maximum": keep(lambda a, b: (a > b) | np.isnan(a)),
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}


def some() -> np.ndarray:
    """Numbers of every exponent, subnormal ones among them, with few and with many digits; zeros, infinities and NaN."""
    digits = np.array([0, 1, 2, 3, 0x155, 0x1FF, 0x200, 0x201, 0x2AA, 0x3FE, 0x3FF], "uint16")
    exponents = np.arange(32, dtype="uint16") << 10
    positive = (exponents[:, None] | digits).ravel()
    return np.concatenate([positive, positive | 0x8000]).astype("uint16").view(HALF)


def check(got: np.ndarray, want: np.ndarray, about: str) -> None:
    """Equal bits; of NaN, NaN."""
    same = (got.view("uint16") == want.view("uint16")) | (np.isnan(got) & np.isnan(want))
    assert same.all(), (about, got[~same][:5], want[~same][:5])


@pytest.mark.parametrize("path", PATHS)
def test_every_function_gives_the_bits_of_the_definition(path: str, tmp_path: Path) -> None:
    way = PATHS[path]
    require(way.cc, way.emulator)
    n = way.lanes
    every = np.arange(1 << 16, dtype="uint16").view(HALF)
    few = some()
    a, b = np.repeat(few, few.size), np.tile(few, few.size)
    a, b = (np.concatenate([x, np.roll(every, k)]) for x, k in ((a, 0), (b, 12345)))
    a, b = (np.resize(x, -(-x.size // 32) * 32) for x in (a, b))
    t, size = f"irt_f16x{n}", a.size
    functions = {k: text for name in (*ROOTS, *PAIRS) for k, text in vector_math.define(name, HALF, n)}
    lines = ["#include <math.h>", *support.definitions(vector_halves.HELPERS)]
    lines += [vector_types.define_type(d, n) for d in (HALF, "int16")]
    lines += [*functions.values(), f"static uint16_t a[{size}], b[{size}], y[{size}];", "int main(void) {", "  int k;"]
    lines += [f"  if (fread({x}, 2, {size}, stdin) != {size}) return 1;" for x in "ab"]
    for name in (*ROOTS, *PAIRS):
        operands = ", ".join(f"*({t}_u *)({x} + k)" for x in ("a" if name in ROOTS else "ab"))
        lines += [f"  for (k = 0; k < {size}; k += {n}) *({t}_u *)(y + k) = ({t})irt_v{name}_f16x{n}({operands});"]
        lines += [f"  fwrite(y, 2, {size}, stdout);"]
    compile_program(way, [*lines, "  return 0;\n}"], tmp_path)
    got = np.frombuffer(run_program(way, a.tobytes() + b.tobytes(), tmp_path), "uint16").reshape(-1, size)
    with np.errstate(all="ignore"):
        for row, (name, what) in zip(got, [*ROOTS.items(), *PAIRS.items()], strict=True):
            want = what(a) if name in ROOTS else what(a, b)
            if want.dtype == bool:
                np.testing.assert_array_equal(row, want * np.uint16(0xFFFF), name)
            else:
                check(row.view(HALF), want, name)


def test_other_vectors_have_texts_of_their_own() -> None:
    assert not vector_halves.written("max", VectorType("float32", 16))
    assert not vector_halves.written("h2f", VectorType(HALF, 16))


V = '#[version = "0.0.5"]\n'
CHAINS = {
    "sums": "nn.relu(add(%x, %y))",
    "a product and a sum": "subtract(add(multiply(%x, %y), %x), multiply(%y, %y))",
    "a quotient by a power of two and a sum": "add(divide(%x, 4f16), %y)",
    "roots": "clip(sqrt(abs(%x)), a_min=0.1f, a_max=6f)",
    "quotients": "maximum(divide(%x, %y), minimum(negative(%y), %x))",
    "choices": "where(less(%x, %y), %x, multiply(%y, %y))",
    "conditions": "logical_and(less_equal(%x, %y), not_equal(%x, 1f16))",
    "numbers of conditions": 'cast(equal(%x, %y), dtype="float16")',
    "functions": "multiply(%x, floor(add(%x, %y)))",
    "integers": 'cast(cast(clip(add(%x, %y), a_min=1f, a_max=99f), dtype="int32"), dtype="float16")',
    "widened": 'add(cast(add(%x, %y), dtype="float32"), 1f)',
    "largest of rows": "max(reshape(add(%x, %y), newshape=[-1, 77]), axis=[1])",
    "pooled": "nn.max_pool2d(reshape(%x, newshape=[1, 7, 11, -1]), pool_size=[3, 3], strides=[2, 2], padding=[1, 1])",
    "broadcast": "add(multiply(reshape(%x, newshape=[7, 11, -1]), reshape(%y, newshape=[7, 11, -1])), 3f16)",
}
COUNT = 77 * 160


def chain(name: str) -> tuple[irtool.Module, list[np.ndarray]]:
    declared = f"Tensor[({COUNT}), float16]"
    g = np.random.default_rng(0)
    some_of = some()[some() != 0]  # what is largest of zeros of both signs depends on the order
    x, y = (some_of[g.integers(0, some_of.size, COUNT)] for _ in range(2))
    if name == "largest of rows" or name == "pooled":
        x, y = (np.nan_to_num(v, nan=1.0) for v in (x, y))
    return irtool.infer_types(irtool.parse(f"{V}def @main(%x: {declared}, %y: {declared}) {{ {CHAINS[name]} }}")), [
        x,
        y,
    ]


def expected(name: str) -> np.ndarray:
    module, inputs = chain(name)
    with np.errstate(all="ignore"):
        return np.asarray(irtool.evaluate(module, inputs[: len(module["main"].params)]))


def check_chain(name: str, got: np.ndarray) -> None:
    want = expected(name)
    if want.dtype == HALF:
        check(np.asarray(got).ravel(), want.ravel(), name)
    else:
        np.testing.assert_array_equal(np.asarray(got).astype(want.dtype), want)


@pytest.mark.parametrize("name", CHAINS)
def test_chains_without_the_instructions(name: str) -> None:
    """What is made for them runs without."""
    module, inputs = chain(name)
    for mcpu in ("native", "x86-64-v2") if X86 else ("native",):
        check_chain(name, np.asarray(irtool.build(module, target="c{native_halves=2}", mcpu=mcpu).run(inputs)))
    if Clang.find("", "native", "", False, "") is not None:
        check_chain(name, np.asarray(irtool.build(module, target="llvm{native_halves=2}").run(inputs)))


@pytest.mark.parametrize("flags", ["armv8.2-a+fp16", "armv8-a"])
def test_chains_on_arm(flags: str, tmp_path: Path) -> None:
    """The same files, compiled with arithmetic in 16 bits and without."""
    require(*ARM)
    bundle = Bundle(tmp_path, mcpu="armv8.2-a+fp16", cc=ARM[0])
    for name in CHAINS:
        bundle.add(*chain(name))
    options = ["-O3", *FAST, "-static", f"-march={flags}"]
    results = bundle.run(options, cc=ARM[0], prefix=ARM[1].split())
    assert all("irt_f16x8" in (tmp_path / f"n{n}.c").read_text() for n in range(len(CHAINS) - 6))
    for name, (got,) in zip(CHAINS, results, strict=True):
        check_chain(name, got)


def test_chains_of_llvm_on_arm(tmp_path: Path) -> None:
    """In 16 bits, too: LLVM has the type and the instructions."""
    require(*ARM)
    if Clang.find("", "armv8.2-a+fp16", ON_ARM_LLVM, False, "") is None:
        pytest.skip("no clang that compiles LLVM IR")
    bundle = Bundle(tmp_path, target=f"llvm{{mtriple={ON_ARM_LLVM}}}", mcpu="neoverse-v1")
    for name in CHAINS:
        bundle.add(*chain(name))
    results = bundle.run(["-O1", "-static"], cc=ARM[0], prefix=ARM[1].split())
    for name, (got,) in zip(CHAINS, results, strict=True):
        check_chain(name, got)
    code = [
        subprocess.run([f"{ARM[0][:-3]}objdump", "-d", o], cwd=tmp_path, capture_output=True, text=True, check=True)
        for o in bundle.objects
    ]
    assert all(".8h" in process.stdout for process in code[: len(CHAINS) - 6])


LONG = "negative(abs(divide(maximum(clip(sqrt(multiply(nn.relu(add(%x, %y)), %x)), a_min=0f, a_max=6f), %y), %x)))"
RESIDUAL = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 256), float16], %w: Tensor[(96, 256), float16], %b: Tensor[(96), float16], %y: Tensor[(64, 96), float16]) {
  nn.relu(add(nn.bias_add(nn.dense(%x, %w, units=96), %b), %y)) }"""
COMPILERS = {
    "gcc": ("gcc", "sapphirerapids", r"v\w+ph\s.*zmm", r"vcvt|vfn?m(add|sub)", 15),
    "clang": ("clang", "sapphirerapids", r"v\w+ph\s.*zmm", r"vcvt|vfn?m(add|sub)", 0),
    "Arm": (ARM[0], "neoverse-v1", r"\.8h", r"fcvt|fml[as]", 20),
}


def assembly(text: str, cc: str, mcpu: str, folder: Path) -> str:
    if not shutil.which(cc) or (cc in ("gcc", "clang") and not X86):
        pytest.skip(f"no {cc}, or it makes code for another processor")
    artifact = irtool.build(irtool.parse(text), name="net", emit="c", cc=cc, mcpu=mcpu, out_dir=folder)
    line = artifact.report["compile"].split(" -c ")[0]
    strict = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-psabi"]
    subprocess.run([*line.split(), *strict, "-S", "-o", "net.s", "net.c"], cwd=folder, check=True)
    return (folder / "net.s").read_text()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_loop_of_a_chain_is_in_16_bits(compiler: str, tmp_path: Path) -> None:
    """Nothing is converted, products and sums are not contracted, and a step is of as many instructions as operators, all but for a few."""
    cc, mcpu, instruction, refused, most = COMPILERS[compiler]
    declared = "Tensor[(64, 96), float16]"
    text = assembly(f"{V}def @main(%x: {declared}, %y: {declared}) {{ add({LONG}, %y) }}", cc, mcpu, tmp_path)
    innermost = arm_loops(text) if cc == ARM[0] else list(loops(text))
    inside = [x for x in innermost if count(instruction, x)]
    if cc == "clang":  # its labels are not those of gcc
        inside = [[line.strip() for line in text.splitlines() if re.match(r"\s+v", line)]]
    assert inside and all(not count(refused, x) and count(instruction, x) >= 8 for x in inside), inside
    assert not most or all(len(x) <= most + 3 for x in inside), inside


@pytest.mark.parametrize("compiler", ["gcc", "Arm"])
def test_sums_are_rounded_once_and_added_to_in_16_bits(compiler: str, tmp_path: Path) -> None:
    """Behind a product, which is summed up in float32."""
    cc, mcpu, _, _, _ = COMPILERS[compiler]
    text = assembly(RESIDUAL, cc, mcpu, tmp_path)
    sums, rounded_to = (r"vaddph", r"vcvtps2ph") if cc == "gcc" else (r"fadd\s+v\d+\.4h", r"fcvtn\s")
    assert 2 * len(re.findall(rounded_to, text)) <= len(re.findall(sums, text)), text


@pytest.mark.parametrize(
    ("cc", "mcpu", "numbers"),
    [
        ("gcc", "sapphirerapids", 2),
        ("gcc", "x86-64-v4", 1),
        ("gcc", "x86-64-v3", 1),
        (ARM[0], "armv8.2-a+fp16", 2),
        (ARM[0], "cortex-a76", 2),
        (ARM[0], "neoverse-v1", 2),
        (ARM[0], "cortex-a72", 1),
        (ARM[0], "armv8-a", 1),
    ],
)
def test_processors_that_have_it(cc: str, mcpu: str, numbers: int) -> None:
    if not shutil.which(cc) or (cc == "gcc" and not X86):
        pytest.skip(f"no {cc}, or it makes code for another processor")
    machine = Compiler(cc, mcpu).machine()
    assert machine.native_halves == numbers
    assert machine.lanes_of(HALF) == machine.lanes(4)
