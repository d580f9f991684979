"""What is asked of the lanes of a vector, as C text (see `vector_math` for the placeholders)."""

from __future__ import annotations

from .templates import fill

# Whether a comparison holds in any lane. gcc does not find x86's instructions behind the loop.
_ANY = """IRT_INLINE int irt_vany_{n}({i} m) {{
#if defined(__AVX512F__) && !defined(__clang__) && $bytes == 64
  typedef int all __attribute__((vector_size(64)));
  return __builtin_ia32_ptestmd512((all)m, (all)m, -1) != 0;
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

FUNCTIONS: dict[tuple[str, str], str] = {
    ("any", d): fill(_ANY, bytes=f"{{lanes}} * {size}") for d, size in (("float32", 4), ("float64", 8))
}
NEEDS: dict[str, tuple[str, ...]] = {}
EXACT: tuple[str, ...] = ()
