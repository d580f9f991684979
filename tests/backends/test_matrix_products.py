"""Products of matrices of 8-bit numbers, two rows by two columns: the same bits by instructions and without, from the loop nest that
they mean; and what the loops of networks are made of."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.formulas import vector_math, vector_types
from irtool.backends.llvm.tools import Clang
from irtool.passes.core.bind import bind_params
from irtool.schedule.core.affine import loads as reads_of
from irtool.selection.vectors.matrices import PRODUCTS, REORDERED
from irtool.tir.forms import nest_of
from irtool.tir.int8_dot import LONG, LONG_DOTS, ROWS, matrix_meaning
from irtool.tir.stmt import PrimFunc
from tests.backends.bundle import Bundle
from tests.backends.dots import numbers
from tests.backends.instructions import ARM, FLAGS, X86, Way, arm_loops, compile_program, require, run_program
from tests.nests import run_nest

TRIPLE, OBJDUMP = "aarch64-linux-gnu", f"{ARM[0][:-3]}objdump"
CLANG = ["--target=aarch64-linux-gnu", "-march=armv8.6-a"]
PATHS = {
    "portable": Way("gcc", "", [], "", "", 4),
    "portable by clang": Way("clang", "", [], "", "", 4),
    "portable on Arm": Way(*ARM, ["-march=armv8-a"], "", "", 4),
    "Arm's dot product": Way(*ARM, ["-march=armv8.2-a+dotprod"], "", "[su]dot", 4),
    "Arm's product of matrices": Way(*ARM, ["-march=armv8.2-a+i8mm"], "", "usmmla", 4),
    "of Armv8.6": Way(*ARM, ["-march=armv8.6-a"], "", "\\bsmmla", 4),
    "of Armv8.6, unsigned": Way(*ARM, ["-march=armv8.6-a"], "", "ummla", 4),
}
V = '#[version = "0.0.5"]\n'
MANY = 40


def by_the_nest(name: str, start: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    form = matrix_meaning(name)
    (store,) = form.stores
    read = sorted({e.source for e in reads_of(form.update)} - {form.acc}, key=lambda b: b.name)
    nest = PrimFunc("product", [*read, store.buffer], nest_of(form))
    sums = [np.asarray(run_nest(nest, [x, y])[0]).reshape(-1) for x, y in zip(a, b, strict=True)]
    return (start.reshape(-1, ROWS * ROWS).astype("int64") + sums).astype("int32").reshape(-1)


@pytest.mark.parametrize("path", PATHS)
def test_products_give_what_the_nest_gives(path: str, tmp_path: Path) -> None:
    way = PATHS[path]
    require(way.cc, way.emulator)
    start = np.random.default_rng(1).integers(-(2**31), 2**31, 4 * MANY).astype("int32")
    start[::5], start[1::5] = 2**31 - 1, -(2**31)
    lines = [vector_types.define_type(*t) for t in (("int32", 4), ("uint32", 4), ("int64", 2))]
    calls, data, want = [], [start.tobytes()], []
    for n, (name, dot) in enumerate(PRODUCTS.items()):
        shape = (MANY, ROWS, LONG)
        a, b = (numbers(d, MANY * 16, 10 * n + k).reshape(shape) for k, d in enumerate(LONG_DOTS[dot]))
        data += [a.tobytes(), b.tobytes()]
        want.append(by_the_nest(dot, start, a, b))
        lines += [text for _, text in vector_math.define(name, "int32", 4)]
        first, second = (f"*(const irt_i64x2_u *)(const void *)(d + {4 * MANY} * {1 + 2 * n + k} + k)" for k in (0, 1))
        product = f"irt_v{name}_i32x4(*(const irt_i32x4_u *)(d + k), {first}, {second})"
        calls.append(f"for (k = 0; k < {4 * MANY}; k += 4) *(irt_i32x4_u *)(y + k) = {product};")
        calls.append(f"fwrite(y, 4, {4 * MANY}, stdout);")
    size = 4 * MANY * (1 + 2 * len(PRODUCTS))
    lines += [f"static int32_t d[{size}], y[{4 * MANY}];", "int main(void) {", "  int k;"]
    lines += [f"  if (fread(d, 4, {size}, stdin) != {size}) return 1;", *calls, "  return 0;\n}"]
    compile_program(way, lines, tmp_path)
    got = run_program(way, b"".join(data), tmp_path)
    np.testing.assert_array_equal(np.frombuffer(got, "int32"), np.concatenate(want))


def test_clang_makes_the_same_instructions(tmp_path: Path) -> None:
    """It is asked for assembly alone: a program would need another linker."""
    require("clang", ARM[1])
    lines = ["typedef int int32_t; typedef unsigned uint32_t; typedef long int64_t;", "#define IRT_INLINE"]
    lines += [vector_types.define_type(*t) for t in (("int32", 4), ("uint32", 4), ("int64", 2))]
    functions = {key: text for name in (*PRODUCTS, *REORDERED) for key, text in vector_math.define(name, "int32", 4)}
    (tmp_path / "p.c").write_text("\n".join([*lines, *functions.values()]) + "\n")
    done = subprocess.run(
        ["clang", *CLANG, "-std=c99", "-O2", "-S", "-o", "p.s", "p.c"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "unable to create target" in done.stderr:
        pytest.skip("this clang makes no code for Arm")
    assert done.returncode == 0, done.stderr
    assembly = (tmp_path / "p.s").read_text()
    assert {"usmmla", "smmla", "ummla", "zip2", "uzp1", "uzp2"} <= set(re.findall(r"^\s+(\w+)", assembly, re.M))


LAYERS = {
    "dense": ((64, 256), (192, 256), "nn.dense(%x, %w, units=192, out_dtype=\"int32\")"),
    "matrices": ((4, 64, 128), (4, 96, 128), "nn.batch_matmul(%x, %w, transpose_b=True, out_dtype=\"int32\")"),
    "convolution": ((1, 64, 28, 28), (64, 64, 3, 3), "nn.conv2d(%x, %w, padding=[1, 1], out_dtype=\"int32\")"),
    "1 x 1": ((1, 64, 14, 14), (128, 64, 1, 1), "nn.conv2d(%x, %w, out_dtype=\"int32\")"),
}  # fmt: skip


@pytest.mark.parametrize("mcpu", ["armv8.2-a+i8mm", "neoverse-v1"])
@pytest.mark.parametrize("layer", LAYERS)
def test_the_hottest_loop_is_of_products(layer: str, mcpu: str, tmp_path: Path) -> None:
    """At most one load for each two products, and little else beside them: gcc, which writes out three steps of a convolution, puts
    a vector aside for 24 products at most."""
    require(*ARM)
    data, weights, call = LAYERS[layer]
    text = f"{V}def @main(%x: Tensor[{data}, uint8], %w: Tensor[{weights}, int8]) {{ {call} }}"
    w = numbers("int8", int(np.prod(weights)), 1).reshape(weights)
    artifact = irtool.build(
        irtool.parse(text), {"w": w}, name="net", emit="c", out_dir=tmp_path, mcpu=mcpu, cc=ARM[0], weights="file"
    )
    line = artifact.report["compile"].split(" -c ")[0]
    subprocess.run([*line.split(), "-S", "-o", "net.s", "net.c"], cwd=tmp_path, check=True)
    loops = arm_loops((tmp_path / "net.s").read_text())
    hottest = max(loops, key=lambda lines: sum("mmla" in x for x in lines) / (len(lines) + 5))
    products, reads = sum("usmmla" in x for x in hottest), sum(x.startswith("ld") for x in hottest)
    assert products >= 12 and reads <= products / 2 + 2 and len(hottest) <= 2 * products + 2, hottest
    assert sum("[sp" in x for x in hottest) <= products / 24, hottest


def test_pixels_of_blocks_are_read_as_pairs(tmp_path: Path) -> None:
    """Between two convolutions channels are in blocks of eight, so that neighbours are the rows of one product."""
    text = f"""{V}def @main(%x: Tensor[(1, 32, 14, 14), uint8], %w: Tensor[(32, 32, 3, 3), int8]) {{
      %0 = nn.conv2d(%x, %w, padding=[1, 1], out_dtype="int32");
      %1 = cast(right_shift(%0, 9), dtype="uint8");
      nn.conv2d(%1, %w, padding=[1, 1], out_dtype="int32")
    }}"""
    require(*ARM)
    w = numbers("int8", 32 * 32 * 9, 2).reshape(32, 32, 3, 3)
    irtool.build(
        irtool.parse(text), {"w": w}, name="m", emit="c", out_dir=tmp_path, mcpu="armv8.6-a", cc=ARM[0], weights="file"
    )
    code = (tmp_path / "m.c").read_text()
    assert "irt_i64x2_u *)(pad_words" in code
    assert re.search(r"irt_pack8\(p0\[t \+ \(-112\)\], p0\[t \+ \(-111\)\]", code), (
        "eight numbers are one after the other"
    )


def test_few_rows_and_short_sums_are_of_dot_products(tmp_path: Path) -> None:
    """A single row would make half of each product in vain, and three numbers fill no word of eight."""
    require(*ARM)
    for data, weights in (((1, 512), (48, 512)), ((16, 3), (48, 3))):
        text = f'{V}def @main(%x: Tensor[{data}, uint8], %w: Tensor[{weights}, int8]) {{ nn.dense(%x, %w, units=48, out_dtype="int32") }}'
        w = numbers("int8", int(np.prod(weights)), 1).reshape(weights)
        irtool.build(
            irtool.parse(text),
            {"w": w},
            name="m",
            emit="c",
            out_dir=tmp_path,
            mcpu="armv8.6-a",
            cc=ARM[0],
            weights="file",
        )
        assert "mmla" not in (tmp_path / "m.c").read_text()


def test_llvm_makes_the_same_instructions(tmp_path: Path) -> None:
    """For Arm's processors, whole layers give what the interpreter gives; an odd number of rows leaves one without another."""
    require(*ARM)
    if Clang.find("", "neoverse-v1", TRIPLE, False, "") is None:
        pytest.skip("no clang that compiles LLVM IR")
    bundle, expected = Bundle(tmp_path, target=f"llvm{{mtriple={TRIPLE},blocked_updates=1}}", mcpu="neoverse-v1"), []
    layers = {**LAYERS, "odd rows": ((7, 37), (24, 37), 'nn.dense(%x, %w, units=24, out_dtype="int32")')}
    for data, weights, call in layers.values():
        module = irtool.parse(f"{V}def @main(%x: Tensor[{data}, uint8], %w: Tensor[{weights}, int8]) {{ {call} }}")
        x, w = (
            numbers(d, int(np.prod(s)), n).reshape(s) for n, (d, s) in enumerate((("uint8", data), ("int8", weights)))
        )
        module = bind_params(irtool.infer_types(module), {"w": w}, "main")
        bundle.add(module, [x])
        expected.append(np.asarray(irtool.evaluate(module, [x])))
    results = bundle.run(["-O1", "-static"], cc=ARM[0], prefix=ARM[1].split())
    for name, (got,), want in zip(layers, results, expected, strict=True):
        np.testing.assert_array_equal(got.reshape(want.shape), want, name)
    for name in bundle.objects:
        assert "usmmla" in subprocess.run([OBJDUMP, "-d", name], cwd=tmp_path, capture_output=True, text=True).stdout


