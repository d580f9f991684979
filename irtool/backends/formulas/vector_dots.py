"""Words of bytes, and sums of their products (see `tir.words`), as C text for a type of vectors.

Every text gives the same bits: sums of 32 bits wrap, and no product saturates. x86's instruction takes unsigned numbers first and
signed ones second, Arm's takes two of one kind; numbers of another kind are shifted by 128, and what that adds is taken from the
sum again. The second operand is usually the one that several sums share: what is made of it alone, compilers make once.
"""

from __future__ import annotations

from ...tir.wide_pairs import DOT_WIDE
from ...tir.words import DOTS, STEPS
from ..vectors.types import VectorType
from .templates import fill
from .vector_types import vector_type

_LOADED = {
    "words": (
        "uint8_t",
        "q[4 * k] | (uint32_t)q[4 * k + 1] << 8 | (uint32_t)q[4 * k + 2] << 16 | (uint32_t)q[4 * k + 3] << 24",
    ),
    "pairs": ("uint16_t", "q[2 * k] | (uint32_t)q[2 * k + 1] << 16"),
}
"""What loads words: of which numbers, and how one is made of them."""

TYPES: dict[str, tuple[str, ...]] = dict.fromkeys((*DOTS, *_LOADED, DOT_WIDE), ("uint32",))
"""The dtypes of vectors that a function uses beside its own."""

# In assembly, as compilers have different names for it; an instruction of the older encoding has to say so.
_VNNI = """
#if ($macros)
#if defined(__AVX512VNNI__)$shorter
#define irt_dpbusd(acc, a, b) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b))
#else
#define irt_dpbusd(acc, a, b) __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b))
#endif
$text
#undef irt_dpbusd
"""
_MACROS = {
    16: "defined(__AVX512VNNI__)",
    8: "defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__))",
    4: "defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__))",
}
_X86 = {
    "dot4_u8s8": """
  irt_dpbusd(acc, a, b);
  return acc;
""",
    "dot4_s8s8": """
  $t rest = {0}, moved = ($t)(($u)a ^ 0x80808080u), all = ($t)(0x80808080u - ($u){0});
  irt_dpbusd(acc, moved, b);
  irt_dpbusd(rest, all, b);
  return ($t)(($u)acc - ($u)rest);
""",
    "dot4_u8u8": """
  $t rest = {0}, moved = ($t)(($u)b ^ 0x80808080u), ones = ($t)(0x01010101u - ($u){0});
  irt_dpbusd(acc, a, moved);
  irt_dpbusd(rest, a, ones);
  return ($t)(($u)acc + (($u)rest << 7));
""",
}

# Sums of two products of 16 bits each: of the even bytes, then of the odd ones.
_PAIRS = """
#elif $macro
  typedef short pairs __attribute__((vector_size(4 * $lanes)));
  const pairs ea = $even_a, oa = $odd_a, eb = $even_b, ob = $odd_b;
#if $lanes == 16 && !defined(__clang__)
  const $t even = __builtin_ia32_pmaddwd512_mask(ea, eb, ($t){0}, 0xffff);
  const $t odd = __builtin_ia32_pmaddwd512_mask(oa, ob, ($t){0}, 0xffff);
#else
  const $t even = ($t)__builtin_ia32_pmaddwd$bits(ea, eb), odd = ($t)__builtin_ia32_pmaddwd$bits(oa, ob);
#endif
  return ($t)(($u)acc + ($u)even + ($u)odd);
"""
_HAS_PAIRS = {16: "defined(__AVX512BW__)", 8: "defined(__AVX2__)", 4: "defined(__SSE2__)"}
_HALVES = {
    "uint8": ("(pairs)(($u)$x & 0x00ff00ffu)", "(pairs)((($u)$x >> 8) & 0x00ff00ffu)"),
    "int8": ("(pairs)(($u)$x << 8) >> 8", "(pairs)$x >> 8"),
}

_WIDE = """
#if $vnni
  __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
  return acc;
#elif $macro
  typedef short pairs __attribute__((vector_size(4 * $lanes)));
#if $lanes == 16 && !defined(__clang__)
  return ($t)(($u)acc + ($u)__builtin_ia32_pmaddwd512_mask((pairs)a, (pairs)b, ($t){0}, 0xffff));
#else
  return ($t)(($u)acc + ($u)__builtin_ia32_pmaddwd$bits((pairs)a, (pairs)b));
#endif
#else
$plain
#endif
"""
_WIDE_PLAIN = """
  const $t al = ($t)(($u)a << 16) >> 16, bl = ($t)(($u)b << 16) >> 16, ah = a >> 16, bh = b >> 16;
  return ($t)(($u)acc + ($u)(al * bl) + ($u)(ah * bh));
"""

