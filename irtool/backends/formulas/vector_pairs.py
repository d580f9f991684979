"""Sums of products of two bfloat16 numbers in a word (see `tir.pairs`), as C text for a type of vectors.

With AVX512-BF16 it is one instruction. With Arm's it is two, `BFMLALT` for the upper numbers and `BFMLALB` for the lower ones, which round as
other code does; `BFDOT` and `BFMMLA` round sums to odd and give other bits. Elsewhere both halves of the words are widened, by a shift and a mask,
and multiplied and added in the same order. The second operand is usually the one that several sums share: compilers widen it once.
"""

from __future__ import annotations

from ...tir.pairs import DOT_PAIR
from ..vectors.types import VectorType
from .templates import fill
from .vector_types import vector_type

TYPES: dict[str, tuple[str, ...]] = {DOT_PAIR: ("int32", "uint32")}
"""The dtypes of vectors that the function uses beside its own."""

_MACROS = {16: "defined(__AVX512BF16__)", **dict.fromkeys((8, 4), "defined(__AVX512BF16__) && defined(__AVX512VL__)")}

# In assembly, as compilers have different types for the builtin.
_INSTRUCTION = """
#if $macro
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
  return acc;
$arm#else
$plain
#endif
"""
_ARM = """#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  __asm__("bfmlalt %0.4s, %1.8h, %2.8h" : "+w"(acc) : "w"(a), "w"(b));
  __asm__("bfmlalb %0.4s, %1.8h, %2.8h" : "+w"(acc) : "w"(a), "w"(b));
  return acc;
"""
_PLAIN = """
  acc += ($t)($i)(($u)a & 0xffff0000u) * ($t)($i)(($u)b & 0xffff0000u);
  return acc + ($t)($i)(($u)a << 16) * ($t)($i)(($u)b << 16);
"""


def written(name: str, t: VectorType) -> str:
    """The text of such a function, with braces doubled; empty for other names."""
    if name != DOT_PAIR:
        return ""
    words = {"t": vector_type(*t), "i": f"irt_i32x{t.lanes}", "u": f"irt_u32x{t.lanes}"}
    plain = fill(_PLAIN, **words)
    arm = _ARM if t.lanes == 4 else ""
    body = fill(_INSTRUCTION, macro=_MACROS[t.lanes], plain=plain, arm=arm) if t.lanes in _MACROS else plain
    head = fill("IRT_INLINE $t irt_v${name}_$n($t acc, $i a, $i b) {", name=name, n=words["t"][4:], **words)
    lines = "\n".join([head, body, "}"]).split("\n")
    return "\n".join(line for line in lines if line).replace("{", "{{").replace("}", "}}")
