"""Sums of products of two bfloat16 numbers in a word (see `tir.bf16_dot`), as C text for a type of vectors.

Processors' instructions are rows of `backends.instructions`. Elsewhere both halves of the words are widened, by a shift and a mask, and
multiplied and added in the same order. The second operand is usually the one that several sums share: compilers widen it once.
"""

from __future__ import annotations

from ...tir.bf16_dot import DOT_PAIR
from ..vectors.types import VectorType
from .by_instructions import by_instructions
from .templates import fill
from .vector_types import vector_type

TYPES: dict[str, tuple[str, ...]] = {DOT_PAIR: ("int32", "uint32")}
"""The dtypes of vectors that the function uses beside its own."""

_PLAIN = """
  acc += ($t)($i)(($u)a & 0xffff0000u) * ($t)($i)(($u)b & 0xffff0000u);
  return acc + ($t)($i)(($u)a << 16) * ($t)($i)(($u)b << 16);
"""


def written(name: str, t: VectorType) -> str:
    """The text of such a function, with braces doubled; empty for other names."""
    if name != DOT_PAIR:
        return ""
    words = {"t": vector_type(*t), "i": f"irt_i32x{t.lanes}", "u": f"irt_u32x{t.lanes}"}
    body = by_instructions(name, t.lanes, words, fill(_PLAIN, **words))
    head = fill("IRT_INLINE $t irt_v${name}_$n($t acc, $i a, $i b) {", name=name, n=words["t"][4:], **words)
    lines = "\n".join([head, body, "}"]).split("\n")
    return "\n".join(line for line in lines if line).replace("{", "{{").replace("}", "}}")