_DOTPROD = """
#elif defined(__ARM_FEATURE_DOTPROD)
#define irt_dot(op, acc, a, b) __asm__(op " %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(a), "w"(b))
$text
#undef irt_dot
"""
_ARM = {
    "dot4_s8s8": """
  irt_dot("sdot", acc, a, b);
  return acc;
""",
    "dot4_u8u8": """
  irt_dot("udot", acc, a, b);
  return acc;
""",
    "dot4_u8s8": """
#ifdef __ARM_FEATURE_MATMUL_INT8
  irt_dot("usdot", acc, a, b);
  return acc;
#else
  $t rest = {0}, moved = ($t)(($u)a ^ 0x80808080u), ones = ($t)(0x01010101u - ($u){0});
  irt_dot("sdot", acc, moved, b);
  irt_dot("sdot", rest, ones, b);
  return ($t)(($u)acc + (($u)rest << 7));
#endif
""",
}

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
    words = {"t": whole, "u": f"irt_u32x{t.lanes}", "lanes": str(t.lanes), "n": whole[4:]}
    if name in _LOADED:
        number, word = _LOADED[name]
        made = fill(_WORDS, name=name, number=number, word=word, **words)
    elif name == DOT_WIDE:
        head = fill("IRT_INLINE $t irt_v${name}_$n($t acc, $t a, $t b) {", name=name, **words)
        made = "\n".join([head, _wide_body(words), "}"])
    elif name in DOTS:
        head = fill("IRT_INLINE $t irt_v${name}_$n($t acc, $t a, $t b) {", name=name, **words)
        made = "\n".join([head, _body(name, words), "}"])
    else:
        return ""
    return "\n".join(line for line in made.split("\n") if line).replace("{", "{{").replace("}", "}}")


def _body(name: str, words: dict[str, str]) -> str:
    lanes = int(words["lanes"])
    first, second = DOTS[name]
    plain = fill(_plain(first, second), **words)
    if lanes not in _MACROS:
        return plain
    halves = {
        f"{h}_{x}": _HALVES[d][n] for d, x in ((first, "a"), (second, "b")) for n, h in enumerate(("even", "odd"))
    }
    halves = {k: fill(text, x=k[-1], **words) for k, text in halves.items()}
    shorter = "" if lanes == 16 else " && defined(__AVX512VL__)"
    parts = [
        fill(_VNNI, macros=_MACROS[lanes], shorter=shorter, text=fill(_X86[name], **words)),
        fill(_PAIRS, macro=_HAS_PAIRS[lanes], bits=str(32 * lanes), **halves, **words),
    ]
    if lanes == 4:
        parts.append(fill(_DOTPROD, text=fill(_ARM[name], **words)))
    return "\n".join([*parts, "#else", plain, "#endif"])


def _wide_body(words: dict[str, str]) -> str:
    lanes = int(words["lanes"])
    plain = fill(_WIDE_PLAIN, **words)
    if lanes not in _HAS_PAIRS:
        return plain
    vnni = "defined(__AVX512VNNI__)" + (" && defined(__AVX512VL__)" if lanes < 16 else "")
    return fill(_WIDE, macro=_HAS_PAIRS[lanes], vnni=vnni, bits=str(32 * lanes), plain=plain, **words)


def _plain(a: str, b: str) -> str:
    """The sum of products of whole lanes, of which each holds one byte, its sign extended."""

    def byte(x: str, dtype: str, n: int) -> str:
        left = 24 - 8 * n
        if dtype == "uint8":
            return f"($t)(($u){x} >> {8 * n} & 0xffu)" if n else f"($t)(($u){x} & 0xffu)"
        return f"($t)(($u){x} << {left}) >> 24" if left else f"{x} >> 24"

    lines = [f"  const $t a{n} = {byte('a', a, n)}, b{n} = {byte('b', b, n)};" for n in range(STEPS)]
    products = " + ".join(f"($u)(a{n} * b{n})" for n in range(STEPS))
    return "\n".join([*lines, f"  return ($t)(($u)acc + {products});"])
