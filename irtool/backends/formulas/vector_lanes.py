"""Queries of the lanes of a vector, as C text (see `vector_math` for the placeholders)."""

from __future__ import annotations

from .templates import fill

# Whether a comparison holds in any lane. gcc does not find x86's instructions behind the loop.
_ANY = """IRT_INLINE int irt_vany_{n}({i} m) {{
#if defined(__AVX512F__) && !defined(__clang__) && $bytes == 64
  typedef int all __attribute__((vector_size(64)));
  return __builtin_ia32_ptestmd512((all)m, (all)m, 0xffff) != 0;
#elif defined(__AVX__) && $bytes == 32
  typedef float all __attribute__((vector_size(32)));
  return __builtin_ia32_movmskps256((all)m) != 0;
#elif defined(__SSE2__) && $bytes == 16
  typedef float all __attribute__((vector_size(16)));
  return __builtin_ia32_movmskps((all)m) != 0;
#else
  int k, any = 0;
  for (k = 0; k < {lanes}; ++k) any |= m[k] != 0;
  return any;
#endif
}}"""

# Whether the distance from 0 is more than that in any lane.
_ANY_BEYOND = """IRT_INLINE int irt_vany_beyond_{n}({t} x, {e} most) {{
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__) && $bytes == 64
  return __builtin_ia32_cmpp${letter}512_mask(irt_vfabs_{n}(x), most - ({t}){{0}}, 30, $every, 4) != 0;
#else
  return irt_vany_{n}(irt_vfabs_{n}(x) > most);
#endif
}}"""

_WORDS = {
    "float32": {"bytes": "{lanes} * 4", "letter": "s", "every": "0xffff"},
    "float64": {"bytes": "{lanes} * 8", "letter": "d", "every": "0xff"},
}

FUNCTIONS: dict[tuple[str, str], str] = {
    (name, d): fill(text, **words)
    for d, words in _WORDS.items()
    for name, text in (("any", _ANY), ("any_beyond", _ANY_BEYOND))
}
