"""AVX-512 VNNI and AVX-VNNI: `vpdpbusd` adds four products of unsigned and signed bytes, `vpdpwssd` two of 16-bit numbers.

In assembly in C, as compilers have different names for them; instructions of the older encoding need a prefix.
"""

from __future__ import annotations

from ....tir.int16_dot import DOT_WIDE
from ..row import Form, InstructionSet, Row
from ..signs import byte_forms

SETS = (
    InstructionSet("avx512_vnni", "x86_64", "avx512vnni", "__AVX512VNNI__", "AVX-512 VNNI"),
    InstructionSet("avx_vnni", "x86_64", "avxvnni", "__AVXVNNI__", "AVX-VNNI"),
)

_OPENED = """
#if defined(__AVX512VNNI__)$shorter
#define irt_dpbusd(acc, a, b) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b))
#else
#define irt_dpbusd(acc, a, b) __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b))
#endif
"""
_SHORT = (("__AVX512VNNI__", "__AVX512VL__"),)
_LONG = (("__AVX512VNNI__",),)
_BITS = {
    lanes: {"bits": str(32 * lanes), "shorter": "" if lanes == 16 else " && defined(__AVX512VL__)"}
    for lanes in (4, 8, 16)
}

_BYTES = Row(
    "vpdpbusd",
    "x86_64",
    rows=1,
    depth=4,
    when={16: _LONG, **dict.fromkeys((8, 4), (("__AVXVNNI__",), *_SHORT))},
    forms=byte_forms(
        {("uint8", "int8"): "vpdpbusd"},
        "irt_dpbusd($acc, $a, $b);",
        "%$out = call $$t @llvm.x86.avx512.$op.$$bits($$t $acc, $$t $a, $$t $b)",
        opened=_OPENED,
        closed="#undef irt_dpbusd\n",
        opaque="v",  # LLVM 22 selects instructions forever for a shift that it has moved before a broadcast
    ),
    words=_BITS,
    declares="declare $t @llvm.x86.avx512.vpdpbusd.$bits($t, $t, $t)",
)

_PAIRS = Row(
    "vpdpwssd",
    "x86_64",
    rows=1,
    depth=2,
    when={16: _LONG, **dict.fromkeys((8, 4), _SHORT)},
    forms=(
        Form(
            DOT_WIDE,
            1,
            """
  __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
  return acc;
""",
            """
  %sum = call $t @llvm.x86.avx512.vpdpwssd.$bits($t %acc, $t %a, $t %b)
  ret $t %sum
""",
        ),
    ),
    words=_BITS,
    declares="declare $t @llvm.x86.avx512.vpdpwssd.$bits($t, $t, $t)",
)

ROWS = (_BYTES, _PAIRS)
