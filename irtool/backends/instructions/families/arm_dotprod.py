"""Arm's dot products: `sdot` adds four products of signed bytes, `udot` of unsigned ones."""

from __future__ import annotations

from ..row import InstructionSet, Row
from ..signs import byte_forms

SETS = (InstructionSet("asimddp", "aarch64", "dotprod", "__ARM_FEATURE_DOTPROD", "dot products"),)

_LLVM = """%${out}_a = bitcast $$t $a to $$bytes
  %${out}_b = bitcast $$t $b to $$bytes
  %$out = call $$t @llvm.aarch64.neon.$op.v4i32.v16i8($$t $acc, $$bytes %${out}_a, $$bytes %${out}_b)"""

ROWS = (
    Row(
        "[su]dot",
        "aarch64",
        rows=1,
        depth=4,
        when={4: (("__ARM_FEATURE_DOTPROD",),)},
        forms=byte_forms(
            {("int8", "int8"): "sdot", ("uint8", "uint8"): "udot"},
            'irt_dot("$op", $acc, $a, $b);',
            _LLVM,
            opened='#define irt_dot(op, acc, a, b) __asm__(op " %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(a), "w"(b))',
            closed="#undef irt_dot\n",
        ),
        declares="""
declare $t @llvm.aarch64.neon.sdot.v4i32.v16i8($t, $bytes, $bytes)
declare $t @llvm.aarch64.neon.udot.v4i32.v16i8($t, $bytes, $bytes)
""",
    ),
)
