"""What is asked of the lanes of a vector, as C text (see `vector_math` for the placeholders)."""

from __future__ import annotations

_ANY = """static inline int irt_vany_{n}({i} m) {{
  int k, any = 0;
  for (k = 0; k < {lanes}; ++k) any |= m[k] != 0;
  return any;
}}"""

FUNCTIONS: dict[tuple[str, str], str] = {("any", d): _ANY for d in ("float32", "float64")}
NEEDS: dict[str, tuple[str, ...]] = {}
EXACT: tuple[str, ...] = ()
