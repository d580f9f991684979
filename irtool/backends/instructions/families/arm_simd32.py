"""Armv6 and later without vectors, Cortex-M4, M7 and M33 among them: `smlad` adds two products of 16-bit numbers in general registers.

Even bytes are widened to two 16-bit numbers, then odd ones, as in CMSIS-NN. Compilers compute common subexpressions of a word
once. The backend `llvm` supports 64-bit processors only.
"""

from __future__ import annotations

from string import Template

from ....tir.int8_dot import DOTS
from ..row import Form, InstructionSet, Row

SETS: tuple[InstructionSet, ...] = ()

_C = """
  int32_t ea, oa, eb, ob;
  __asm__("$a %0, %1" : "=r"(ea) : "r"(a));
  __asm__("$a %0, %1, ror #8" : "=r"(oa) : "r"(a));
  __asm__("$b %0, %1" : "=r"(eb) : "r"(b));
  __asm__("$b %0, %1, ror #8" : "=r"(ob) : "r"(b));
  __asm__("smlad %0, %1, %2, %0" : "+r"(acc) : "r"(ea), "r"(eb));
  __asm__("smlad %0, %1, %2, %0" : "+r"(acc) : "r"(oa), "r"(ob));
  return acc;
"""
_WIDENED = {"int8": "sxtb16", "uint8": "uxtb16"}


def _form(function: str) -> Form:
    a, b = (_WIDENED[d] for d in DOTS[function])
    return Form(function, 4, Template(_C).substitute(a=a, b=b))


ROWS = (Row("smlad", "arm", rows=1, depth=2, when={1: (("__ARM_FEATURE_SIMD32",),)}, forms=tuple(map(_form, DOTS))),)
