"""Denormal numbers: zeros while a run goes on and among constants, themselves with --math=strict; and the caller's mode is his own."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool

flushes = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64", "aarch64", "arm64"), reason="no mode of denormal numbers"
)
LEAST = np.finfo("float32").tiny
PRODUCT = """#[version = "0.0.5"]
def @main(%x: Tensor[(70), float32], %y: Tensor[(70), float32]) { (multiply(%x, %y), sum(multiply(%x, %y))) }
"""
X, Y = np.full(70, 1e-30, "float32"), np.full(70, 1e-9, "float32")
WAYS: dict[str, dict[str, Any]] = {
    "c": {},
    "scalar": {"vector": "none"},
    "portable": {"mcpu": "portable"},
    "threads": {"openmp": True},
    "tvm": {"api": "tvm"},
    "llvm": {"target": "llvm"},
}


@flushes
@pytest.mark.parametrize("way", WAYS)
def test_results_and_operands_are_zeros_unless_strict(way: str) -> None:
    if way == "llvm":
        pytest.importorskip("llvmlite")
    module = irtool.parse(PRODUCT)
    fast, strict = (irtool.build(module, math=math, **WAYS[way]) for math in ("fast", "strict"))
    assert not fast.run([X, Y])[0].any()  # results
    assert not fast.run([np.full(70, 1e-40, "float32"), np.full(70, 1e9, "float32")])[0].any()  # operands
    np.testing.assert_array_equal(strict.run([X, Y])[0], X * Y)
    np.testing.assert_array_equal(strict.run([X, Y])[0], irtool.evaluate(module, [X, Y])[0])
    normal = np.full(70, LEAST, "float32")
    np.testing.assert_array_equal(fast.run([normal, np.ones(70, "float32")])[0], normal)


@pytest.mark.parametrize("way", WAYS)
def test_this_process_keeps_its_mode(way: str) -> None:
    if way == "llvm":
        pytest.importorskip("llvmlite")
    artifact = irtool.build(irtool.parse(PRODUCT), **WAYS[way])
    for _ in range(3):
        artifact.run([X, Y])
        assert (X * Y).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("target", ["c", "llvm"])
@pytest.mark.parametrize("place", ["inline", "file"])
def test_constants(dtype: str, target: str, place: str) -> None:
    if target == "llvm":
        pytest.importorskip("llvmlite")
    if dtype == "bfloat16":
        ml_dtypes = pytest.importorskip("ml_dtypes")
        least, kind = 2.0**-126, ml_dtypes.bfloat16
    else:
        least, kind = float(np.finfo(dtype).tiny), np.dtype(dtype)
    values = np.array([1.0, least, least / 2, -least / 4, 0.0, -0.0, np.inf, -3.0], "float64").astype(kind)
    module = irtool.parse(f"def @main(%x: Tensor[(8), {dtype}], %w: Tensor[(8), {dtype}]) {{ where(%x > %x, %x, %w) }}")
    before = values.copy()
    fast, strict = (
        irtool.build(module, {"w": values}, math=math, target=target, weights=place) for math in ("fast", "strict")
    )
    assert np.array_equal(values.view("uint8"), before.view("uint8"))
    warnings = [w for w in fast.report["warnings"] if "denormal" in w]
    assert warnings == [
        "note: 2 of 8 floating-point constants are denormal numbers, and 0 in this build; --math=strict keeps them"
    ]
    assert not any("denormal" in w for w in strict.report["warnings"])
    flushed = np.where((np.abs(values) < values[1]), np.copysign(values.dtype.type(0), values), values)
    x = np.zeros(8, kind)
    assert np.array_equal(np.signbit(fast.run([x])), np.signbit(flushed))
    np.testing.assert_array_equal(np.asarray(fast.run([x]), "float64"), flushed.astype("float64"))
    np.testing.assert_array_equal(np.asarray(strict.run([x]), "float64"), values.astype("float64"))


def test_constants_of_float16_stay() -> None:
    values = np.array([2.0**-20, 1.0], "float16")
    module = irtool.parse("def @main(%x: Tensor[(2), float16], %w: Tensor[(2), float16]) { add(%x, %w) }")
    artifact = irtool.build(module, {"w": values})
    assert not artifact.report["warnings"]
    np.testing.assert_array_equal(artifact.run([np.zeros(2, "float16")]), values)


CALLER = r"""
#include <stdio.h>
#include <string.h>
#include <xmmintrin.h>
#include "net.h"
static float x[130 * 512], k[192 * 512], w[192 * 192], out[130 * 192], tiny[70];
static unsigned char arena[NET_ARENA_SIZE];
static unsigned mode(void) { return _mm_getcsr() & ~0x3fu; } /* without what happened meanwhile */
static int failed(int *n) {
  /* Every way a run ends, in each mode that a caller may have. */
  unsigned modes[] = {0x1f80, 0x9fc0, 0x7f80, 0x1fc0, 0x9f80};
  for (*n = 0; *n < 5; ++*n) {
    _mm_setcsr(modes[*n]);
    if (net_run_with(arena, sizeof arena, x, k, out)) return 1;
    if (mode() != modes[*n]) return 2;
    if (net_run_with(arena, 1, x, k, out) != 1 || mode() != modes[*n]) return 3;
    if (net_run_with(NULL, 0, x, k, out) != 1 || mode() != modes[*n]) return 4;
  }
  return 0;
}
int main(void) {
  int n, i, code, wrong = 0;
  for (i = 0; i < 130 * 512; ++i) x[i] = 1e-30f;
  for (i = 0; i < 192 * 512; ++i) k[i] = 1e-9f;
  code = failed(&n);
  _mm_setcsr(0x1f80);
  for (i = 0; i < 130 * 192; ++i) wrong += out[i] != 0.0f;
#ifdef _OPENMP
#pragma omp parallel reduction(+ : wrong)
  wrong += (_mm_getcsr() & 0x8040u) != 0; /* the threads that took part, too */
#endif
  printf("%d %d %d\n", code, n, wrong);
  return 0;
}
"""
DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(130, 512), float32], %k: Tensor[(192, 512), float32]) { nn.relu(nn.dense(%x, %k, units=192)) }
"""


