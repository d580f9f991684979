"""Rounding errors of products, and checks of arguments against the range of a fast path, as C text for both precisions.

See `vector_math` for the placeholders.
"""

from __future__ import annotations

from .templates import fill

# c - a · b with one rounding at the end, where c is nearly a · b.
_LESS = """IRT_INLINE {t} irt_vless_{n}({t} c, {t} a, {t} b) {{
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__) && {lanes} == $widest
  return ({t})__builtin_ia32_vfmaddp${letter}512_mask(-a, b, c, $every, 4);
#elif defined(__FMA__) && defined(__GNUC__) && !defined(__clang__) && {lanes} == $wide
  return ({t})__builtin_ia32_vfmaddp${letter}256(-a, b, c);
#elif defined(__FMA__) && defined(__GNUC__) && !defined(__clang__) && {lanes} == $narrow
  return ({t})__builtin_ia32_vfmaddp$letter(-a, b, c);
#elif defined(__FP_FAST_FMA$capital) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  int k;
  for (k = 0; k < {lanes}; ++k) c[k] = fma{f}(-a[k], b[k], c[k]);
  return c;
#else
  {t} ah = ({t})(({i})a & $upper), bh = ({t})(({i})b & $upper), al = a - ah, bl = b - bh;
  return (((c - ah * bh) - ah * bl) - al * bh) - al * bl;
#endif
}}"""
# Whether a lane of `a` is from `most` on, or one of `b` from `last` on, as unsigned numbers.
_BEYOND = """IRT_INLINE int irt_vbeyond_{n}({i} a, int${bits}_t most, {i} b, int${bits}_t last) {{
  {i} limit = most - ({i}){{0}}, other = last - ({i}){{0}};
$instruction  typedef uint${bits}_t bits __attribute__((vector_size(sizeof({t}))));
  return irt_vany_{n}(({i})((bits)a >= (bits)limit) | ({i})((bits)b >= (bits)other));
$end}}"""
_COMPARES = """#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__) && {lanes} == 16
  typedef int all __attribute__((vector_size(64)));
  return (__builtin_ia32_ucmpd512_mask((all)a, (all)limit, 5, 0xffff) | __builtin_ia32_ucmpd512_mask((all)b, (all)other, 5, 0xffff)) != 0;
#else
"""

_WORDS = {
    "float32": {
        "letter": "s",
        "every": "-1",
        "capital": "F",
        "widest": "16",
        "wide": "8",
        "narrow": "4",
        "upper": "-4096",
        "bits": "32",
        "instruction": _COMPARES,
        "end": "#endif\n",
    },
    "float64": {
        "letter": "d",
        "every": "0xff",
        "capital": "",
        "widest": "8",
        "wide": "4",
        "narrow": "2",
        "upper": "-134217728",
        "bits": "64",
        "instruction": "",
        "end": "",
    },
}
"""`upper`: a mask of the upper half of a number's digits."""


def remainders(dtype: str) -> dict[tuple[str, str], str]:
    """The functions of a precision by name and dtype."""
    return {("less", dtype): fill(_LESS, **_WORDS[dtype]), ("beyond", dtype): fill(_BEYOND, **_WORDS[dtype])}
