"""Limits of one core: independent multiply-adds of vectors, and a copy of memory, compiled as kernels are."""

from __future__ import annotations

from ..backends.base import Backend, TimingJob
from ..diagnostics import ToolError
from ..tir.vector_target import VectorTarget
from .record import Peak

_STEPS = 200_000
_BYTES = 1 << 23
_TURNS = 15

_CLOCK = """\
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
"""


def measure_peak(backend: Backend) -> Peak | None:
    """The peak of the processor that a backend compiles for; None for a backend without a C compiler, or where it fails."""
    compiler = getattr(backend, "compiler", None)
    if compiler is None:
        return None
    target = backend.machine()
    size, count = 4 * target.lanes(4), accumulators(target)

    def job(text: str) -> TimingJob:
        command = [*compiler.command, *compiler.flags, "-o", "peak", "peak.c", "-lm"]
        return TimingJob({"peak.c": text.encode()}, (tuple(command),), "peak")

    try:
        seconds, copied = job(_products(size, count)).run(), job(_copies()).run()
    except ToolError:
        return None
    return Peak(2.0 * count * (size // 4) * _STEPS / seconds, _BYTES / copied)


def accumulators(target: VectorTarget) -> int:
    """The number of sums in `multiply_adds`: all registers beside the factor and the summand, up to 24."""
    return max(1, min(24, target.registers - 4))


def multiply_adds(name: str, size: int, count: int) -> str:
    """C of `float NAME(int steps, const float *p)`: in each step `count` multiply-adds of vectors of `size` bytes.

    They are independent, and start from `p[0]`, the factor, and `p[1]`, which is added.
    """
    names = [f"a{n}" for n in range(count)]
    start = "".join(f"  {name}_v {a} = c + {n}.0f;\n" for n, a in enumerate(names))  # equal ones would be computed once
    step = " ".join(f"{a} = {a} * m + c;" for a in names)
    return f"""typedef float {name}_v __attribute__((vector_size({size})));
static __attribute__((noinline)) float {name}(int steps, const float *p) {{
  {name}_v m = p[0] - ({name}_v){{0}}, c = p[1] - ({name}_v){{0}};
{start}  for (int n = 0; n < steps; ++n) {{ {step} }}
  {{ {name}_v s = {" + ".join(names)}; return s[0]; }}
}}
"""


def _products(size: int, count: int) -> str:
    """Prints the seconds of `_STEPS` steps of multiply-adds, the least of some turns."""
    return f"""{_CLOCK}
{multiply_adds("products", size, count)}static volatile float sink;
int main(void) {{
  const float p[2] = {{0.5f, 1.0f}};
  double best = 1e30;
  for (int turn = 0; turn < {_TURNS}; ++turn) {{
    double t = now();
    sink = products({_STEPS}, p);
    t = now() - t;
    if (t < best) best = t;
  }}
  printf("%.9g\\n", best);
  return 0;
}}
"""


def _copies() -> str:
    """Prints the seconds of a copy of `_BYTES`."""
    return f"""{_CLOCK}
int main(void) {{
  char *a = malloc({_BYTES}u), *b = malloc({_BYTES}u);
  double best = 1e30;
  if (!a || !b) return 1;
  memset(a, 1, {_BYTES}u);
  for (int turn = 0; turn < {_TURNS}; ++turn) {{
    double t = now();
    memcpy(b, a, {_BYTES}u);
    __asm__ volatile("" : : "r"(b) : "memory");
    t = now() - t;
    if (t < best) best = t;
  }}
  printf("%.9g\\n", best);
  return 0;
}}
"""
