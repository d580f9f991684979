"""Dot products of words, one at a time, as C text; see `tir.int8_dot`. Instructions of processors without vectors are rows of
`backends.instructions`."""

from __future__ import annotations

from ...tir.bf16_dot import DOT_PAIR, PACK_PAIR
from ...tir.int8_dot import DOTS, LONG, LONG_DOTS, STEPS
from ...tir.int16_dot import DOT_WIDE, PACK_WIDE
from .by_instructions import by_instructions

_BITS = "".join(f"  union {{ float f; uint32_t u; }} {v};\n" for v in "pqrs")
PAIRS = {
    PACK_PAIR: f"IRT_INLINE int32_t irt_{PACK_PAIR}(float a, float b) {{\n"
    + _BITS[: len(_BITS) // 2]
    + "  p.f = a;\n  q.f = b;\n"
    "  return (int32_t)(p.u >> 16 | (q.u & 0xffff0000u));\n}",
    DOT_PAIR: f"IRT_INLINE float irt_{DOT_PAIR}(float acc, int32_t a, int32_t b) {{\n"
    + _BITS
    + "  p.u = (uint32_t)a << 16;\n  q.u = (uint32_t)b << 16;\n"
    "  r.u = (uint32_t)a & 0xffff0000u;\n  s.u = (uint32_t)b & 0xffff0000u;\n"
    "  acc += r.f * s.f;\n  return acc + p.f * q.f;\n}",
}
"""The same for words of two bfloat16 numbers, by name (see `tir.bf16_dot`)."""

WIDE = {
    PACK_WIDE: f"IRT_INLINE int32_t irt_{PACK_WIDE}(int16_t a, int16_t b) {{\n"
    "  return (int32_t)((uint32_t)(uint16_t)a | (uint32_t)(uint16_t)b << 16);\n}",
    DOT_WIDE: f"IRT_INLINE int32_t irt_{DOT_WIDE}(int32_t acc, int32_t a, int32_t b) {{\n"
    "  return (int32_t)((uint32_t)acc +\n"
    "         (uint32_t)((int16_t)(uint16_t)((uint32_t)a) * (int16_t)(uint16_t)((uint32_t)b)) +\n"
    "         (uint32_t)((int16_t)(uint16_t)((uint32_t)a >> 16) * (int16_t)(uint16_t)((uint32_t)b >> 16)));\n}",
}
"""The same for words of two 16-bit numbers, by name (see `tir.int16_dot`)."""

_WORD_AT = """
IRT_INLINE int32_t irt_word_at_{width}(const void *p) {{
#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  typedef int32_t unaligned __attribute__((aligned(1), may_alias));
  return *(const unaligned *)p;
#else
  const uint{width}_t *q = (const uint{width}_t *)p;
  return (int32_t)({word});
#endif
}}"""
_PARTS = {
    "8": "(uint32_t)q[0] | (uint32_t)q[1] << 8 | (uint32_t)q[2] << 16 | (uint32_t)q[3] << 24",
    "16": "(uint32_t)q[0] | (uint32_t)q[1] << 16",
}
WORDS_AT = {width: _WORD_AT.format(width=width, word=word).strip() for width, word in _PARTS.items()}
"""The load of a word of numbers, by the bits of a number. A single read if memory has the order of words: gcc broadcasts the sum
of two reads from a register, not from memory."""

WORDS_AT["long"] = """
IRT_INLINE int64_t irt_word_at_long(const void *p) {
#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  typedef int64_t unaligned __attribute__((aligned(1), may_alias));
  return *(const unaligned *)p;
#else
  const uint8_t *q = (const uint8_t *)p;
  uint64_t word = 0;
  int k;
  for (k = 7; k >= 0; --k) word = word << 8 | q[k];
  return (int64_t)word;
#endif
}""".strip()
"""The same of eight bytes."""


def dot_of_words(name: str) -> str:
    """The definition of the function of that name, which adds the dot product of `a` and `b` to `acc`."""
    taken = {word: {"int8": "(int8_t)(uint8_t)", "uint8": "(int32_t)(uint8_t)"}[d] for word, d in zip("ab", DOTS[name])}

    def number(word: str, n: int) -> str:
        return f"{taken[word]}((uint32_t){word}{f' >> {8 * n}' if n else ''})"

    products = " +\n         ".join(f"(uint32_t)({number('a', n)} * {number('b', n)})" for n in range(STEPS))
    plain = f"  return (int32_t)((uint32_t)acc +\n         {products});"
    body = by_instructions(name, 1, {}, plain)
    return f"IRT_INLINE int32_t irt_{name}(int32_t acc, int32_t a, int32_t b) {{\n{body}\n}}"


def pack_of(steps: int) -> str:
    """The definition of the function that packs `steps` bytes into a word."""
    t = f"uint{8 * steps}_t"
    names = "abcdefgh"[:steps]
    bytes_ = " |\n    ".join(f"({t}){x}{f' << {8 * n}' if n else ''}" for n, x in enumerate(names))
    return (
        f"IRT_INLINE int{8 * steps}_t irt_pack{steps}({', '.join(f'uint8_t {x}' for x in names)}) {{\n"
        f"  return (int{8 * steps}_t)({bytes_});\n}}"
    )


def dot_of_long_words(name: str) -> str:
    """The same for words of eight bytes, by the function for words of four."""
    short = half_of(name)
    return (
        f"IRT_INLINE int32_t irt_{name}(int32_t acc, int64_t a, int64_t b) {{\n"
        f"  acc = irt_{short}(acc, (int32_t)(uint32_t)a, (int32_t)(uint32_t)b);\n"
        f"  return irt_{short}(acc, (int32_t)((uint64_t)a >> 32), (int32_t)((uint64_t)b >> 32));\n}}"
    )


def half_of(name: str) -> str:
    """The dot product from which one of long words is computed: `dot4_u8s8` for `dot8_u8s8`."""
    assert name in LONG_DOTS
    return name.replace(str(LONG), str(STEPS), 1)