@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("gcc"), reason="not for this processor")
@pytest.mark.parametrize("way", ["plain", "team", "regions"])
def test_each_thread_gets_its_mode_back(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from irtool.backends.c import program
    from irtool.selection import regions

    monkeypatch.setattr(program, "REGION_WORK", 0)
    monkeypatch.setattr(regions, "LOOP_WORK", 0)
    # Sources of a build without threads have regions of their own, for whoever compiles them with OpenMP.
    irtool.build(irtool.parse(DENSE), name="net", emit="c", mcpu="native", openmp=way == "team", out_dir=tmp_path)
    assert ("irt_begin_thread();" in (tmp_path / "net.c").read_text()) == (way != "team")
    (tmp_path / "caller.c").write_text(CALLER)
    flags = ["-O2", "-std=c99", "-march=native", *(["-fopenmp"] if way != "plain" else [])]
    subprocess.run(["gcc", *flags, "-o", "caller", "caller.c", "net.c", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run(["./caller"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "0 5 0\n"


def test_integers_need_no_mode(tmp_path: Path) -> None:
    module = irtool.parse("def @main(%x: Tensor[(8), int8]) { add(%x, %x) }")
    irtool.build(module, name="net", emit="c", out_dir=tmp_path)
    assert "irt_flush" not in (tmp_path / "net.c").read_text()
    irtool.build(irtool.parse(PRODUCT), name="net", emit="c", math="strict", out_dir=tmp_path)
    assert "irt_flush" not in (tmp_path / "net.c").read_text()
