"""AVX-VNNI-INT8: `vpdpbssd`, `vpdpbsud`, `vpdpbuud` add four products of signed, of signed and unsigned, of unsigned bytes.

No pair of signs needs a correction. For mixed signs, the signed numbers are the first operand (Intel, Architecture Instruction
Set Extensions, VPDPB[SU,UU,SS]D). Vectors have 16 or 32 bytes.
"""

from __future__ import annotations

from ..row import InstructionSet, Row
from ..signs import byte_forms

SETS = (InstructionSet("avx_vnni_int8", "x86_64", "avxvnniint8", "__AVXVNNIINT8__", "AVX-VNNI-INT8"),)

_NAMES = {("int8", "int8"): "vpdpbssd", ("int8", "uint8"): "vpdpbsud", ("uint8", "uint8"): "vpdpbuud"}

ROWS = (
    Row(
        "vpdpb(ss|su|uu)d",
        "x86_64",
        rows=1,
        depth=4,
        when=dict.fromkeys((8, 4), (("__AVXVNNIINT8__",),)),
        forms=byte_forms(
            _NAMES,
            'irt_dpb("$op", $acc, $a, $b);',
            "%$out = call $$t @llvm.x86.avx2.$op.$$bits($$t $acc, $$t $a, $$t $b)",
            opened='#define irt_dpb(op, acc, a, b) __asm__(op " %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b))',
            closed="#undef irt_dpb\n",
        ),
        words={lanes: {"bits": str(32 * lanes)} for lanes in (8, 4)},
        declares="\n".join(f"declare $t @llvm.x86.avx2.{op}.$bits($t, $t, $t)" for op in _NAMES.values()),
    ),
)
