"""WebAssembly: `i32x4.dot_i16x8_s` of vectors of 128 bits, and the dot product of relaxed SIMD.

The latter takes signed bytes and numbers from 0 to 127, for which all engines give the same sums. A byte is such a number and a bit: sums of
products with the bits are shifted by seven, and added for unsigned bytes, or subtracted for signed ones. The backend `llvm` supports 64-bit
processors only.
"""

from __future__ import annotations

from string import Template

from ....tir.int8_dot import DOTS
from ....tir.int16_dot import DOT_WIDE
from ..row import Form, InstructionSet, Row

SETS: tuple[InstructionSet, ...] = ()

_PAIRS = "  typedef short pairs __attribute__((vector_size(16)));\n"
_WIDE = "  return ($t)(($u)acc + ($u)__builtin_wasm_dot_s_i32x4_i16x8((pairs)a, (pairs)b));"

_HALVES = {
    "uint8": ("(pairs)(($$u)$x & 0x00ff00ffu)", "(pairs)((($$u)$x >> 8) & 0x00ff00ffu)"),
    "int8": ("(pairs)(($$u)$x << 8) >> 8", "(pairs)$x >> 8"),
}
"""The even bytes and the odd ones, widened."""

_BYTES = """  const pairs ea = $ea, oa = $oa, eb = $eb, ob = $ob;
  return ($$t)(($$u)acc + ($$u)__builtin_wasm_dot_s_i32x4_i16x8(ea, eb) + ($$u)__builtin_wasm_dot_s_i32x4_i16x8(oa, ob));"""

_RELAXED = """  typedef signed char bytes __attribute__((vector_size(16)));
  const bytes low = (bytes)(($$u)a & 0x7f7f7f7fu), high = (bytes)((($$u)a >> 7) & 0x01010101u);
  const $$t sums = __builtin_wasm_relaxed_dot_i8x16_i7x16_add_s_i32x4((bytes)b, low, acc);
  const $$t bits = __builtin_wasm_relaxed_dot_i8x16_i7x16_add_s_i32x4((bytes)b, high, ($$t){0});
  return ($$t)(($$u)sums $sign (($$u)bits << 7));"""


def _of_bytes(function: str) -> Form:
    words: dict[str, str] = {}
    for x, dtype in zip("ab", DOTS[function], strict=True):
        words |= {f"{h}{x}": Template(_HALVES[dtype][n]).substitute(x=x) for n, h in enumerate("eo")}
    return Form(function, 6, _PAIRS + Template(_BYTES).substitute(words))


def _relaxed(function: str) -> Form:
    return Form(function, 4, Template(_RELAXED).substitute(sign="+" if DOTS[function][0] == "uint8" else "-"))


ROWS = (
    Row(
        r"i32x4\.dot_i16x8_s",
        "wasm32",
        rows=1,
        depth=2,
        when={4: (("__wasm_simd128__",),)},
        forms=(Form(DOT_WIDE, 2, _PAIRS + _WIDE), *map(_of_bytes, DOTS)),
    ),
    Row(
        r"i32x4\.relaxed_dot_i8x16_i7x16_add_s",
        "wasm32",
        rows=1,
        depth=4,
        when={4: (("__wasm_simd128__", "__wasm_relaxed_simd__"),)},
        forms=tuple(_relaxed(name) for name, (_, second) in DOTS.items() if second == "int8"),
    ),
)
