"""Sums of products of bfloat16 numbers, two at a time: the same bits with the instruction and without, near those of the plain loop."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import irtool
from irtool.backends.formulas import vector_math, vector_types
from irtool.passes.core.bind import bind_params
from irtool.schedule.core.affine import loads as reads_of
from irtool.schedule.instructions.dot_kinds import word_kinds
from irtool.tir.bf16_dot import DOT_PAIR, NUMBERS, meaning
from irtool.tir.forms import nest_of
from irtool.tir.stmt import PrimFunc
from tests.backends.instructions import ARM, FLAGS, X86, Way, check_hottest_loop, compile_program, require, run_program
from tests.nests import run_nest

V = '#[version = "0.0.5"]\n'
PATHS = {
    "portable": Way("gcc", "", [], "", "", 2),
    "SSE2": Way("gcc", "", ["-march=x86-64"], "", "mulps", 4),
    "AVX2": Way("gcc", "", ["-march=x86-64-v3", "-ffp-contract=fast"], "avx2", "vfmadd.*ymm", 8),
    "AVX-512": Way("gcc", "", ["-march=x86-64-v4", "-ffp-contract=fast"], "avx512bw", "vfmadd.*zmm", 16),
    "AVX-512 by clang": Way("clang", "", ["-march=x86-64-v4"], "avx512bw", "zmm", 16),
    "BF16 of 16 bytes": Way("gcc", "", ["-march=x86-64-v4", "-mavx512bf16"], "avx512_bf16", "vdpbf16ps.*xmm", 4),
    "BF16 of 32 bytes": Way("gcc", "", ["-march=x86-64-v4", "-mavx512bf16"], "avx512_bf16", "vdpbf16ps.*ymm", 8),
    "BF16 of 64 bytes": Way("gcc", "", ["-march=x86-64-v4", "-mavx512bf16"], "avx512_bf16", "vdpbf16ps.*zmm", 16),
    "BF16 by clang": Way("clang", "", ["-march=x86-64-v4", "-mavx512bf16"], "avx512_bf16", "vdpbf16ps.*zmm", 16),
    "Arm": Way(*ARM, ["-march=armv8-a"], "", "", 4),
    "Arm's BF16": Way(*ARM, ["-march=armv8.2-a+bf16"], "", "bfmlalt(.|\n)*bfmlalb", 4),
}


def numbers(count: int, seed: int) -> np.ndarray:
    """Of many magnitudes, none of which makes a subnormal product; some zeros, one infinity."""
    g = np.random.default_rng(seed)
    values = g.standard_normal(count) * 2.0 ** g.integers(-20, 20, count)
    values[::17] = 0.0
    values[5] = np.inf
    return values.astype(ml_dtypes.bfloat16)


def in_order(start: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The upper product is added first; every product is exact, every sum is rounded."""
    a, b = a.astype("float32"), b.astype("float32")
    with np.errstate(invalid="ignore"):
        return ((start + a[:, 1] * b[:, 1]) + a[:, 0] * b[:, 0]).astype("float32")


@pytest.mark.parametrize("path", PATHS)
def test_every_build_gives_the_same_bits(path: str, tmp_path: Path) -> None:
    way = PATHS[path]
    require(way.cc, way.emulator)
    lanes = way.lanes
    many = 16 * 200
    g = np.random.default_rng(1)
    start = (g.standard_normal(many) * 2.0 ** g.integers(-30, 30, many)).astype("float32")
    a, b = (numbers(many * NUMBERS, k).reshape(many, NUMBERS) for k in (2, 3))
    lines = [vector_types.define_type(d, lanes) for d in ("float32", "int32", "uint32")]
    lines += [text for _, text in vector_math.define(DOT_PAIR, "float32", lanes)]
    t, i = (vector_types.vector_type(d, lanes) for d in ("float32", "int32"))
    call = f"irt_v{DOT_PAIR}_{t[4:]}(*(const {t}_u *)(c + k), *(const {i}_u *)(a + k), *(const {i}_u *)(b + k))"
    lines += [f"static float c[{many}];", f"static int32_t a[{many}], b[{many}];", "int main(void) {", "  int k;"]
    lines += [f"  if (fread({x}, 4, {many}, stdin) != {many}) return 1;" for x in "cab"]
    lines += [f"  for (k = 0; k < {many}; k += {lanes}) *({t}_u *)(c + k) = {call};"]
    lines += [f"  fwrite(c, 4, {many}, stdout);", "  return 0;", "}"]
    compile_program(way, lines, tmp_path)
    got = run_program(way, b"".join(x.tobytes() for x in (start, a, b)), tmp_path)
    np.testing.assert_array_equal(np.frombuffer(got, "float32"), in_order(start, a, b))


