"""Kernels of 8-bit integers and of bfloat16 on one core, as fractions of what the processor's instruction for them can do.

The peak is a loop of the same dot products of words that kernels are made of (four bytes, two bfloat16 numbers), in the text that kernels
have for them: `vpdpbusd` and `vdpbf16ps` where the processor has these, otherwise what it has. It is measured in turn with the kernel.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from irtool.backends.c import C
from irtool.backends.formulas.vector_math import c_name, define
from irtool.backends.formulas.vector_types import define_type, vector_type
from irtool.backends.library import open_library
from irtool.tir.bf16_dot import DOT_PAIR, NUMBERS
from irtool.tir.int8_dot import STEPS

from .native import TOOLS, Compiled
from .networks.builder import Text

_ACCUMULATORS, _REPEATS = 12, 40_000


@dataclass(frozen=True)
class Kind:
    """A kind of numbers: the function that sums products of words, the dtype of sums, numbers in a word, dtypes of the operands and
    the precision that networks are built in."""

    function: str
    sums: str
    numbers: int
    operands: tuple[str, str]
    out: str
    precision: str = "float32"


KINDS = {
    "int8": Kind("dot4_u8s8", "int32", STEPS, ("uint8", "int8"), "int32"),
    "int8, signed data": Kind("dot4_u8s8", "int32", STEPS, ("int8", "int8"), "int32"),
    "bfloat16": Kind(DOT_PAIR, "float32", NUMBERS, ("float32", "float32"), "float32", "bfloat16"),
}

_LOOP = """
#if defined(__x86_64__) && defined(__AVX512F__)
#define BENCH_OTHER(x) __asm__ volatile("" : "+v"(x))
#elif defined(__x86_64__)
#define BENCH_OTHER(x) __asm__ volatile("" : "+x"(x))
#else
#define BENCH_OTHER(x) __asm__ volatile("" : "+w"(x))
#endif
static __attribute__((noinline)) float bench_fma(int steps, const float *p) {
  WORDS a = (int)p[0] - (WORDS){0}, b = (int)p[1] - (WORDS){0};
DECLARATIONS
  for (int n = 0; n < steps; ++n) { STEP }
  { SUMS s = TOTAL; return (float)s[0]; }
}
"""
"""Each product is of words that compilers know nothing of, so that none is made once for all."""


class DotPeak:
    """A loop of dot products; called, it gives operations a second (a product and its addition are two)."""

    def __init__(self, kind: Kind) -> None:
        compiler = C().compiler
        self.lanes = compiler.machine().lanes(4)
        self.kind = kind
        accs = [f"acc{n}" for n in range(_ACCUMULATORS)]
        sums, word_type = vector_type(kind.sums, self.lanes), vector_type("int32", self.lanes)
        call = c_name(kind.function, kind.sums, self.lanes)
        body = (
            _LOOP.replace("WORDS", word_type)
            .replace("SUMS", sums)
            .replace("DECLARATIONS", "".join(f"  {sums} {a} = {{{n}}};\n" for n, a in enumerate(accs)))
            .replace("STEP", " ".join(f"BENCH_OTHER(a); {a} = {call}({a}, a, b);" for a in accs))
            .replace("TOTAL", " + ".join(accs))
        )
        types = dict.fromkeys([(kind.sums, self.lanes), ("int32", self.lanes), ("uint32", self.lanes)])
        source = [
            "#define _POSIX_C_SOURCE 200809L\n#include <stddef.h>\n#include <stdint.h>",
            "#define IRT_INLINE static inline __attribute__((unused))",
            "static void (*const bench_calls[1])(void **) = {0};",
            *(define_type(*t) for t in types),
            *(text for _, text in define(kind.function, kind.sums, self.lanes)),
            body,
            TOOLS,
        ]
        with tempfile.TemporaryDirectory(prefix="irtool-bench-") as place:
            (Path(place) / "peak.c").write_text("\n".join(source), encoding="utf-8")
            compiler.run([*compiler.flags, "-fPIC", "-shared", "-o", "peak.so", "peak.c", "-lm"], Path(place))
            self._library = open_library(Path(place) / "peak.so")
        self._library.bench_peak.restype = ctypes.c_double

    def __call__(self) -> float:
        taken = self._library.bench_peak(_REPEATS)
        return 2.0 * _ACCUMULATORS * self.lanes * self.kind.numbers * _REPEATS / taken


def _conv(channels: int, size: int, kernel: int, out: int) -> Callable[[Kind], str]:
    def text(kind: Kind) -> str:
        t, (data, weight) = Text(), kind.operands
        x = t.param("data", 1, channels, size, size, dtype=data)
        w = t.param("weight", out, channels, kernel, kernel, dtype=weight)
        pad = [kernel // 2] * 4
        return t.text(
            t.call("nn.conv2d", x, w, padding=pad, channels=out, kernel_size=[kernel] * 2, out_dtype=kind.out)
        )

    return text


def dense(rows: int, units: int, depth: int) -> Callable[[Kind], str]:
    def text(kind: Kind) -> str:
        t, (data, weight) = Text(), kind.operands
        x, w = t.param("data", rows, depth, dtype=data), t.param("weight", units, depth, dtype=weight)
        return t.text(t.call("nn.dense", x, w, units=units, out_dtype=kind.out))

    return text


KERNELS: tuple[tuple[str, Callable[[Kind], str]], ...] = (
    ("convolution 3x3, 128 channels, 28x28", _conv(128, 28, 3, 128)),
    ("convolution 3x3, 512 channels, 7x7", _conv(512, 7, 3, 512)),
    ("convolution 1x1, 256 to 64 channels, 56x56", _conv(256, 56, 1, 64)),
    ("convolution 1x1, 512 to 2048 channels, 7x7", _conv(512, 7, 1, 2048)),
    ("dense 128 x 768 x 3072", dense(128, 3072, 768)),
    ("dense 128 x 3072 x 768", dense(128, 768, 3072)),
)


def run() -> None:
    """Prints the tables: each kernel as it is in a network, with its copies into words."""
    for name, kind in KINDS.items():
        peak = DotPeak(kind)
        print(f"{name}: sums of products at {peak() / 1e9:.1f} Gop/s on one core, {peak.lanes} lanes")
        for title, text in KERNELS:
            net = Compiled(text(kind), precision=kind.precision, peak=peak)
            timed = net.whole(rounds=9)
            rate = net.flops / timed.seconds / 1e9
            print(
                f"    {title:60s} {timed.seconds * 1e6:9.1f} µs {rate:8.1f} Gop/s {timed.of_peak * 100:6.1f} % of peak"
            )


__all__ = ["KERNELS", "KINDS", "DotPeak", "run"]
