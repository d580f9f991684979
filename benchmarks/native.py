"""Compiled networks and their kernels, timed beside what the processor can do.

A library holds the network, every kernel of it as a function of its own, and two loops compiled with the same flags: 24
independent multiply-adds of vectors (the peak) and a copy of memory. A measurement runs one of these and the kernel in
turn, several times, and takes the median of the ratios, so that drift of the clock and other work on the machine cancel.
One core is timed by the time that its thread has run, several by the clock on the wall.
"""

from __future__ import annotations

import ctypes
import re
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.backends.c import C
from irtool.backends.library import open_library
from irtool.benchmark.machine import accumulators, multiply_adds
from irtool.driver.options import Options
from irtool.driver.parameters import bind_weights
from irtool.driver.precision import precision_passes
from irtool.driver.prepare import prepare_entries
from irtool.driver.stages import run_stages
from irtool.tir.program import CallFunction, RunKernel, steps
from irtool.tir.stmt import PrimFunc

_PEAK_STEPS = 20_000

TOOLS = """
#include <time.h>
#include <string.h>
static double bench_clock(int wall) {
  struct timespec t;
  clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static volatile float bench_sink;
double bench_peak(int steps) {
  float p[2] = {0.5f, 1.0f};
  double t = bench_clock(0);
  bench_sink = bench_fma(steps, p);
  return bench_clock(0) - t;
}
double bench_copy(char *a, const char *b, long bytes, int times) {
  double t = bench_clock(0);
  for (int n = 0; n < times; ++n) { memcpy(a, b, (size_t)bytes); __asm__ volatile("" ::: "memory"); }
  return bench_clock(0) - t;
}
#if defined(__AVX512F__)
#define BENCH_VECTOR 64
#elif defined(__AVX__)
#define BENCH_VECTOR 32
#else
#define BENCH_VECTOR 16
#endif
/* A sum of vectors in which no addition waits for the one before. */
typedef uint64_t bench_words __attribute__((vector_size(BENCH_VECTOR), aligned(8), may_alias));
double bench_read(const bench_words *p, long bytes, int times) {
  double t = bench_clock(0);
  long vectors = bytes / BENCH_VECTOR;
  bench_words a = {0}, b = {0}, c = {0}, d = {0};
  for (int n = 0; n < times; ++n) {
    for (long k = 0; k + 4 <= vectors; k += 4) { a += p[k]; b += p[k + 1]; c += p[k + 2]; d += p[k + 3]; }
    __asm__ volatile("" ::: "memory");
  }
  a += b + c + d;
  bench_sink = (float)a[0];
  return bench_clock(0) - t;
}
double bench_call(int which, void **p, int times, int wall) {
  double t = bench_clock(wall);
  for (int n = 0; n < times; ++n) bench_calls[which](p);
  return bench_clock(wall) - t;
}
"""


@dataclass(frozen=True)
class Timed:
    """One kernel: seconds of a call (median), and the fractions of the peak, of the copy's and of the reading's speed that it reached."""

    seconds: float
    of_peak: float
    of_copy: float
    of_read: float = 0.0


