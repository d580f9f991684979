"""AVX512-BF16: `vdpbf16ps` adds two products of bfloat16 numbers, the upper one first.

In assembly, as compilers have different types for the builtin, and LLVM from version to version.
"""

from __future__ import annotations

from ....tir.bf16_dot import DOT_PAIR
from ..row import Form, InstructionSet, Row

SETS = (InstructionSet("avx512_bf16", "x86_64", "avx512bf16", "__AVX512BF16__"),)

_C = """
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
  return acc;
"""
_LLVM = """
  %sum = call $t asm "vdpbf16ps $$3, $$2, $$0", "=v,0,v,v"($t %acc, $operand %a, $operand %b)
  ret $t %sum
"""

ROWS = (
    Row(
        "vdpbf16ps",
        "x86_64",
        rows=1,
        depth=2,
        when={16: (("__AVX512BF16__",),), **dict.fromkeys((8, 4), (("__AVX512BF16__", "__AVX512VL__"),))},
        forms=(Form(DOT_PAIR, 1, _C, _LLVM),),
    ),
)
