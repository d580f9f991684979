"""Words, and sums of their products (see `tir.word_functions`), as C text for a vector type.

Every text gives the same bits: 32-bit sums wrap, and no product saturates; the upper product of bfloat16 numbers is added first.
Processors' instructions are rows of `backends.instructions`; the texts here are for processors without them.
"""

from __future__ import annotations

from ...selection.vectors.types import VectorType
from ...tir.bf16_dot import DOT_PAIR
from ...tir.int8_dot import DOTS, STEPS
from ...tir.int16_dot import DOT_WIDE
from .by_instructions import by_instructions
from .templates import fill
from .vector_types import vector_type

_LOADED = {
    "words": (
        "uint8_t",
        "q[4 * k] | (uint32_t)q[4 * k + 1] << 8 | (uint32_t)q[4 * k + 2] << 16 | (uint32_t)q[4 * k + 3] << 24",
    ),
    "pairs": ("uint16_t", "q[2 * k] | (uint32_t)q[2 * k + 1] << 16"),
}
"""The type of numbers and the expression of a word, for each kind of load."""

_PLAIN = {
    DOT_WIDE: """
  const $t al = ($t)(($u)a << 16) >> 16, bl = ($t)(($u)b << 16) >> 16, ah = a >> 16, bh = b >> 16;
  return ($t)(($u)acc + ($u)(al * bl) + ($u)(ah * bh));
""",
    DOT_PAIR: """
  acc += ($t)($i)(($u)a & 0xffff0000u) * ($t)($i)(($u)b & 0xffff0000u);
  return acc + ($t)($i)(($u)a << 16) * ($t)($i)(($u)b << 16);
""",
}
"""Texts for words of two numbers: both halves are widened, by shifts and masks. The second operand is usually the one that
several sums share: compilers widen it once."""

_WORDS = """
IRT_INLINE $t irt_v${name}_$n(const void *p) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  typedef int32_t unaligned __attribute__((vector_size(4 * $lanes), aligned(1), may_alias));
  return *(const unaligned *)p;
#else
  const $number *q = (const $number *)p;
  $u v;
  int k;
  for (k = 0; k < $lanes; ++k) v[k] = $word;
  return ($t)v;
#endif
}
"""


def written(name: str, t: VectorType) -> str:
    """The text of such a function, with braces doubled; empty for other names."""
    whole = vector_type(*t)
    values = {"t": whole, "i": f"irt_i32x{t.lanes}", "u": f"irt_u32x{t.lanes}", "lanes": str(t.lanes), "n": whole[4:]}
    if name in _LOADED:
        number, word = _LOADED[name]
        text = fill(_WORDS, name=name, number=number, word=word, **values)
    elif name in (*DOTS, *_PLAIN):
        operand = values["i"] if name == DOT_PAIR else whole
        head = f"IRT_INLINE {whole} irt_v{name}_{whole[4:]}({whole} acc, {operand} a, {operand} b) {{"
        plain = _PLAIN[name] if name in _PLAIN else _plain(*DOTS[name])
        text = "\n".join([head, by_instructions(name, t.lanes, values, fill(plain, **values)), "}"])
    else:
        return ""
    return "\n".join(line for line in text.split("\n") if line).replace("{", "{{").replace("}", "}}")


def _plain(a: str, b: str) -> str:
    """The sum of products of full lanes, each of which holds one byte, sign-extended."""

    def byte(x: str, dtype: str, n: int) -> str:
        left = 24 - 8 * n
        if dtype == "uint8":
            return f"($t)(($u){x} >> {8 * n} & 0xffu)" if n else f"($t)(($u){x} & 0xffu)"
        return f"($t)(($u){x} << {left}) >> 24" if left else f"{x} >> 24"

    lines = [f"  const $t a{n} = {byte('a', a, n)}, b{n} = {byte('b', b, n)};" for n in range(STEPS)]
    products = " + ".join(f"($u)(a{n} * b{n})" for n in range(STEPS))
    return "\n".join([*lines, f"  return ($t)(($u)acc + {products});"])
