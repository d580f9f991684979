"""Helium, the vectors of Armv8.1-M: `vmladava` adds sixteen products of bytes to a general register.

It takes numbers of one sign: unsigned ones beside signed ones are shifted by 128, and the sum is corrected for the shift. The
backend `llvm` supports 64-bit processors only.
"""

from __future__ import annotations

from ..row import Form, InstructionSet, Row

SETS: tuple[InstructionSet, ...] = ()

_FORMS = (
    Form("sum16_s8s8", 1, "  return vmladavaq_s8(acc, vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b));"),
    Form("sum16_u8u8", 1, "  return (int32_t)vmladavaq_u8((uint32_t)acc, a, b);"),
    Form(
        "sum16_u8s8",
        3,
        "  const int8x16_t moved = vreinterpretq_s8_u8(veorq_u8(a, vdupq_n_u8(0x80))), c = vreinterpretq_s8_u8(b);\n"
        "  return vmladavaq_s8((int32_t)((uint32_t)acc + ((uint32_t)vaddvq_s8(c) << 7)), moved, c);",
    ),
)

ROWS = (
    Row(
        r"vmladava\.[su]8",
        "arm",
        rows=1,
        columns=1,
        depth=16,
        when={4: (("__ARM_FEATURE_MVE", "__GNUC__", "!__ARM_BIG_ENDIAN"),)},
        forms=_FORMS,
    ),
)