@pytest.mark.parametrize("flags", ["mcpu=x86-64-v2", "mcpu=x86-64-v3", "mcpu=x86-64-v2,product_rows=2"])
@pytest.mark.parametrize("layer", LAYERS)
def test_llvm_multiplies_bytes_on_x86(layer: str, flags: str, tmp_path: Path) -> None:
    """In pairs of 16 bits; as products of matrices, where these are asked for, by dot products."""
    if not X86 or Clang.find("", "native", "", False, "") is None:
        pytest.skip("no clang that compiles LLVM IR for x86")
    data, weights, call = LAYERS[layer]
    text = f"{V}def @main(%x: Tensor[{data}, int8], %w: Tensor[{weights}, int8]) {{ {call} }}"
    x, w = (numbers("int8", int(np.prod(s)), n).reshape(s) for n, s in enumerate((data, weights)))
    module = bind_params(irtool.infer_types(irtool.parse(text)), {"w": w}, "main")
    built = irtool.build(module, target=f"llvm{{{flags}}}", name="net", out_dir=tmp_path)
    source = (tmp_path / "net.ll").read_text()
    assert "pmadd" in source and ("irt_vmmla_s8s8" in source) == ("product_rows" in flags)
    if "v3" not in flags or "avx2" in FLAGS:
        np.testing.assert_array_equal(np.asarray(built.run([x])), np.asarray(irtool.evaluate(module, [x])))