class Compiled:
    """A network, compiled, with its weights bound as constants.

    Attributes:
        calls: kernels in order of execution, as often as they run.
        flops: of one inference, a multiply-add counted as two.

    `precision` is that of a build (8 bits aside); `peak` gives operations a second of another instruction than float32's multiply-add;
    `mcpu` is the processor.
    """

    def __init__(
        self,
        text: str,
        seed: int = 0,
        openmp: bool = False,
        inputs: Sequence[str] = ("data",),
        precision: str = "float32",
        peak: Callable[[], float] | None = None,
        mcpu: str = "native",
    ) -> None:
        backend = C(openmp=openmp, weights="file", mcpu=mcpu)
        options = Options(backend, name="net")
        module = irtool.infer_types(irtool.parse(text))
        module = bind_weights(module, weights_of(module, inputs, seed), options.entries, None)
        module = irtool.run_passes(module, [*precision_passes(precision), "InferType"])
        self._peak = peak
        compiler = backend.compiler
        program = run_stages(prepare_entries(module, options), options.entries, backend.machine())
        written = backend.translate(program, options.name)
        machine = compiler.machine()
        self.lanes, self._sums = machine.lanes(4), accumulators(machine)
        self.kernels: list[PrimFunc] = program.kernels
        self.calls: list[PrimFunc] = [
            s.kernel for f in program.functions.values() for s in steps(f.body) if isinstance(s, RunKernel)
        ]
        assert not any(isinstance(s, CallFunction) for f in program.functions.values() for s in steps(f.body))
        self.flops = 2 * sum(k.macs for k in self.calls)
        entry = written.entries[0]
        wrappers = [_wrapper(n, written.kernel_names[k.name], k, written.source) for n, k in enumerate(self.kernels)]
        own = len([*entry.inputs, *entry.outputs])
        run = f"static void bench_whole(void **p) {{ (void){entry.run}({_arguments(own)}); }}\n"
        table = ", ".join([*(f"bench_{n}" for n in range(len(wrappers))), "bench_whole"])
        source = "\n".join(
            [
                "#define _POSIX_C_SOURCE 200809L",
                written.source,
                *wrappers,
                run,
                f"static void (*const bench_calls[])(void **) = {{{table}}};",
                multiply_adds("bench_fma", 4 * self.lanes, self._sums),
                TOOLS,
            ]
        )
        self._folder = tempfile.TemporaryDirectory(prefix="irtool-bench-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        (folder / "net.h").write_text(written.header, encoding="utf-8")
        (folder / "bench.c").write_text(source, encoding="utf-8")
        compiler.run([*compiler.flags, "-fPIC", "-shared", "-o", "bench.so", "bench.c", "-lm"], folder)
        self._library = open_library(folder / "bench.so")
        for name in ("bench_peak", "bench_copy", "bench_read", "bench_call"):
            getattr(self._library, name).restype = ctypes.c_double
        self._buffers = {k: _buffers(k, program.arena_bytes) for k in self.kernels}
        self.boundary = tuple(sum(p.slot.nbytes for p in ps) for ps in (entry.inputs, entry.outputs))
        """Bytes of the inputs, and of the outputs."""
        self._whole = [_filled(p.slot.nbytes, p.slot.dtype) for p in (*entry.inputs, *entry.outputs)]
        if written.weights:
            with (folder / "net.bin").open("wb") as f:
                for part in written.weights:
                    f.write(part)
            code = self._library.net_load_weights(str(folder / "net.bin").encode())
            assert code == 0, f"the weights were not loaded: {code}"

    @property
    def names(self) -> dict[str, PrimFunc]:
        """Kernels by name."""
        return {k.name: k for k in self.kernels}

    def kernel(self, k: PrimFunc, rounds: int = 9) -> Timed:
        """Times a kernel beside the peak and beside a copy of as many bytes as its operands have."""
        return self._timed(self.kernels.index(k), self._buffers[k], rounds, 2 * k.macs, traffic(k))

    def whole(self, rounds: int = 5, flops: int = 0, moved: int = 0, read: int = 0) -> Timed:
        """Times an inference, of `flops` operations (its multiply-adds, if not given) and `moved` bytes, or `read` ones."""
        return self._timed(len(self.kernels), self._whole, rounds, flops or self.flops, moved, read)

    def once(self, wall: bool = True) -> float:
        """Seconds of one inference, by the clock on the wall."""
        return self._call(len(self.kernels), _pointers(self._whole), 1, wall)

    def use_threads(self, count: int) -> None:
        """Sets the number of threads of a network compiled with OpenMP."""
        self._library.omp_set_num_threads(count)

    def peak(self) -> float:
        """Multiply-adds of one core now, in operations a second (each counts as two): of the instruction that was asked for."""
        if self._peak is not None:
            return self._peak()
        taken = self._library.bench_peak(_PEAK_STEPS)
        return 2.0 * self._sums * self.lanes * _PEAK_STEPS / taken

    def _call(self, which: int, pointers: Any, times: int, wall: bool = False) -> float:
        return float(self._library.bench_call(which, pointers, times, int(wall)))

    def _timed(self, which: int, arrays: Sequence[Any], rounds: int, flops: int, moved: int, read: int = 0) -> Timed:
        pointers = _pointers(arrays)
        once = min(self._call(which, pointers, 1), self._call(which, pointers, 1))
        times = max(1, min(2000, int(2e-3 / max(once, 1e-7))))
        half = moved // 2
        source, target = _filled(half, "uint8"), _filled(half, "uint8")
        copies = max(1, int(4e6 / max(half, 1)))
        plain, reads = _filled(read, "uint8"), max(1, int(4e6 / max(read, 1)))
        seconds, peaks, bandwidths, readings = [], [], [], []
        for _ in range(rounds):
            peak = self.peak()
            took = self._call(which, pointers, times) / times
            seconds.append(took)
            peaks.append(flops / took / peak)
            if half:
                a, b = ctypes.c_void_p(target.ctypes.data), ctypes.c_void_p(source.ctypes.data)
                copy = self._library.bench_copy(a, b, ctypes.c_long(half), copies) / copies
                bandwidths.append(copy / took)
            if read:
                again = self._library.bench_read(ctypes.c_void_p(plain.ctypes.data), ctypes.c_long(read), reads)
                readings.append(again / reads / took)
        medians = [statistics.median(x) if x else 0.0 for x in (peaks, bandwidths, readings)]
        return Timed(statistics.median(seconds), *medians)


def weights_of(module: irtool.Module, inputs: Sequence[str], seed: int = 0) -> dict[str, np.ndarray]:
    """Random weights for every parameter but the inputs: uniform, scaled by fan-in; vectors between 1/2 and 1."""
    generator = np.random.default_rng(seed)
    weights = {}
    for p in module["main"].params:
        if p.name in inputs:
            continue
        shape = tuple(int(d) for d in p.checked_type.shape)
        if "int" in p.checked_type.dtype:
            weights[p.name] = generator.integers(-127, 128, shape).astype(p.checked_type.dtype)
            continue
        weights[p.name] = generator.random(shape, "float32") * 0.5 + 0.5
        if len(shape) > 1:
            fan = int(np.prod(shape[1:]))
            weights[p.name] = ((weights[p.name] * 4 - 3) * (3.0 / fan) ** 0.5).astype("float32")
    return weights


def traffic(k: PrimFunc) -> int:
    """Bytes of everything that a kernel reads or writes, each once."""
    return sum(b.nbytes for b in k.params)


def _wrapper(n: int, name: str, k: PrimFunc, source: str) -> str:
    """The kernel, called alone: one that a team of threads shares is run by one."""
    arguments = _arguments(len(k.params) + k.has_workspace)
    if re.search(rf"\b{name}\([^)]*irt_worker", source):
        return f"static void bench_{n}(void **p) {{ irt_worker w = {{NULL, 0, 1, 0, 0}}; {name}({arguments}, &w); }}"
    return f"static void bench_{n}(void **p) {{ {name}({arguments}); }}"


def _arguments(count: int) -> str:
    return ", ".join(f"p[{n}]" for n in range(count))


def _filled(nbytes: int, dtype: str) -> np.ndarray:
    """Memory on a cache line's boundary, with numbers in it that are neither zero nor subnormal, or bytes; zeros for other dtypes."""
    raw = np.zeros(nbytes + 64, "uint8")
    start = -raw.ctypes.data % 64
    buffer = raw[start : start + nbytes]
    if dtype in ("float32", "float64"):
        buffer.view(dtype)[:] = np.random.default_rng(1).random(nbytes // np.dtype(dtype).itemsize, dtype) + 0.5
    if dtype in ("int8", "uint8"):
        buffer[:] = np.random.default_rng(1).integers(0, 256, nbytes, "uint8")
    return buffer


def _buffers(k: PrimFunc, arena: int) -> list[np.ndarray]:
    """Operands of a kernel and its scratch memory, which may lie anywhere in the network's workspace."""
    buffers = [_filled(b.nbytes, b.dtype) for b in k.params]
    return [*buffers, _filled(arena if k.has_workspace else 0, "uint8")]


def _pointers(arrays: Sequence[np.ndarray]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