def test_the_meaning_is_a_loop() -> None:
    form = meaning()
    (store,) = form.stores
    a, b = (numbers(40, k).reshape(20, NUMBERS) for k in (4, 5))
    products = sorted({e.source for e in reads_of(form.update)} - {form.acc}, key=lambda b: b.name)
    nest = PrimFunc("dot", [*products, store.buffer], nest_of(form))
    for x, y in zip(a, b, strict=True):
        if np.isfinite(x.astype("float32")).all() and np.isfinite(y.astype("float32")).all():
            got = float(run_nest(nest, [x.astype("float32"), y.astype("float32")])[0])
            want = float(in_order(np.zeros(1, "float32"), x[None], y[None])[0])
            assert got == pytest.approx(want, rel=1e-6)


OUT = 'out_dtype="float32"'
CASES = {
    "padded": (f"nn.conv2d(%x, %w, padding=[1, 1], {OUT})", (1, 32, 7, 9), (24, 32, 3, 3)),
    "strided, odd channels": (f"nn.conv2d(%x, %w, strides=[2, 2], {OUT})", (2, 13, 9, 8), (19, 13, 3, 3)),
    "an image": (f"nn.conv2d(%x, %w, padding=[3, 3], strides=[2, 2], {OUT})", (1, 3, 16, 16), (16, 3, 7, 7)),
    "1 x 1": (f"nn.conv2d(%x, %w, {OUT})", (1, 64, 5, 5), (48, 64, 1, 1)),
    "groups": (f"nn.conv2d(%x, %w, groups=2, padding=[1, 1], {OUT})", (1, 32, 6, 6), (32, 16, 3, 3)),
    "depthwise": (f"nn.conv2d(%x, %w, groups=32, padding=[1, 1], {OUT})", (1, 32, 6, 6), (32, 1, 3, 3)),
    "dense": (f"nn.dense(%x, %w, units=None, {OUT})", (9, 67), (40, 67)),
    "one row": (f"nn.dense(%x, %w, units=None, {OUT})", (1, 512), (48, 512)),
    "matrices": (f"nn.batch_matmul(%x, %w, transpose_b=True, {OUT})", (2, 16, 50), (2, 24, 50)),
    "two layers": (
        f"nn.conv2d(cast(nn.relu(nn.conv2d(%x, %w, {OUT})), dtype=\"bfloat16\"), %w, {OUT})",
        (1, 32, 5, 7),
        (32, 32, 1, 1),
    ),
}  # fmt: skip
LEVELS = {
    "x86-64-v2": ({"mcpu": "x86-64-v2"}, ""),
    "x86-64-v3": ({"mcpu": "x86-64-v3"}, "avx2"),
    "x86-64-v4": ({"mcpu": "x86-64-v4"}, "avx512bw"),
    "BF16": ({"mcpu": "x86-64-v4", "cflags": "-mavx512bf16"}, "avx512_bf16"),
    "scalar": ({"mcpu": "native", "vector": "none"}, ""),
}


def program(case: str) -> tuple[irtool.Module, np.ndarray, np.ndarray]:
    call, data, weights = CASES[case]
    text = f"{V}def @main(%x: Tensor[{data}, bfloat16], %w: Tensor[{weights}, bfloat16]) {{ {call} }}"
    g = np.random.default_rng(0)
    x, w = (g.standard_normal(s).astype(ml_dtypes.bfloat16) for s in (data, weights))
    return irtool.parse(text), x, w


