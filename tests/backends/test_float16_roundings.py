"""Numbers rounded to float16, and widened again, in vectors: numpy's bits for every kind of number, by instructions and without."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.formulas import vector_math, vector_types
from tests.backends.bit_patterns import every_kind
from tests.backends.bundle import Bundle
from tests.backends.instructions import ARM, Way, compile_program, require, run_program

PATHS = {
    "portable": Way("gcc", "", ["-march=x86-64"], "", "", 4),
    "F16C": Way("gcc", "", ["-march=x86-64-v3"], "f16c", "vcvtps2ph", 8),
    "F16C by clang": Way("clang", "", ["-march=x86-64-v3"], "f16c", "vcvtps2ph", 8),
    "AVX-512": Way("gcc", "", ["-march=x86-64-v4"], "avx512f", "vcvtps2ph.*zmm", 16),
    "Arm": Way(*ARM, [], "", "fcvtn", 4),
}


def rounded(numbers: np.ndarray) -> np.ndarray:
    """To nearest even; of NaN the sign is left alone."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        bits = numbers.astype("float16").view("uint16")
    return np.where(np.isnan(numbers), bits & 0x8000 | 0x7E00, bits).astype("uint16")


def ties() -> np.ndarray:
    """Numbers around those half-way between neighbours of 16 bits."""
    every = np.arange(0x7C00, dtype="uint16")
    lower, upper = (
        every.view("float16").astype("float32"),
        (every + 1).astype("uint16").view("float16").astype("float32"),
    )
    upper[-1] = 65536
    middle = (lower + upper) / 2
    positive = np.concatenate([np.nextafter(middle, lower), middle, np.nextafter(middle, upper)])
    return np.concatenate([positive, -positive])


@pytest.mark.parametrize("path", PATHS)
def test_all_bits_are_those_of_the_definition(path: str, tmp_path: Path) -> None:
    way = PATHS[path]
    require(way.cc, way.emulator)
    n = way.lanes
    numbers = np.concatenate([every_kind().view("float32"), ties()])
    numbers = np.resize(numbers, -(-numbers.size // 16) * 16)
    halves = np.arange(1 << 16, dtype="uint16")
    t = f"irt_f32x{n}"
    lines = [vector_types.define_type(d, n) for d in ("float32", "int32", "uint32", "uint16", "int16")]
    functions = {
        k: text for name in ("h2f", "f2h", "round_float16") for k, text in vector_math.define(name, "float32", n)
    }
    lines += [
        *functions.values(),
        f"static float x[{numbers.size}], y[{1 << 16}];",
        f"static uint16_t h[{1 << 16}], g[{numbers.size}];",
    ]
    lines += ["int main(void) {", "  int k;", f"  if (fread(x, 4, {numbers.size}, stdin) != {numbers.size}) return 1;"]
    lines += [f"  if (fread(h, 2, {1 << 16}, stdin) != {1 << 16}) return 1;"]
    for loop, result, size, count in (
        (f"*(irt_u16x{n}_u *)(g + k) = irt_vf2h_f32x{n}(*({t}_u *)(x + k))", "g", 2, numbers.size),
        (f"*({t}_u *)(x + k) = irt_vround_float16_f32x{n}(*({t}_u *)(x + k))", "x", 4, numbers.size),
        (f"*({t}_u *)(y + k) = irt_vh2f_f32x{n}(*(irt_u16x{n}_u *)(h + k))", "y", 4, 1 << 16),
    ):
        lines += [f"  for (k = 0; k < {count}; k += {n}) {loop};", f"  fwrite({result}, {size}, {count}, stdout);"]
    compile_program(way, [*lines, "  return 0;\n}"], tmp_path)
    got = run_program(way, numbers.tobytes() + halves.tobytes(), tmp_path)
    want = rounded(numbers)
    np.testing.assert_array_equal(np.frombuffer(got, "uint16", numbers.size), want)
    again = np.frombuffer(got, "float32", numbers.size, 2 * numbers.size)
    np.testing.assert_array_equal(again.view("uint32"), want.view("float16").astype("float32").view("uint32"))
    wide = np.frombuffer(got, "float32", 1 << 16, 6 * numbers.size)
    np.testing.assert_array_equal(wide, halves.view("float16").astype("float32"))
    assert (np.signbit(wide) == (halves >= 0x8000)).all()


CHAIN = """#[version = "0.0.5"]
def @main(%x: Tensor[(1000), float16], %y: Tensor[(1000), float16]) {
  let %0 = multiply(add(%x, %y), subtract(%x, 3f16));
  (maximum(sqrt(abs(%0)), divide(%x, %y)), tanh(%0), sum(%x))
}"""


def test_chains_of_operators_are_those_of_the_interpreter_on_arm(tmp_path: Path) -> None:
    """Each is rounded to float16, so that what is exact before it has the same bits."""
    require(*ARM)
    g = np.random.default_rng(0)
    x, y = (g.standard_normal(1000).astype("float16") for _ in range(2))
    y[y == 0] = 1
    module = irtool.infer_types(irtool.parse(CHAIN))
    want = [np.asarray(a) for a in irtool.evaluate(module, [x, y])]
    bundle = Bundle(tmp_path, mcpu="none", cc=ARM[0])
    bundle.add(module, [x, y])
    ((first, waves, total),) = bundle.run(["-O2", "-static"], cc=ARM[0], prefix=ARM[1].split())
    assert "fcvtl" in (tmp_path / "n0.c").read_text()
    np.testing.assert_array_equal(first.view("uint16"), want[0].view("uint16"))
    np.testing.assert_allclose(waves.astype("float32"), want[1].astype("float32"), rtol=2e-3)
    np.testing.assert_allclose(total.astype("float32"), want[2].astype("float32"), rtol=2e-3, atol=0.1)
