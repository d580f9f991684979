"""Functions of the C library, called for every element of an array: what vectors of them are measured beside.

The loop is compiled with `-ffast-math -fopenmp-simd`, so that compilers take the library's own functions of vectors where it has some
(glibc's libmvec, which is accurate to 4 units in the last place, as irtool's are).
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from irtool.backends.c import C
from irtool.backends.library import open_library

from .native import TOOLS

FORMULAS = {
    "sigmoid": "1 / (1 + exp{f}(-a[k]))",
    "rsqrt": "1 / sqrt{f}(a[k])",
    "power": "pow{f}(a[k], b[k])",
}
"""What is no function of `math.h` of the same name."""

_TEXT = """#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stddef.h>
#include <stdint.h>
static void (*const bench_calls[1])(void **) = {0};
static float bench_fma(int steps, const float *p) { (void)steps; return p[0]; }
void each(TYPE *restrict y, const TYPE *restrict a, const TYPE *restrict b, long n) {
  (void)b;
#pragma omp simd
  for (long k = 0; k < n; ++k) y[k] = FORMULA;
}
"""
_CALL = """double bench_each(TYPE *y, const TYPE *a, const TYPE *b, long n, int times) {
  double t = bench_clock(0);
  for (int k = 0; k < times; ++k) each(y, a, b, n);
  return bench_clock(0) - t;
}
"""
_FLAGS = ("-ffast-math", "-fopenmp-simd", "-fPIC", "-shared", "-o", "each.so", "each.c", "-lm")


@cache
def _compiled(name: str, dtype: str) -> ctypes.CDLL:
    compiler = C().compiler
    narrow = "f" if dtype == "float32" else ""
    formula = FORMULAS.get(name, f"{name}{{f}}(a[k])").format(f=narrow)
    text = (_TEXT + TOOLS + _CALL).replace("TYPE", "float" if narrow else "double").replace("FORMULA", formula)
    with tempfile.TemporaryDirectory(prefix="irtool-bench-") as place:
        (Path(place) / "each.c").write_text(text, encoding="utf-8")
        compiler.run([*compiler.flags, *_FLAGS], Path(place))
        library = open_library(Path(place) / "each.so")
    library.bench_each.restype = ctypes.c_double
    return library


def seconds(name: str, dtype: str, operands: Sequence[np.ndarray], rounds: int = 9) -> float:
    """Seconds that the C library takes for all elements of operands of one or two arrays: the least of some rounds."""
    library, a, b = _compiled(name, dtype), operands[0], operands[-1]
    y = np.zeros_like(a)
    arguments = [ctypes.c_void_p(x.ctypes.data) for x in (y, a, b)]
    times = max(1, 200_000 // a.size)
    taken = [library.bench_each(*arguments, ctypes.c_long(a.size), times) / times for _ in range(rounds)]
    return float(min(taken))