@pytest.mark.parametrize("case", CASES)
def test_products_are_near_those_of_the_interpreter(case: str) -> None:
    module, x, w = program(case)
    want = np.asarray(irtool.evaluate(module, {"x": x, "w": w}))
    got: dict[str, np.ndarray] = {}
    for level, (options, feature) in LEVELS.items():
        if not X86 or (feature and feature not in FLAGS):
            continue
        target = "c{blocked_updates=1,paired_products=2}" if level != "scalar" else "c"
        for bound in (True, False):
            whole = bind_params(module, {"w": w}) if bound else module
            actual = irtool.build(whole, target=target, **options).run([x] if bound else [x, w])
            got[f"{level} {bound}"] = np.asarray(actual)
            np.testing.assert_allclose(got[f"{level} {bound}"], want, rtol=1e-2, atol=1e-2)
    for bound in (True, False):
        if f"BF16 {bound}" in got:
            np.testing.assert_array_equal(got[f"BF16 {bound}"], got[f"x86-64-v4 {bound}"])


@pytest.mark.parametrize("case", CASES)
def test_which_sums_are_made_of_pairs(case: str, tmp_path: Path) -> None:
    module, _, w = program(case)
    irtool.build(
        module,
        {"w": w},
        name="m",
        emit="c",
        out_dir=tmp_path,
        target="c{blocked_updates=1,mcpu=x86-64-v3,paired_products=2}",
        weights="file",
    )
    assert (f"irt_v{DOT_PAIR}" in (tmp_path / "m.c").read_text()) == (case != "depthwise")


@pytest.mark.parametrize("backend", ["c", "llvm"])
def test_what_lies_as_words_do_is_not_copied(backend: str, tmp_path: Path) -> None:
    """A 1 x 1 convolution reads what the first one has stored in blocks; a padded copy takes whole words."""
    body = """
  %0 = cast(nn.relu(nn.conv2d(%x, %w, padding=[1, 1], out_dtype="float32")), dtype="bfloat16");
  %1 = cast(nn.relu(nn.conv2d(%0, %u, out_dtype="float32")), dtype="bfloat16");
  nn.conv2d(%1, %w, padding=[1, 1], out_dtype="float32")"""
    shapes = {"x": (1, 32, 6, 7), "w": (32, 32, 3, 3), "u": (32, 32, 1, 1)}
    params = ", ".join(f"%{n}: Tensor[{s}, bfloat16]" for n, s in shapes.items())
    module = irtool.parse(f"{V}def @main({params}) {{{body}\n}}")
    g = np.random.default_rng(0)
    values = {n: (g.standard_normal(s) / 8).astype(ml_dtypes.bfloat16) for n, s in shapes.items()}
    want = np.asarray(irtool.evaluate(module, values))
    for data in ({n: values[n] for n in "wu"}, {}):
        folder = tmp_path / str(len(data))
        artifact = irtool.build(
            module, data, target=f"{backend}{{blocked_updates=1}}", mcpu="native", name="m", out_dir=folder
        )
        if backend == "c" and data and "avx512bw" in FLAGS:  # blocks of fewer channels have too few words
            text = (folder / "m.c").read_text()
            assert "p0_words" not in text and "irt_word_at_16" in text and "pad_words" in text
        np.testing.assert_allclose(
            np.asarray(artifact.run({n: v for n, v in values.items() if n not in data})), want, rtol=1e-2, atol=1e-2
        )


def test_the_hottest_loop_is_of_dot_products(tmp_path: Path) -> None:
    """Nothing is spilled, and weights are read once for all rows of a tile."""
    text = f'{V}def @main(%x: Tensor[(64, 256), bfloat16], %w: Tensor[(192, 256), bfloat16]) {{ nn.dense(%x, %w, units=192, out_dtype="float32") }}'
    w = np.random.default_rng(1).standard_normal((192, 256)).astype(ml_dtypes.bfloat16)
    check_hottest_loop(text, w, "-mavx512bf16", "vdpbf16ps", tmp_path)


def test_words_hold_pairs_and_zeros() -> None:
    data = np.arange(-3, 7).reshape(2, 5).astype(ml_dtypes.bfloat16)
    got = word_kinds()[1].pack_data(data, 1)
    assert got.dtype == np.dtype("int32") and got.shape == (2, 3)
    np.testing.assert_array_equal(got.view(ml_dtypes.bfloat16)[:, :5], data)
    assert not got.view("uint16")[:, 5:].any()
