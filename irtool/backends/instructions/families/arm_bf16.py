"""Arm's products of bfloat16 numbers: `bfmlalt` adds those of the upper numbers, `bfmlalb` of the lower ones, with the rounding
of other code.

`bfdot` and `bfmmla` round sums to odd and give other bits: they are not used.
"""

from __future__ import annotations

from ....tir.bf16_dot import DOT_PAIR
from ..row import Form, InstructionSet, Row

_MACRO = "__ARM_FEATURE_BF16_VECTOR_ARITHMETIC"

SETS = (InstructionSet("bf16", "aarch64", "bf16", _MACRO),)

_C = """
  __asm__("bfmlalt %0.4s, %1.8h, %2.8h" : "+w"(acc) : "w"(a), "w"(b));
  __asm__("bfmlalb %0.4s, %1.8h, %2.8h" : "+w"(acc) : "w"(a), "w"(b));
  return acc;
"""
_LLVM = """
  %upper = call $t asm "bfmlalt $$0.4s, $$2.8h, $$3.8h", "=w,0,w,w"($t %acc, $operand %a, $operand %b)
  %sum = call $t asm "bfmlalb $$0.4s, $$2.8h, $$3.8h", "=w,0,w,w"($t %upper, $operand %a, $operand %b)
  ret $t %sum
"""

ROWS = (Row("bfmlal[bt]", "aarch64", rows=1, depth=2, when={4: ((_MACRO,),)}, forms=(Form(DOT_PAIR, 2, _C, _LLVM),)),)
