"""Arm's products of matrices of bytes: `smmla`, `ummla`, `usmmla` multiply two rows of eight bytes by two columns, and `usdot` adds
four products of unsigned and signed bytes."""

from __future__ import annotations

from ..row import Form, InstructionSet, Row

SETS = (InstructionSet("i8mm", "aarch64", "i8mm", "__ARM_FEATURE_MATMUL_INT8", "products of matrices"),)

_MACRO = "__ARM_FEATURE_MATMUL_INT8"


def _form(function: str, op: str) -> Form:
    """A function by an instruction that takes its operands without a shift."""
    c = f"""
  __asm__("{op} %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(a), "w"(b));
  return acc;
"""
    llvm = f"""
  %x = bitcast $operand %a to $bytes
  %y = bitcast $operand %b to $bytes
  %sum = call $t @llvm.aarch64.neon.{op}.v4i32.v16i8($t %acc, $bytes %x, $bytes %y)
  ret $t %sum
"""
    return Form(function, 1, c, llvm)


def _declared(*ops: str) -> str:
    return "\n".join(f"declare $t @llvm.aarch64.neon.{op}.v4i32.v16i8($t, $bytes, $bytes)" for op in ops)


_PRODUCTS = {"mmla_u8s8": "usmmla", "mmla_s8s8": "smmla", "mmla_u8u8": "ummla"}

ROWS = (
    Row(
        "usdot",
        "aarch64",
        rows=1,
        depth=4,
        when={4: ((_MACRO,),)},
        forms=(_form("dot4_u8s8", "usdot"),),
        declares=_declared("usdot"),
    ),
    Row(
        "(us|[su])mmla",
        "aarch64",
        rows=2,
        depth=8,
        when={4: ((_MACRO, "__AARCH64EL__"),)},
        forms=tuple(_form(function, op) for function, op in _PRODUCTS.items()),
        declares=_declared(*_PRODUCTS.values()),
    ),
)
