"""Look-ups in tables of 256 bytes (see `tir.tables`), as C text for a vector type."""

from __future__ import annotations

from ...selection.vectors.types import VectorType
from .templates import fill
from .vector_types import vector_type

# In assembly, as compilers have different names for it: indices of seven bits into two registers.
_PERMUTED = """
#ifdef __AVX512VBMI__
#define irt_permute(i, p) __asm__("vpermi2b %2, %1, %g0" \\
  : "+v"(i) : "v"(*(const quarter *)(p)), "vm"(*(const quarter *)((p) + 64)))
  typedef uint8_t quarter __attribute__((vector_size(64), aligned(1), may_alias));
  $t low = i, high = i;
  const $t second = ($t)(($s)i < 0);
  irt_permute(low, p);
  irt_permute(high, p + 128);
  return (high & second) | (low & ~second);
#undef irt_permute
#else
$text
#endif
"""
_PLAIN = """
  $t v;
  int k;
  for (k = 0; k < $lanes; ++k) v[k] = p[i[k]];
  return v;
"""


def written(name: str, t: VectorType) -> str:
    """The text of such a function, with braces doubled; empty for other names."""
    if name != "look_up":
        return ""
    whole = vector_type(*t)
    values = {"t": whole, "s": f"irt_i8x{t.lanes}", "lanes": str(t.lanes)}
    body = fill(_PLAIN, **values)
    if t.lanes >= 16:
        body = fill(_PERMUTED, text=body, **values)
    function = f"IRT_INLINE {whole} irt_vlook_up_{whole[4:]}(const uint8_t *p, {whole} i) {{\n{body}}}"
    return "\n".join(line for line in function.split("\n") if line).replace("{", "{{").replace("}", "}}")
